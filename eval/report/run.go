package report

import (
	"cmp"
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// runData is a run with the responses of each system.
type runData struct {
	run       *eval.Run
	units     []*eval.Unit // by repeat and user
	users     []string
	responses map[string][]response // by system, in the order of units
	attended  map[string]float64    // mean number of tokens that a token attends to, by system
	groups    *measure.QuestionGroups
}

// key identifies a question across repeats, systems and runs.
type key struct {
	user               string
	number, paraphrase int
	again              int // how often it was asked before in the same unit
}

// response is what one system answered to one question, once.
type response struct {
	repeat int
	key    key
	group  int // questions that the bootstrap draws together have the same group
	answer *eval.Answer
	// uncached is the answer of the system's reference; nil: there is none.
	uncached *eval.Answer
	// The scores of the answer against the right answers, and against the uncached answer;
	// nil: nothing to compare with.
	goldScores, uncachedScores *scores
	located                    bool
	wrong                      bool // served from the bank, with other facts than the uncached answer
	paper                      *paperEstimate
}

func (a *response) failed() bool { return a.answer.Failure != "" }

func (a *response) served() bool { return !a.failed() && a.answer.Outcome == client.OutcomeAnswerHit }

func (a *response) computed() bool { return !a.failed() && a.answer.Outcome != client.OutcomeAnswerHit }

// open collects the responses of each system.
func open(r *eval.Results) *runData {
	b := &runData{run: &r.Run, responses: map[string][]response{}, attended: map[string]float64{}, groups: measure.NewQuestionGroups()}
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
			b.groups.Add(u.User, u.Asked[i].Number, u.Asked[i].Text)
		}
	}
	shape := shapeOf(&r.Run.Model)
	for i := range r.Run.Systems {
		s := &r.Run.Systems[i]
		for _, u := range b.units {
			b.responses[s.Name] = append(b.responses[s.Name], b.unit(s, u, shape)...)
		}
		b.attended[s.Name] = attendedPerToken(b.responses[s.Name])
	}
	return b
}

// unit collects the responses of a system in a unit. A question without an answer failed.
func (data *runData) unit(s *eval.System, u *eval.Unit, shape *shape) (all []response) {
	own, ref := resultOf(u, s.Name), resultOf(u, s.Reference)
	if own == nil {
		return nil
	}
	before := map[key]int{}
	for i := range u.Asked {
		q := &u.Asked[i]
		a := response{repeat: u.Repeat, key: key{u.User, q.Number, q.Paraphrase, 0}, group: data.groups.Of(u.User, q.Number), located: q.Located}
		before[a.key]++
		a.key.again = before[a.key] - 1
		a.answer = &eval.Answer{Failure: "no answer was noted"}
		if i < len(own.Answers) {
			a.answer = &own.Answers[i]
		}
		if s.Reference != s.Name && ref != nil && i < len(ref.Answers) && ref.Answers[i].Failure == "" {
			a.uncached = &ref.Answers[i]
		}
		if !data.run.Plan.NoQuality {
			a.goldScores = score(a.answer, q.Gold)
			if a.uncached != nil {
				a.uncachedScores = score(a.answer, []string{a.uncached.Text})
				a.wrong = a.served() && measure.Contradicts(a.answer.Text, a.uncached.Text)
			}
		}
		a.paper = shape.estimatePaper(&a)
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

// perQuestion has one value for each question, over its repeats.
type perQuestion struct {
	keys  []key // in the order of asking
	at    map[key]float64
	group map[key]int // questions that are drawn together
}

// metric is a value of a response; false: the response has none.
type metric func(*response) (float64, bool)

// reduceRepeats reduces the repeats of each question to one value.
func reduceRepeats(responses []response, of metric, reduce func([]float64) float64) perQuestion {
	p, all := perQuestion{at: map[key]float64{}, group: map[key]int{}}, map[key][]float64{}
	for i := range responses {
		x, ok := of(&responses[i])
		if !ok {
			continue
		}
		k := responses[i].key
		if all[k] == nil {
			p.keys, p.group[k] = append(p.keys, k), responses[i].group
		}
		all[k] = append(all[k], x)
	}
	for k, xs := range all {
		p.at[k] = reduce(xs)
	}
	return p
}

func (p perQuestion) values() []float64 {
	xs := make([]float64, len(p.keys))
	for i, k := range p.keys {
		xs[i] = p.at[k]
	}
	return xs
}

// clusters are the values of the questions that are drawn together, and the user of each
// cluster.
func (p perQuestion) clusters() (values [][]float64, users []int) {
	return clustered(p, p.values(), p.keys)
}

// clustered groups values of questions.
func clustered[V any](p perQuestion, values []V, keys []key) (clusters [][]V, users []int) {
	groups, numbers := make([]int, len(keys)), map[string]int{}
	seen := map[int]bool{}
	for i, k := range keys {
		groups[i] = p.group[k]
		if _, ok := numbers[k.user]; !ok {
			numbers[k.user] = len(numbers)
		}
		if !seen[groups[i]] { // in the order of the clusters
			seen[groups[i]], users = true, append(users, numbers[k.user])
		}
	}
	return measure.Clusters(values, groups), users
}

// minus is the difference for each question that both have, and the means of both.
func (p perQuestion) minus(q perQuestion) (diff perQuestion, ours, theirs float64) {
	diff.at, diff.group = map[key]float64{}, p.group
	var a, b []float64
	for _, k := range p.keys {
		if other, ok := q.at[k]; ok {
			diff.keys, diff.at[k] = append(diff.keys, k), p.at[k]-other
			a, b = append(a, p.at[k]), append(b, other)
		}
	}
	return diff, measure.Mean(a), measure.Mean(b)
}

// test compares with 0.
func (p perQuestion) test(seed uint64) measure.Paired {
	values, users := p.clusters()
	return measure.PairedBootstrapClusters(seed, values, users)
}

// pairs are both values of the shared questions.
func (p perQuestion) pairs(q perQuestion, shared []key) (pairs [][][2]float64, users []int) {
	both := make([][2]float64, len(shared))
	for i, k := range shared {
		both[i] = [2]float64{p.at[k], q.at[k]}
	}
	return clustered(p, both, shared)
}

// Estimate is a mean over Of questions, with its 95 % interval.
type Estimate struct {
	Of   int     `json:"of"`
	Mean float64 `json:"mean"`
	measure.Interval
}

func (p perQuestion) estimate(seed uint64) Estimate {
	if len(p.keys) == 0 {
		return Estimate{}
	}
	values, users := p.clusters()
	return Estimate{len(p.keys), measure.Mean(p.values()), measure.BootstrapClusters(seed, values, users)}
}

// Times summarizes milliseconds by question.
type Times struct {
	Estimate
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
}

func (p perQuestion) times(seed uint64) Times {
	xs := p.values()
	return Times{p.estimate(seed), measure.Median(xs), measure.Quantile(xs, 0.9)}
}

// Rate is Count of Of, with Wilson's interval.
type Rate struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Share float64 `json:"share"`
	measure.Interval
}

// rateOf is nil if n is 0.
func rateOf(k, n int) *Rate {
	if n == 0 {
		return nil
	}
	return &Rate{k, n, float64(k) / float64(n), measure.Wilson(k, n)}
}

// distinct counts the questions for which something holds in any repeat.
func distinct(responses []response, holds func(*response) bool) int {
	seen := map[key]bool{}
	for i := range responses {
		if holds(&responses[i]) {
			seen[responses[i].key] = true
		}
	}
	return len(seen)
}

func latency(a *response) (float64, bool) { return a.answer.TotalMS, !a.failed() }

func firstToken(a *response) (float64, bool) { return a.answer.FirstMS, !a.failed() }
