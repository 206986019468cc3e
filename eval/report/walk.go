package report

import (
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// Walk is one question, as each system answered it the first time.
type Walk struct {
	Named
	Question string `json:"question,omitempty"` // if Quote was called
	Gold     string `json:"gold,omitempty"`
	Steps    []Step `json:"systems"`
}

// Step is how one system answered.
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

// shows is how much an outcome shows of a question's way: tensors more than an
// answer that was stored. The chart of one question goes by the same.
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

// walk takes the question that shows most, of several the first. It is nil if there
// is none that naive, percache and percached all answered, or those of them that ran.
func (b *book) walk() *Walk {
	var u *eval.Unit
	best, most := 0, 0
	for _, unit := range b.units {
		for i := range unit.Asked {
			worth := 1
			for _, name := range []string{systems.Naive, systems.PerCache, systems.Percached} {
				r := resultOf(unit, name)
				switch {
				case r == nil:
				case i >= len(r.Answers) || r.Answers[i].Failure != "":
					worth -= 10 // more than all others are worth
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
	w := &Walk{Named: Named{User: u.User, Number: q.Number, Paraphrase: q.Paraphrase, Repeat: u.Repeat}, Steps: []Step{}}
	for i := range b.run.Systems {
		s := &b.run.Systems[i]
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
