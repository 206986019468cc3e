package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// The rounds, in the order in which they are asked.
const (
	roundFirst       = "first"
	roundParaphrases = "paraphrases"
	roundAgain       = "again"
)

// Answer is what came of asking a question in a round.
type Answer struct {
	Round      string   `json:"round"`
	Number     int      `json:"number"`               // of the question
	Paraphrase int      `json:"paraphrase,omitempty"` // 1: the first one
	Question   string   `json:"question"`             // as it was asked
	Gold       []string `json:"gold,omitempty"`
	Failure    string   `json:"failure,omitempty"` // why there is no answer

	Answer  string         `json:"answer"`
	Outcome client.Outcome `json:"outcome,omitempty"`
	Refused bool           `json:"refused"` // it says that the documents do not say
	MS      float64        `json:"ms"`      // until all of it was there
	// FirstToken is when the first of a computed answer was there.
	FirstToken *float64           `json:"first_token_ms,omitempty"`
	Chunks     client.Reuse       `json:"chunks"`
	Tokens     client.TokenCounts `json:"tokens"`
	Times      client.Times       `json:"times,omitempty"`

	Exact    *bool    `json:"exact,omitempty"` // absent: there is no gold
	F1       *float64 `json:"f1,omitempty"`
	Recalled *bool    `json:"recalled,omitempty"` // absent: the document of the answer is not known

	// Computed is what the model answers, if the bank served this one.
	Computed *string `json:"computed,omitempty"`
	Differs  bool    `json:"differs,omitempty"`
}

// ask goes through the rounds.
func (t *trial) ask(ctx context.Context) error {
	t.locate()
	type asking struct {
		round      string
		of         eval.Question
		paraphrase int
		text       string
	}
	var first, other, again []asking
	for _, q := range t.questions {
		first = append(first, asking{roundFirst, q, 0, q.Text})
		again = append(again, asking{roundAgain, q, 0, q.Text})
		for i, p := range q.Paraphrases {
			if t.Paraphrases {
				other = append(other, asking{roundParaphrases, q, i + 1, p})
			}
		}
	}
	all := append(append(first, other...), again...)
	for i, a := range all {
		r, failure, err := t.one(ctx, client.Question{Question: a.text})
		if err != nil {
			return err
		}
		r.Round, r.Number, r.Paraphrase, r.Question, r.Gold, r.Failure = a.round, a.of.Number, a.paraphrase, a.text, a.of.Gold, failure
		r.judge(t.holders[a.of.Number])
		t.answers = append(t.answers, r.Answer)
		t.Progress(float64(i+1) / float64(len(all)))
	}
	return nil
}

// heard is an answer with what it rests on.
type heard struct {
	Answer
	citations []client.Citation
}

// judge holds it against what is known to be right. What failed is wrong.
func (h *heard) judge(holders map[string]bool) {
	if len(h.Gold) > 0 {
		h.Exact, h.F1 = new(false), new(0.0)
		if h.Failure == "" {
			h.Exact, h.F1 = new(measure.Exact(h.Answer.Answer, h.Gold)), new(measure.F1(h.Answer.Answer, h.Gold))
		}
	}
	if holders != nil {
		h.Recalled = new(false)
		for _, c := range h.citations {
			*h.Recalled = *h.Recalled || holders[c.Document]
		}
	}
}

// one asks a question and listens to the answer as it comes. A failure is what
// percached says; an error, that it is not there to say anything.
func (t *trial) one(ctx context.Context, q client.Question) (h heard, failure string, err error) {
	began := time.Now()
	since := func() float64 { return float64(time.Since(began)) / float64(time.Millisecond) }
	resp, err := t.api.Ask(ctx, space, q, client.AsEvents)
	if err != nil {
		return h, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		got, err := client.ParseAskResponse(resp)
		if err != nil {
			return h, "", err
		}
		return h, client.Failed(resp.StatusCode, got.Body).Error(), nil
	}
	var first *float64
	for m, err := range client.Messages(resp.Body) {
		if err != nil {
			return h, "the answer broke off: " + err.Error(), ctx.Err()
		}
		switch m.Event {
		case "token":
			if first == nil {
				first = new(since())
			}
		case "error":
			p := &client.ProblemError{}
			if err := json.Unmarshal(m.Data, &p.Problem); err != nil {
				return h, "", fmt.Errorf("an event that says what failed: %w", err)
			}
			return h, p.Error(), nil
		case "done":
			took := since()
			var a client.Answer
			if err := json.Unmarshal(m.Data, &a); err != nil {
				return h, "", fmt.Errorf("an answer: %w", err)
			}
			h.citations = a.Citations
			h.Answer = Answer{
				Answer: a.Answer, Outcome: a.Outcome, Refused: a.Refused, MS: took, Chunks: a.Chunks, Tokens: a.Tokens, Times: a.Times,
			}
			if a.Outcome != client.OutcomeAnswerHit {
				h.FirstToken = first
			}
			return h, "", nil
		}
	}
	return h, "the answer ended too early", ctx.Err()
}

// check asks past the bank what the bank answered, each once.
func (t *trial) check(ctx context.Context) error {
	type computed struct{ answer, failure string }
	known := map[string]computed{}
	for i := range t.answers {
		a := &t.answers[i]
		if a.Outcome != client.OutcomeAnswerHit {
			continue
		}
		c, ok := known[a.Question]
		if !ok {
			h, failure, err := t.one(ctx, client.Question{Question: a.Question, Bypass: new(true)})
			if err != nil {
				return err
			}
			c = computed{h.Answer.Answer, failure}
			known[a.Question] = c
		}
		if c.failure != "" {
			t.report.Served.Unchecked = append(t.report.Served.Unchecked, Failed{Number: a.Number, Round: a.Round, Paraphrase: a.Paraphrase, Reason: c.failure})
			continue
		}
		a.Computed, a.Differs = &c.answer, c.answer != a.Answer
	}
	return nil
}
