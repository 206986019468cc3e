package report

import (
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// Question is one response of one system.
type Question struct {
	System string `json:"system"`
	QuestionRef
	Place   int            `json:"place"` // among the user's questions, from 1
	Outcome client.Outcome `json:"outcome,omitempty"`
	Origin  string         `json:"origin,omitempty"`
	Refused bool           `json:"refused,omitempty"`
	FirstMS float64        `json:"first_ms"`
	TotalMS float64        `json:"total_ms"`
	Chunks  client.Reuse   `json:"chunks"`
	Tokens  Tokens         `json:"tokens"`
	FLOPs   *float64       `json:"flops,omitempty"`

	Gold     *Scores `json:"gold,omitempty"`
	Uncached *Scores `json:"uncached,omitempty"`
	Same     *bool   `json:"same_text,omitempty"` // as the uncached answer
	Wrong    *bool   `json:"wrong,omitempty"`     // for served answers
	Recalled *bool   `json:"recalled,omitempty"`
	// For tensor hits: the estimate with the paper's mechanism.
	PaperMS    *float64 `json:"paper_ms,omitempty"`
	PaperFLOPs *float64 `json:"paper_flops,omitempty"`
	PaperBytes *int64   `json:"paper_bytes,omitempty"`
	IdleTokens int      `json:"idle_tokens"` // after the question
}

// Scores are the scores of one answer.
type Scores struct {
	RougeL float64 `json:"rouge_l"`
	BLEU   float64 `json:"bleu"`
	Exact  float64 `json:"exact_match"`
	F1     float64 `json:"f1"`
}

func (s *scores) shown() *Scores {
	if s == nil {
		return nil
	}
	return &Scores{s.rougeL, s.bleu, s.exact, s.f1}
}

// questions are all responses by system, repeat, user and place.
func (data *runData) questions() []Question {
	shape, all := shapeOf(&data.run.Model), []Question{}
	for i := range data.run.Systems {
		name, place := data.run.Systems[i].Name, 0
		responses := data.responses[name]
		for j := range responses {
			a := &responses[j]
			if place++; j == 0 || a.key.user != responses[j-1].key.user || a.repeat != responses[j-1].repeat {
				place = 1
			}
			all = append(all, one(name, place, a, shape))
		}
	}
	return all
}

func one(system string, place int, a *response, shape *shape) Question {
	r := a.answer
	q := Question{
		System: system, QuestionRef: a.named(r.Failure), Place: place, Outcome: r.Outcome, Origin: r.Origin, Refused: r.Refused,
		FirstMS: r.FirstMS, TotalMS: r.TotalMS, Chunks: r.Reuse,
		Tokens: Tokens{r.Tokens.Prompt, r.Tokens.Reused, r.Tokens.Computed, r.Tokens.Generated},
		Gold:   a.goldScores.shown(), Uncached: a.uncachedScores.shown(), Recalled: r.Recalled, IdleTokens: r.After.Computed + r.After.Generated,
	}
	if shape != nil && !a.failed() {
		q.FLOPs = new(shape.run(a).Total())
	}
	if a.uncached != nil && !a.failed() {
		q.Same = new(r.Text == a.uncached.Text)
	}
	if a.served() && a.uncachedScores != nil {
		q.Wrong = new(a.wrong)
	}
	if p := a.paper; p != nil {
		q.PaperMS, q.PaperFLOPs, q.PaperBytes = new(p.ms), new(p.paper), new(p.bytesQKV)
	}
	return q
}

// Walk is one question, as each system answered it the first time.
type Walk struct {
	QuestionRef
	Question string `json:"question,omitempty"` // only if Quote was called
	Gold     string `json:"gold,omitempty"`
	Steps    []Step `json:"systems"`
}

// Step is the answer of one system.
type Step struct {
	System     string             `json:"system"`
	Failed     bool               `json:"failed,omitempty"`
	Outcome    client.Outcome     `json:"outcome,omitempty"`
	Origin     string             `json:"origin,omitempty"`
	Similarity float64            `json:"similarity,omitempty"`
	Chunks     client.Reuse       `json:"chunks"`
	Tokens     Tokens             `json:"tokens"`
	FirstMS    float64            `json:"first_ms"`
	TotalMS    float64            `json:"total_ms"`
	Stages     map[string]float64 `json:"stages"`
	Answer     string             `json:"answer,omitempty"`
}

// shows is how much an outcome shows of a question's path: tensors show more than a stored
// answer.
func shows(o client.Outcome) int {
	switch o {
	case client.OutcomeTensorHit:
		return 3
	case client.OutcomeAnswerHit:
		return 2
	default:
		return 0
	}
}

// walk takes the first question that shows the most. It is nil unless naive, percache and
// percached, as far as they ran, all answered the same question.
func (data *runData) walk() *Walk {
	var u *eval.Unit
	best, most := 0, 0
	for _, unit := range data.units {
		for i := range unit.Asked {
			worth := 1
			for _, name := range []string{systems.Naive, systems.PerCache, systems.Percached} {
				r := resultOf(unit, name)
				switch {
				case r == nil:
				case i >= len(r.Answers) || r.Answers[i].Failure != "":
					worth -= 10 // more than all other outcomes together
				default:
					worth += shows(r.Answers[i].Outcome)
				}
			}
			if worth > most {
				u, best, most = unit, i, worth
			}
		}
	}
	if u == nil {
		return nil
	}
	q := &u.Asked[best]
	w := &Walk{QuestionRef: QuestionRef{User: u.User, Number: q.Number, Paraphrase: q.Paraphrase, Repeat: u.Repeat}, Steps: []Step{}}
	for i := range data.run.Systems {
		s := &data.run.Systems[i]
		r := resultOf(u, s.Name)
		if s.Of != "" || r == nil || best >= len(r.Answers) {
			continue
		}
		a := &r.Answers[best]
		w.Steps = append(w.Steps, Step{
			System: s.Name, Failed: a.Failure != "", Outcome: a.Outcome, Origin: a.Origin, Similarity: a.Similarity, Chunks: a.Reuse,
			Tokens:  Tokens{a.Tokens.Prompt, a.Tokens.Reused, a.Tokens.Computed, a.Tokens.Generated},
			FirstMS: a.FirstMS, TotalMS: a.TotalMS, Stages: stagesOf(a),
		})
	}
	return w
}

// Quote adds the texts of the walked question to the report: the question, the right
// answers, and each system's answer. They are a person's own words, so a report has them
// only on request.
func (r *Report) Quote(from *eval.Results) {
	w := r.Walk
	if w == nil {
		return
	}
	for i := range from.Units {
		u := &from.Units[i]
		if u.User != w.User || u.Repeat != w.Repeat {
			continue
		}
		for at := range u.Asked {
			q := &u.Asked[at]
			if q.Number != w.Number || q.Paraphrase != w.Paraphrase {
				continue
			}
			w.Question, w.Gold = q.Text, strings.Join(q.Gold, " / ")
			for j := range w.Steps {
				if own := resultOf(u, w.Steps[j].System); own != nil && at < len(own.Answers) {
					w.Steps[j].Answer = own.Answers[at].Text
				}
			}
			return
		}
	}
}
