package figure

import (
	"cmp"
	"math"
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// run is a run as charts look at it, its units in order.
type run struct {
	eval.Results
	draws    *measure.Draws
	sketched bool // without intervals, which take the most time
}

// open puts a run's units in order, so that nothing depends on how they came.
func open(results *eval.Results) *run {
	r := &run{Results: *results, draws: measure.NewDraws()}
	r.Units = slices.Clone(r.Units)
	slices.SortStableFunc(r.Units, func(a, b eval.Unit) int {
		return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(r.place(a.User), r.place(b.User)), cmp.Compare(a.User, b.User))
	})
	for i := range r.Units {
		for j := range r.Units[i].Asked {
			q := &r.Units[i].Asked[j]
			r.draws.Add(r.Units[i].User, q.Number, q.Text)
		}
	}
	return r
}

// asked is a question as one system answered it.
type asked struct {
	unit      *eval.Unit
	question  *eval.Asked
	again     int // it was asked so often before in the unit
	draw      int // questions that hang together have the same
	answer    *eval.Answer
	reference *eval.Answer // without any cache; nil: there is none
}

// failed says that there is no answer.
func (a asked) failed() bool { return a.answer.Failure != "" }

// served says that a stored answer was given.
func (a asked) served() bool { return !a.failed() && a.answer.Outcome == client.OutcomeAnswerHit }

// system finds one by name.
func (r *run) system(name string) (eval.System, bool) {
	i := slices.IndexFunc(r.Run.Systems, func(s eval.System) bool { return s.Name == name })
	if i < 0 {
		return eval.System{}, false
	}
	return r.Run.Systems[i], true
}

// own are the systems that are no variants, in the run's order.
func (r *run) own() (names []string) {
	for _, s := range r.Run.Systems {
		if s.Of == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// those are the ones of some names that the run has, in the order of the names.
func (r *run) those(names ...string) (in []string) {
	for _, n := range names {
		if _, ok := r.system(n); ok {
			in = append(in, n)
		}
	}
	return in
}

// users are those of whom a unit is done, in the run's order.
func (r *run) users() (names []string) {
	for i := range r.Units {
		if u := r.Units[i].User; !slices.Contains(names, u) {
			names = append(names, u)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.place(a), r.place(b)) })
	return names
}

// place is where a user stands in the run; who is not named there stands behind.
func (r *run) place(user string) int {
	for i, u := range r.Run.Users {
		if u.Name == user {
			return i
		}
	}
	return len(r.Run.Users)
}

// result is what a system did in a unit, or nil.
func result(u *eval.Unit, system string) *eval.Result {
	for i := range u.Results {
		if u.Results[i].System == system {
			return &u.Results[i]
		}
	}
	return nil
}

// answersIn are a system's answers in one unit.
func (r *run) answersIn(u *eval.Unit, system string) (list []asked) {
	res := result(u, system)
	if res == nil {
		return nil
	}
	s, _ := r.system(system)
	ref := result(u, s.Reference)
	before := map[[2]int]int{}
	for i := range u.Asked {
		q := &u.Asked[i]
		same := [2]int{q.Number, q.Paraphrase}
		a := asked{unit: u, question: q, again: before[same], draw: r.draws.Of(u.User, q.Number), answer: &eval.Answer{Failure: "no answer was noted"}}
		before[same]++
		if i < len(res.Answers) {
			a.answer = &res.Answers[i]
		}
		if ref != nil && i < len(ref.Answers) && ref.Answers[i].Failure == "" {
			a.reference = &ref.Answers[i]
		}
		list = append(list, a)
	}
	return list
}

// answers are a system's answers to a user, in all repeats; to everybody if user is empty.
func (r *run) answers(system, user string) (list []asked) {
	for i := range r.Units {
		if user == "" || r.Units[i].User == user {
			list = append(list, r.answersIn(&r.Units[i], system)...)
		}
	}
	return list
}

// first is a user's first unit, or anybody's if user is empty; nil: there is none.
func (r *run) first(user string) *eval.Unit {
	for i := range r.Units {
		if user == "" || r.Units[i].User == user {
			return &r.Units[i]
		}
	}
	return nil
}

// spread is a mean and where it lies with a confidence of 95 %.
type spread struct {
	mean, low, high float64
	n               int
}

// absent is the spread of nothing.
func absent() spread { return spread{mean: math.NaN(), low: math.NaN(), high: math.NaN()} }

// value is one of an answer; false: it has none.
type value func(asked) (float64, bool)

// key is what a question goes by.
type key struct {
	user               string
	number, paraphrase int
	again              int
}

func (a asked) key() key {
	return key{a.unit.User, a.question.Number, a.question.Paraphrase, a.again}
}

// gather gives a value for each question, its repeats made one. Those of questions
// that hang together are one list.
func gather(list []asked, of value, reduce func([]float64) float64) [][]float64 {
	var order []key
	var draws []int
	repeats := map[key][]float64{}
	for _, a := range list {
		v, ok := of(a)
		if !ok {
			continue
		}
		k := a.key()
		if repeats[k] == nil {
			order, draws = append(order, k), append(draws, a.draw)
		}
		repeats[k] = append(repeats[k], v)
	}
	values := make([]float64, len(order))
	for i, k := range order {
		values[i] = reduce(repeats[k])
	}
	return measure.Clusters(values, draws)
}

// estimate is the mean over clusters' values.
func (r *run) estimate(clusters [][]float64) spread {
	all := slices.Concat(clusters...)
	if len(all) == 0 {
		return absent()
	}
	if r.sketched {
		return spread{measure.Mean(all), math.NaN(), math.NaN(), len(all)}
	}
	i := measure.BootstrapClusters(r.Run.Plan.Seed, clusters)
	return spread{measure.Mean(all), i.Low, i.High, len(all)}
}

// mean is that of a value over questions; the repeats of one count as their mean.
func (r *run) mean(list []asked, of value) spread { return r.estimate(gather(list, of, measure.Mean)) }

// times is the same for milliseconds: repeats count as their median, as now and then
// the machine does something else.
func (r *run) times(list []asked, of value) spread {
	return r.estimate(gather(list, of, measure.Median))
}

// latency is the time until an answer was there.
func latency(a asked) (float64, bool) { return a.answer.TotalMS, !a.failed() }

// firstToken is the time until the first piece of it was there.
func firstToken(a asked) (float64, bool) { return a.answer.FirstMS, !a.failed() }

// hit says whether an answer or tensors were reused; what failed reused nothing.
func hit(a asked) (float64, bool) {
	return share(!a.failed() && (a.served() || a.answer.Outcome == client.OutcomeTensorHit)), true
}

// answerHit says whether a stored answer was served.
func answerHit(a asked) (float64, bool) { return share(a.served()), true }

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// failures counts answers that failed.
func failures(list []asked) (n int) {
	for _, a := range list {
		if a.failed() {
			n++
		}
	}
	return n
}

// spreads are means as a series has them.
func spreads(name string, list []spread) Series {
	s := Series{Name: name}
	for _, v := range list {
		s.Y, s.Low, s.High = append(s.Y, v.mean), append(s.Low, v.low), append(s.High, v.high)
	}
	return s
}
