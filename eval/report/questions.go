package report

import (
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// Question is one response of one system. Its reason says why it failed.
type Question struct {
	System string
	QuestionRef
	Group   int // questions that the bootstrap draws together have the same group
	Outcome client.Outcome
	Origin  string
	Refused bool
	// Times in milliseconds.
	FirstMS, TotalMS, PrefillMS, DecodeMS float64
	Chunks                                client.Reuse
	Tokens                                Tokens
	FLOPs                                 *float64 // nil: the model's shape is unknown

	gold, uncached *scores
	Same           *bool // as the uncached answer
	Wrong          *bool // for served answers
	Recalled       *bool
}

// questions are all responses by system, repeat and user, in the order of asking.
func (data *runData) questions() []Question {
	shape, all := shapeOf(&data.run.Model), []Question{}
	for i := range data.run.Systems {
		name := data.run.Systems[i].Name
		responses := data.responses[name]
		for j := range responses {
			all = append(all, one(name, &responses[j], shape))
		}
	}
	return all
}

func one(system string, a *response, shape *shape) Question {
	r := a.answer
	q := Question{
		System: system, QuestionRef: a.named(r.Failure), Group: a.group, Outcome: r.Outcome, Origin: r.Origin, Refused: r.Refused,
		FirstMS: r.FirstMS, TotalMS: r.TotalMS, PrefillMS: r.Stages["prefill_ms"], DecodeMS: r.Stages["decode_ms"], Chunks: r.Reuse,
		Tokens: Tokens{r.Tokens.Prompt, r.Tokens.Reused, r.Tokens.Computed, r.Tokens.Generated},
		gold:   a.goldScores, uncached: a.uncachedScores, Recalled: r.Recalled,
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
