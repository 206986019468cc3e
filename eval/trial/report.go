package trial

import (
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// Report is what a trial came to.
type Report struct {
	Dataset  string               `json:"dataset"` // the caller's to enter, as are Commit and Machine
	Began    time.Time            `json:"began"`
	Seconds  float64              `json:"seconds"`
	Version  string               `json:"version"`
	Commit   string               `json:"commit,omitempty"`
	Machine  Machine              `json:"machine"`
	Model    client.AboutModel    `json:"model"`
	Embedder client.AboutEmbedder `json:"embedder"`
	Settings map[string]string    `json:"settings"` // those that are not the default
	Data     Data                 `json:"data"`
	Rounds   []Round              `json:"rounds"` // the last one is all of them together
	Served   Served               `json:"served"`
	Failures []Failed             `json:"failures"`
}

// Machine is where percached ran.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu,omitempty"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
}

// Data says what was asked about what.
type Data struct {
	Files     int              `json:"files"`
	Documents int              `json:"documents"`
	Chunks    int              `json:"chunks"`
	Unread    []client.Failure `json:"unread"`   // documents that were not taken in
	LeftOut   []client.Failure `json:"left_out"` // parts of documents, such as pictures

	Questions   int            `json:"questions"`   // that were read
	Tried       int            `json:"tried"`       // of them
	Paraphrases int            `json:"paraphrases"` // that were asked
	Gold        int            `json:"gold"`        // tried, with a right answer
	Located     int            `json:"located"`     // tried, with a document that holds the answer
	Nowhere     []int          `json:"nowhere"`     // questions whose document is none of those taken in
	Skipped     []eval.Skipped `json:"skipped"`
	PassedOver  map[string]int `json:"passed_over"` // fields of questions, by name
}

// Round is what one round came to.
type Round struct {
	Name     string                     `json:"name"`
	Asked    int                        `json:"asked"`
	Failed   int                        `json:"failed"`
	Refused  int                        `json:"refused"` // answers that the documents do not say
	All      Figures                    `json:"all"`
	Outcomes map[client.Outcome]Figures `json:"outcomes"`
	Exact    Share                      `json:"exact_match"`
	F1       Share                      `json:"f1"`
	Recalled Share                      `json:"retrieval_recall"`
}

// Figures are those of some answers.
type Figures struct {
	Latency    measure.Times `json:"latency"`
	FirstToken measure.Times `json:"first_token"` // of computed answers
	Chunks     client.Reuse  `json:"chunks"`
	Tokens     Tokens        `json:"tokens"` // of prompts
}

// Tokens counts tokens of prompts.
type Tokens struct {
	Reused int `json:"reused"`
	All    int `json:"all"`
}

// Share is the mean of a measure from 0 to 1 over those to which it applies.
// Failures are 0.
type Share struct {
	Of   int     `json:"of"`
	Mean float64 `json:"mean"`
}

// Served says how the bank's answers compare to those that the model computes.
type Served struct {
	Answers   int      `json:"answers"`
	Checked   int      `json:"checked"`
	Differing []Failed `json:"differing"` // their texts are not the same
	Unchecked []Failed `json:"unchecked"` // the computation failed
}

// Failed names an asking that did not go well.
type Failed struct {
	Number     int    `json:"number"`
	Round      string `json:"round"`
	Paraphrase int    `json:"paraphrase,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Well says that all was read and all was answered.
func (r *Report) Well() bool {
	for _, s := range r.Data.Skipped {
		if !s.Usual {
			return false
		}
	}
	return len(r.Failures)+len(r.Served.Unchecked)+len(r.Data.Unread) == 0
}

// sum adds it all up.
func (r *Report) sum(t *trial) {
	r.Seconds = time.Since(r.Began).Seconds()
	d := &r.Data
	d.Files, d.Questions, d.Tried, d.Located = len(t.Set.Files), len(t.Set.Questions), len(t.questions), len(t.holders)
	d.Skipped, d.PassedOver, d.Nowhere = list(t.Set.Skipped), t.Set.PassedOver, list(d.Nowhere)
	d.Unread, d.LeftOut = list(d.Unread), list(d.LeftOut)
	for _, q := range t.questions {
		if len(q.Gold) > 0 {
			d.Gold++
		}
	}
	rounds := map[string][]Answer{}
	for _, a := range t.answers {
		rounds[a.Round] = append(rounds[a.Round], a)
		at := Failed{Number: a.Number, Round: a.Round, Paraphrase: a.Paraphrase, Reason: a.Failure}
		switch {
		case a.Failure != "":
			r.Failures = append(r.Failures, at)
		case a.Outcome == client.OutcomeAnswerHit:
			r.Served.Answers++
			if a.Computed != nil {
				r.Served.Checked++
			}
			if a.Differs {
				r.Served.Differing = append(r.Served.Differing, at)
			}
		}
	}
	d.Paraphrases = len(rounds[roundParaphrases])
	for _, name := range []string{roundFirst, roundParaphrases, roundAgain} {
		if len(rounds[name]) > 0 {
			r.Rounds = append(r.Rounds, round(name, rounds[name]))
		}
	}
	r.Rounds = append(r.Rounds, round("all", t.answers))
	r.Failures, r.Served.Differing, r.Served.Unchecked = list(r.Failures), list(r.Served.Differing), list(r.Served.Unchecked)
}

// list is never null for a program that reads it.
func list[T any](s []T) []T { return append([]T{}, s...) }

// round adds up the answers of a round.
func round(name string, answers []Answer) Round {
	r := Round{Name: name, Asked: len(answers), Outcomes: map[client.Outcome]Figures{}}
	var given []Answer
	by := map[client.Outcome][]Answer{}
	var exact, f1, recalled []float64
	for _, a := range answers {
		if a.Exact != nil {
			exact, f1 = append(exact, number(*a.Exact)), append(f1, *a.F1)
		}
		if a.Recalled != nil {
			recalled = append(recalled, number(*a.Recalled))
		}
		if a.Failure != "" {
			r.Failed++
			continue
		}
		if a.Refused {
			r.Refused++
		}
		given, by[a.Outcome] = append(given, a), append(by[a.Outcome], a)
	}
	r.All = figures(given)
	for outcome, some := range by {
		r.Outcomes[outcome] = figures(some)
	}
	r.Exact, r.F1, r.Recalled = share(exact), share(f1), share(recalled)
	return r
}

func figures(answers []Answer) (f Figures) {
	var took, first []float64
	for _, a := range answers {
		took = append(took, a.MS)
		if a.FirstToken != nil {
			first = append(first, *a.FirstToken)
		}
		f.Chunks.Stored, f.Chunks.All = f.Chunks.Stored+a.Chunks.Stored, f.Chunks.All+a.Chunks.All
		f.Tokens.Reused, f.Tokens.All = f.Tokens.Reused+a.Tokens.Reused, f.Tokens.All+a.Tokens.Prompt
	}
	f.Latency, f.FirstToken = measure.Of(took), measure.Of(first)
	return f
}

func share(of []float64) (s Share) {
	for _, x := range of {
		s.Mean += x / float64(len(of))
	}
	s.Of = len(of)
	return s
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
