package report

import (
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/systems"
)

// aim is by how many per cent percached is to be faster than the best baseline.
const aim = 50

// Headline is percached against the best baseline.
type Headline struct {
	Ours  string   `json:"ours,omitempty"` // percached in the placement that is faster here
	Words []string `json:"words"`          // what it comes to

	LimitBytes int64   `json:"limit_bytes"` // the same for all
	Best       *Versus `json:"best,omitempty"`
	// Honest is the best baseline of those that served no wrong answer.
	Honest *Versus `json:"honest,omitempty"`
	Placing
	Idle   *IdleBeside `json:"idle_tokens,omitempty"`
	Wrong  *int        `json:"wrong_served,omitempty"` // by percached; absent: it cannot be told
	Bank   *Rate       `json:"wrong_served_rate,omitempty"`
	RougeL *Within     `json:"rouge_l,omitempty"`
	// Reached says whether all of the aim is; absent: it cannot be told.
	Reached *bool `json:"reached,omitempty"`
}

// Versus is percached against a baseline, over the questions that both answered.
type Versus struct {
	System     string         `json:"system"`
	Latency    Difference     `json:"latency"`
	FirstToken Difference     `json:"first_token"`
	Wrong      *int           `json:"wrong_served,omitempty"` // by the baseline
	Idle       [2]float64     `json:"idle_tokens"`            // percached's, the baseline's; for each user
	Held       [2]float64     `json:"tensor_bytes"`           // in the end
	Stages     []StageBetween `json:"stages"`                 // the largest of percached's first
}

// Difference is how much lower percached's mean is.
type Difference struct {
	Pairs            int     `json:"pairs"` // questions
	Ours             float64 `json:"ours_ms"`
	Theirs           float64 `json:"theirs_ms"`
	Percent          float64 `json:"lower_percent"`
	measure.Interval         // of Percent
	P                float64 `json:"p"`
}

// StageBetween is a stage of both, in mean milliseconds.
type StageBetween struct {
	Stage  string  `json:"stage"`
	Ours   float64 `json:"ours_ms"`
	Theirs float64 `json:"theirs_ms"`
}

// Within says whether percached's ROUGE-L lies in the interval of naive's, and how far
// it is from naive's on the same questions: of few, the interval takes in much.
type Within struct {
	Ours   Estimate `json:"ours"`
	Naive  Estimate `json:"naive"`
	Within bool     `json:"within"`
	Above  bool     `json:"above"`  // of it, which is no harm
	Paired Apart    `json:"paired"` // percached's less naive's
	Lower  bool     `json:"lower"`  // Paired lies below 0 with all of its interval
}

// Apart is a paired difference of means.
type Apart struct {
	Pairs int     `json:"pairs"` // questions
	Diff  float64 `json:"diff"`
	measure.Interval
	P float64 `json:"p"`
}

// baselines are what others built.
func baselines() []string {
	return []string{"ragcache", "meancache", "sleep-time", "ragcache+meancache", "ragcache+sleep-time", systems.PerCache}
}

// own are the placements of percached.
func own() []string { return []string{systems.Percached, systems.Percached + "-sequential"} }

// fastest is the system of the lowest mean latency; nil if none answered anything.
func (r *Report) fastest(names []string, but func(*System) bool) *System {
	var best *System
	for _, name := range names {
		s := r.find(name)
		if s == nil || s.All.Latency.Of == 0 || but != nil && but(s) {
			continue
		}
		if best == nil || s.All.Latency.Mean < best.All.Latency.Mean {
			best = s
		}
	}
	return best
}

// headline compares.
func (b *book) headline(r *Report) Headline {
	h := Headline{LimitBytes: b.run.Plan.LimitBytes, Placing: b.placing()}
	ours := r.fastest(own(), nil)
	best := r.fastest(baselines(), nil)
	if ours == nil || best == nil {
		h.Words = append([]string{"The run has not both percached and a baseline with answers: they are not compared."}, h.Placing.words()...)
		return h
	}
	h.Ours, h.Best, h.Idle = ours.Name, b.versus(ours, best), b.idleBeside(r, ours)
	h.Same = b.against(own()[1], best.Name)
	honest := r.fastest(baselines(), func(s *System) bool {
		wrong, known := s.All.Bank.wrongs()
		return !known || wrong > 0
	})
	if honest != nil {
		h.Honest = b.versus(ours, honest)
	}
	if wrong, known := ours.All.Bank.wrongs(); known {
		h.Wrong, h.Bank = &wrong, ours.All.Bank.Wrong
	}
	if naive := r.find(systems.Naive); naive != nil && naive.All.Quality != nil && ours.All.Quality != nil {
		h.RougeL = b.within(ours, naive)
	}
	h.Reached, h.Words = b.verdict(r, &h)
	return h
}

// within holds two systems' ROUGE-L against each other.
func (b *book) within(ours, naive *System) *Within {
	us, them := ours.All.Quality.RougeL, naive.All.Quality.RougeL
	w := &Within{Ours: us, Naive: them, Within: us.Mean >= them.Low && us.Mean <= them.High, Above: us.Mean > them.High}
	rouge := right(func(s *scores) float64 { return s.rougeL })
	diff, _, _ := gather(b.askings[ours.Name], rouge, measure.Mean).minus(gather(b.askings[naive.Name], rouge, measure.Mean))
	paired := measure.PairedBootstrapClusters(b.run.Plan.Seed, diff.clusters())
	w.Paired = Apart{paired.N, paired.Diff, paired.Interval, paired.P}
	w.Lower = w.Paired.High < 0
	return w
}

// versus compares two systems question by question.
func (b *book) versus(ours, theirs *System) *Versus {
	v := &Versus{
		System: theirs.Name, Latency: b.difference(ours.Name, theirs.Name, total), FirstToken: b.difference(ours.Name, theirs.Name, first),
		Idle: [2]float64{ours.All.Idle.Tokens, theirs.All.Idle.Tokens}, Held: [2]float64{ours.All.Storage.TensorBytes, theirs.All.Storage.TensorBytes},
		Stages: []StageBetween{},
	}
	if wrong, known := theirs.All.Bank.wrongs(); known {
		v.Wrong = &wrong
	}
	for _, name := range stageOrder() {
		us, them := ours.All.stage(name), theirs.All.stage(name)
		if name != "total" && name != "first_token" && (us > 0 || them > 0) { // they hold the others
			v.Stages = append(v.Stages, StageBetween{name, us, them})
		}
	}
	slices.SortStableFunc(v.Stages, func(x, y StageBetween) int {
		switch {
		case x.Ours > y.Ours:
			return -1
		case x.Ours < y.Ours:
			return 1
		default:
			return 0
		}
	})
	return v
}

// difference pairs the medians of each question.
func (b *book) difference(ours, theirs string, of value) Difference {
	p, q := gather(b.askings[ours], of, measure.Median), gather(b.askings[theirs], of, measure.Median)
	diff, us, them := p.minus(q)
	d := Difference{Pairs: len(diff.keys), Ours: us, Theirs: them}
	if d.Pairs == 0 || them == 0 {
		return d
	}
	paired := measure.PairedBootstrapClusters(b.run.Plan.Seed, diff.clusters())
	lower := measure.LowerBootstrapClusters(b.run.Plan.Seed, p.beside(q, diff.keys))
	d.Percent, d.P = 100*(1-us/them), paired.P
	d.Low, d.High = 100*lower.Low, 100*lower.High
	return d
}

// hits are the share of questions that a system did not compute from nothing.
func hits(a *asking) (float64, bool) {
	if a.failed() || a.answer.Outcome == client.OutcomeMiss {
		return 0, true
	}
	return 1, true
}
