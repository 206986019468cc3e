package report

import (
	"cmp"
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// book is a run, opened at its systems.
type book struct {
	run     *eval.Run
	units   []*eval.Unit // by repeat and user
	users   []string
	askings map[string][]asking // by system, in the order of units
	sees    map[string]float64  // by system: how many tokens a token sees, on average
	draws   *measure.Draws
}

// key is what a question goes by through repeats, systems and runs.
type key struct {
	user               string
	number, paraphrase int
	again              int // it was asked so often before in the same unit
}

// asking is one question, asked of one system once.
type asking struct {
	repeat int
	key    key
	draw   int // questions that hang together have the same
	answer *eval.Answer
	// cold is the answer of the system's reference; nil: there is none to compare with.
	cold *eval.Answer
	// right is how it stands against gold, same against the answer of the reference.
	// Each is nil if there is nothing to hold it against.
	right, same *scores
	located     bool
	wrong       bool // served from the bank, and its facts are not those of cold
	paper       *skipping
}

func (a *asking) failed() bool { return a.answer.Failure != "" }

func (a *asking) served() bool { return !a.failed() && a.answer.Outcome == client.OutcomeAnswerHit }

func (a *asking) computed() bool { return !a.failed() && a.answer.Outcome != client.OutcomeAnswerHit }

// open puts the answers of each system in order.
func open(r *eval.Results) *book {
	b := &book{run: &r.Run, askings: map[string][]asking{}, sees: map[string]float64{}, draws: measure.NewDraws()}
	for _, u := range r.Run.Users {
		b.users = append(b.users, u.Name)
	}
	for i := range r.Units {
		b.units = append(b.units, &r.Units[i])
		if u := r.Units[i].User; !slices.Contains(b.users, u) {
			b.users = append(b.users, u)
		}
	}
	slices.SortStableFunc(b.units, func(x, y *eval.Unit) int {
		return cmp.Or(cmp.Compare(x.Repeat, y.Repeat), cmp.Compare(slices.Index(b.users, x.User), slices.Index(b.users, y.User)))
	})
	for _, u := range b.units {
		for i := range u.Asked {
			b.draws.Add(u.User, u.Asked[i].Number, u.Asked[i].Text)
		}
	}
	shape := shapeOf(&r.Run.Model)
	for i := range r.Run.Systems {
		s := &r.Run.Systems[i]
		for _, u := range b.units {
			b.askings[s.Name] = append(b.askings[s.Name], b.unit(s, u, shape)...)
		}
		b.sees[s.Name] = seen(b.askings[s.Name])
	}
	return b
}

// unit is what a system was asked in a unit. A question without an answer failed.
func (b *book) unit(s *eval.System, u *eval.Unit, shape *shape) (all []asking) {
	own, ref := resultOf(u, s.Name), resultOf(u, s.Reference)
	if own == nil {
		return nil
	}
	before := map[key]int{}
	for i := range u.Asked {
		q := &u.Asked[i]
		a := asking{repeat: u.Repeat, key: key{u.User, q.Number, q.Paraphrase, 0}, draw: b.draws.Of(u.User, q.Number), located: q.Located}
		before[a.key]++
		a.key.again = before[a.key] - 1
		a.answer = &eval.Answer{Failure: "no answer was noted"}
		if i < len(own.Answers) {
			a.answer = &own.Answers[i]
		}
		if s.Reference != s.Name && ref != nil && i < len(ref.Answers) && ref.Answers[i].Failure == "" {
			a.cold = &ref.Answers[i]
		}
		if !b.run.Plan.NoQuality {
			a.right = score(a.answer, q.Gold)
			if a.cold != nil {
				a.same = score(a.answer, []string{a.cold.Text})
				a.wrong = a.served() && measure.Contradicts(a.answer.Text, a.cold.Text)
			}
		}
		a.paper = shape.skip(&a)
		all = append(all, a)
	}
	return all
}

func resultOf(u *eval.Unit, system string) *eval.Result {
	for i := range u.Results {
		if u.Results[i].System == system {
			return &u.Results[i]
		}
	}
	return nil
}
