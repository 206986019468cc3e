package report

import (
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/systems"
)

// aim is by how many per cent percached should be faster than the best baseline.
const aim = 50

// Headline compares percached with the best baseline.
type Headline struct {
	Ours  string   `json:"ours,omitempty"` // percached in its faster placement
	Lines []string `json:"words"`          // the comparison as text

	LimitBytes int64               `json:"limit_bytes"` // the same for all systems
	Best       *BaselineComparison `json:"best,omitempty"`
	// BestCorrect is the best baseline without wrong answers.
	BestCorrect *BaselineComparison `json:"honest,omitempty"`
	PlacementEffects
	Idle   *IdleComparison    `json:"idle_tokens,omitempty"`
	Wrong  *int               `json:"wrong_served,omitempty"` // by percached; absent: unknown
	Bank   *Rate              `json:"wrong_served_rate,omitempty"`
	RougeL *QualityComparison `json:"rouge_l,omitempty"`
	// Reached says whether the whole aim is reached; absent: unknown.
	Reached *bool `json:"reached,omitempty"`
}

// BaselineComparison compares percached with a baseline, over the questions that both
// answered.
type BaselineComparison struct {
	System     string       `json:"system"`
	Latency    Difference   `json:"latency"`
	FirstToken Difference   `json:"first_token"`
	Wrong      *int         `json:"wrong_served,omitempty"` // by the baseline
	Idle       [2]float64   `json:"idle_tokens"`            // of percached and of the baseline, per user
	Held       [2]float64   `json:"tensor_bytes"`           // at the end
	Stages     []StageTimes `json:"stages"`                 // percached's slowest first
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

// StageTimes are the mean milliseconds of a stage in both.
type StageTimes struct {
	Stage  string  `json:"stage"`
	Ours   float64 `json:"ours_ms"`
	Theirs float64 `json:"theirs_ms"`
}

// QualityComparison says whether percached's ROUGE-L lies in naive's interval, and how it
// differs from naive's on the same questions. With few questions the interval is wide.
type QualityComparison struct {
	Ours   Estimate         `json:"ours"`
	Naive  Estimate         `json:"naive"`
	Within bool             `json:"within"`
	Above  bool             `json:"above"`  // above the interval
	Paired PairedDifference `json:"paired"` // percached's minus naive's
	Lower  bool             `json:"lower"`  // all of Paired's interval is below 0
}

// PairedDifference is a difference of means over the same questions.
type PairedDifference struct {
	Pairs int     `json:"pairs"` // questions
	Diff  float64 `json:"diff"`
	measure.Interval
	P float64 `json:"p"`
}

// baselines are the systems of other authors.
func baselines() []string {
	return []string{"ragcache", "meancache", "sleep-time", "ragcache+meancache", "ragcache+sleep-time", systems.PerCache}
}

// percachedSystems are percached in each placement.
func percachedSystems() []string {
	return []string{systems.Percached, systems.Percached + "-sequential"}
}

// fastest is the system with the lowest mean latency; nil if none answered.
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

// headline compares percached with the baselines.
func (data *runData) headline(r *Report) Headline {
	h := Headline{LimitBytes: data.run.Plan.LimitBytes, PlacementEffects: data.placementEffects()}
	ours := r.fastest(percachedSystems(), nil)
	best := r.fastest(baselines(), nil)
	if ours == nil || best == nil {
		h.Lines = append([]string{"The run lacks answers of percached or of a baseline, so they are not compared."}, h.PlacementEffects.sentence()...)
		return h
	}
	h.Ours, h.Best, h.Idle = ours.Name, data.compareBaseline(ours, best), data.compareIdle(r, ours)
	h.Same = data.compareSystems(percachedSystems()[1], best.Name)
	honest := r.fastest(baselines(), func(s *System) bool {
		wrong, known := s.All.Bank.wrongs()
		return !known || wrong > 0
	})
	if honest != nil {
		h.BestCorrect = data.compareBaseline(ours, honest)
	}
	if wrong, known := ours.All.Bank.wrongs(); known {
		h.Wrong, h.Bank = &wrong, ours.All.Bank.Wrong
	}
	if naive := r.find(systems.Naive); naive != nil && naive.All.Quality != nil && ours.All.Quality != nil {
		h.RougeL = data.compareQuality(ours, naive)
	}
	h.Reached, h.Lines = data.verdict(r, &h)
	return h
}

// compareQuality compares the ROUGE-L of two systems.
func (data *runData) compareQuality(ours, naive *System) *QualityComparison {
	us, them := ours.All.Quality.RougeL, naive.All.Quality.RougeL
	w := &QualityComparison{Ours: us, Naive: them, Within: us.Mean >= them.Low && us.Mean <= them.High, Above: us.Mean > them.High}
	rouge := right(func(s *scores) float64 { return s.rougeL })
	diff, _, _ := reduceRepeats(data.responses[ours.Name], rouge, measure.Mean).minus(reduceRepeats(data.responses[naive.Name], rouge, measure.Mean))
	paired := diff.test(data.run.Plan.Seed)
	w.Paired = PairedDifference{paired.N, paired.Diff, paired.Interval, paired.P}
	w.Lower = w.Paired.High < 0
	return w
}

// compareBaseline compares two systems question by question.
func (data *runData) compareBaseline(ours, theirs *System) *BaselineComparison {
	v := &BaselineComparison{
		System: theirs.Name, Latency: data.difference(ours.Name, theirs.Name, latency), FirstToken: data.difference(ours.Name, theirs.Name, firstToken),
		Idle: [2]float64{ours.All.Idle.Tokens, theirs.All.Idle.Tokens}, Held: [2]float64{ours.All.Storage.TensorBytes, theirs.All.Storage.TensorBytes},
		Stages: []StageTimes{},
	}
	if wrong, known := theirs.All.Bank.wrongs(); known {
		v.Wrong = &wrong
	}
	for _, name := range stageOrder() {
		us, them := ours.All.stage(name), theirs.All.stage(name)
		if name != "total" && name != "first_token" && (us > 0 || them > 0) { // the total and the first token include other stages
			v.Stages = append(v.Stages, StageTimes{name, us, them})
		}
	}
	slices.SortStableFunc(v.Stages, func(x, y StageTimes) int {
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

// difference compares the medians of each question.
func (data *runData) difference(ours, theirs string, of metric) Difference {
	p, q := reduceRepeats(data.responses[ours], of, measure.Median), reduceRepeats(data.responses[theirs], of, measure.Median)
	diff, us, them := p.minus(q)
	d := Difference{Pairs: len(diff.keys), Ours: us, Theirs: them}
	if d.Pairs == 0 || them == 0 {
		return d
	}
	paired := diff.test(data.run.Plan.Seed)
	pairs, users := p.pairs(q, diff.keys)
	lower := measure.LowerBootstrapClusters(data.run.Plan.Seed, pairs, users)
	d.Percent, d.P = 100*(1-us/them), paired.P
	d.Low, d.High = 100*lower.Low, 100*lower.High
	return d
}

// hits is the share of questions with a stored answer or stored tensors.
func hits(a *response) (float64, bool) {
	if a.failed() || a.answer.Outcome == client.OutcomeMiss {
		return 0, true
	}
	return 1, true
}

// ragcacheParallel stores the tensors of asked questions, with parallel placement. It is
// not a baseline, because nobody published it.
const ragcacheParallel = "ragcache-parallel"

// PlacementEffects says how much of percached's lead comes from its placement, and how
// noisy the machine is. A comparison is absent if the run lacks its systems.
type PlacementEffects struct {
	// Same compares percached in the baselines' placement with the fastest baseline.
	Same *SystemComparison `json:"same_placement,omitempty"`
	// Alone compares the placements without any cache: naive-parallel with naive.
	Alone *SystemComparison `json:"placement_alone,omitempty"`
	// Reuse compares percached with stored tensors of asked questions, in its own
	// placement.
	Reuse *SystemComparison `json:"same_placement_reuse,omitempty"`
	// Noise compares naive with naive-whole, which computes nearly the same.
	Noise *SystemComparison `json:"noise,omitempty"`
}

// SystemComparison compares two systems over the questions that both answered.
type SystemComparison struct {
	Ours       string     `json:"ours"`
	Theirs     string     `json:"theirs"`
	Latency    Difference `json:"latency"`
	FirstToken Difference `json:"first_token"`
}

// compareSystems is nil if the run lacks a system, or if no question has both answers.
func (data *runData) compareSystems(ours, theirs string) *SystemComparison {
	if !has(data.run, ours) || !has(data.run, theirs) {
		return nil
	}
	a := &SystemComparison{ours, theirs, data.difference(ours, theirs, latency), data.difference(ours, theirs, firstToken)}
	if a.Latency.Pairs == 0 {
		return nil
	}
	return a
}

// placementEffects fills all fields but Same, which needs the fastest baseline.
func (data *runData) placementEffects() PlacementEffects {
	return PlacementEffects{
		Alone: data.compareSystems(systems.NaiveParallel, systems.Naive),
		Reuse: data.compareSystems(systems.Percached, ragcacheParallel),
		Noise: data.compareSystems(systems.Naive, wholePrompt),
	}
}

func (s *PlacementEffects) sentence() (said []string) {
	for _, one := range []struct {
		of   *SystemComparison
		what string
		tail string
	}{
		{s.Same, "In the baselines' placement", ""},
		{s.Alone, "Effect of placement alone, without a cache", ""},
		{s.Reuse, "In the same placement, against stored tensors of asked questions", ""},
		{s.Noise, "Noise", " These two compute nearly the same."},
	} {
		if a := one.of; a != nil {
			said = append(said,
				one.what+": "+a.Ours+" against "+a.Theirs+": "+a.Latency.sentence("mean latency")+" First token: "+a.FirstToken.sentence("mean")+one.tail)
		}
	}
	return said
}

// IdleComparison compares percached's idle work with that of a baseline that predicts.
type IdleComparison struct {
	System string  `json:"system"` // PerCache, or the fastest that predicts
	Ours   float64 `json:"ours"`   // tokens per user
	Theirs float64 `json:"theirs"`
	Equal  bool    `json:"equal"` // percached's tokens are at most 5 % above
}

// moreIdle is the factor up to which idle tokens count as equal.
const moreIdle = 1.05

// compareIdle is nil if no baseline predicts.
func (data *runData) compareIdle(r *Report, ours *System) *IdleComparison {
	predicts := func(s *System) bool {
		for i := range data.run.Systems {
			if data.run.Systems[i].Name == s.Name {
				return data.run.Systems[i].Idle == eval.IdlePredict && s.All.Idle.Units > 0
			}
		}
		return false
	}
	them := r.find(systems.PerCache)
	if them == nil || them.All.Idle.Units == 0 {
		them = r.fastest(baselines(), func(s *System) bool { return !predicts(s) })
	}
	if them == nil {
		return nil
	}
	us, theirs := ours.All.Idle.Tokens, them.All.Idle.Tokens
	return &IdleComparison{them.Name, us, theirs, us <= moreIdle*theirs}
}
