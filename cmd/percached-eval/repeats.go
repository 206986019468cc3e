package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/node"
)

// repeat is one line of input of bench repeats.
type repeat struct {
	Space      string `json:"space"`
	Question   string `json:"question"`
	Paraphrase string `json:"paraphrase"`
}

func repeatsCommand() *cobra.Command {
	return overNode(&cobra.Command{
		Use:   "repeats",
		Short: "Ask questions repeatedly, and measure reuse",
		Long: `Reads one JSON object a line from standard input: space, question, paraphrase. Asks each
question in five rounds: for the first time, without reuse, again, again without the
bank, and in the words of the paraphrase. For each round it reports the outcomes, the
number of answers that equal those without reuse, and the times. The answers stay in the
data folder.`,
		Example: `  percached-eval bench repeats --data ~/trial < questions.jsonl`,
	}, repeats)
}

// round has the counts of one round.
type round struct {
	Name     string                 `json:"name"`
	Asked    int                    `json:"asked"`
	Outcomes map[answer.Outcome]int `json:"outcomes"`
	Refused  int                    `json:"refused"`
	// Equal counts answers that equal those without reuse.
	Equal    int                `json:"equal"`
	Prompt   int                `json:"prompt_tokens"`
	Reused   int                `json:"reused_tokens"`
	Written  int64              `json:"tensor_bytes_written"` // by the whole round
	MedianMs map[string]float64 `json:"median_ms"`
	TotalP95 float64            `json:"total_p95_ms"`

	stages map[string][]time.Duration
}

// repeatsReport is the report of bench repeats.
type repeatsReport struct {
	Model     string   `json:"model"`
	Placement string   `json:"placement"`
	Rounds    []*round `json:"rounds"`
}

func repeats(ctx context.Context, s *node.Node, c node.Options, in io.Reader, stderr io.Writer) (*repeatsReport, error) {
	set, err := s.Settings(c.Config)
	if err != nil {
		return nil, err
	}
	set.Bank, set.Tensors = false, false
	parts := s.Asker.Parts
	cold, err := answer.New(parts, set)
	if err != nil {
		return nil, err
	}
	defer cold.Close()
	ways := []struct {
		name string
		ask  func(repeat) (answer.Answer, error)
	}{
		{"first time", func(q repeat) (answer.Answer, error) {
			return s.Asker.Ask(ctx, answer.Question{Space: q.Space, Text: q.Question}, answer.Listener{})
		}},
		{"without reuse", func(q repeat) (answer.Answer, error) {
			return cold.Ask(ctx, answer.Question{Space: q.Space, Text: q.Question}, answer.Listener{})
		}},
		{"again", func(q repeat) (answer.Answer, error) {
			return s.Asker.Ask(ctx, answer.Question{Space: q.Space, Text: q.Question}, answer.Listener{})
		}},
		{"tensors alone", func(q repeat) (answer.Answer, error) {
			return s.Asker.Ask(ctx, answer.Question{Space: q.Space, Text: q.Question, Bypass: true}, answer.Listener{})
		}},
		{"paraphrase", func(q repeat) (answer.Answer, error) {
			return s.Asker.Ask(ctx, answer.Question{Space: q.Space, Text: q.Paraphrase}, answer.Listener{})
		}},
	}
	rep := &repeatsReport{Model: s.Engine.Info().Name, Placement: set.Placement.String()}
	for _, w := range ways {
		rep.Rounds = append(rep.Rounds, &round{Name: w.name, Outcomes: map[answer.Outcome]int{}, stages: map[string][]time.Duration{}})
	}
	var written int64 // bytes written to the tensors so far
	lines := json.NewDecoder(bufio.NewReader(in))
	for n := 1; ; n++ {
		var q repeat
		switch err := lines.Decode(&q); {
		case errors.Is(err, io.EOF):
			for _, r := range rep.Rounds {
				r.conclude()
			}
			return rep, nil
		case err != nil:
			return nil, cmdline.Misusef("question %d: %v", n, err)
		}
		var got []answer.Answer
		for i, w := range ways {
			if i == len(ways)-1 && q.Paraphrase == "" {
				continue
			}
			a, err := w.ask(q)
			if err != nil {
				return nil, err
			}
			got = append(got, a)
			st, err := s.Tree.Stats()
			if err != nil {
				return nil, err
			}
			rep.Rounds[i].Written += st.Written - written
			written = st.Written
		}
		for i, a := range got {
			rep.Rounds[i].count(a, got[1])
		}
		if n%10 == 0 {
			cmdline.Say(stderr, "%d questions", n)
		}
	}
}

func (r *round) count(a, cold answer.Answer) {
	r.Asked++
	r.Outcomes[a.Outcome]++
	if a.Refused {
		r.Refused++
	}
	if a.Text == cold.Text {
		r.Equal++
	}
	r.Prompt += a.Tokens.Prompt
	r.Reused += a.Tokens.Reused
	for _, s := range a.Times.Stages() {
		r.stages[s.Name] = append(r.stages[s.Name], s.Took)
	}
}

func (r *round) conclude() {
	r.MedianMs = map[string]float64{}
	for name, took := range r.stages {
		r.MedianMs[name] = ms(quantile(took, 0.5))
	}
	r.TotalP95 = ms(quantile(r.stages["total"], 0.95))
}

func (r *repeatsReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s, %s; medians in ms", r.Model, r.Placement)
	p.Line("%-14s %5s %6s %8s %6s %6s %6s %7s %7s | %8s %8s %8s %8s %8s %8s %8s %8s %8s", "round", "asked", "answer", "verified", "tensor", "miss", "equal", "reused", "KiB/ans",
		"match q", "retrieve", "match t", "load", "prefill", "first", "decode", "store", "total")
	for _, r := range r.Rounds {
		m := r.MedianMs
		p.Line("%-14s %5d %6d %8d %6d %6d %6d %6.1f%% %7d | %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f", r.Name, r.Asked,
			r.Outcomes[answer.AnswerHit], r.Outcomes[answer.VerifiedHit], r.Outcomes[answer.TensorHit], r.Outcomes[answer.Miss], r.Equal, 100*ratio(float64(r.Reused), float64(r.Prompt)), r.Written/int64(max(r.Asked, 1))>>10,
			m["match_question"], m["retrieve"], m["match_tensors"], m["load_tensors"], m["prefill"], m["first_token"], m["decode"], m["store"], m["total"])
	}
	return p.Err
}
