package report

import (
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// ragcacheParallel keeps the tensors that were asked for and nothing else, with
// chunks side by side. It is nobody's system, and so no baseline.
const ragcacheParallel = "ragcache-parallel"

// Placing says what of percached's lead comes from where its chunks stand, and how
// large the machine's noise is. What the run has no systems for is absent.
type Placing struct {
	// Same is percached in the baselines' placement against the fastest of them.
	Same *Against `json:"same_placement,omitempty"`
	// Alone is percached's placement without any cache: naive-parallel against naive.
	Alone *Against `json:"placement_alone,omitempty"`
	// Reuse is percached against tensors asked for in its own placement.
	Reuse *Against `json:"same_placement_reuse,omitempty"`
	// Noise is naive against naive-whole, which computes nearly the same.
	Noise *Against `json:"noise,omitempty"`
}

// Against is one system against another, over the questions that both answered.
type Against struct {
	Ours       string     `json:"ours"`
	Theirs     string     `json:"theirs"`
	Latency    Difference `json:"latency"`
	FirstToken Difference `json:"first_token"`
}

// against is nil if the run lacks one of two systems, or no question has both answers.
func (b *book) against(ours, theirs string) *Against {
	if !has(b.run, ours) || !has(b.run, theirs) {
		return nil
	}
	a := &Against{ours, theirs, b.difference(ours, theirs, total), b.difference(ours, theirs, first)}
	if a.Latency.Pairs == 0 {
		return nil
	}
	return a
}

// placing fills in all but Same, for which the fastest baseline is to be known.
func (b *book) placing() Placing {
	return Placing{
		Alone: b.against(systems.NaiveParallel, systems.Naive),
		Reuse: b.against(systems.Percached, ragcacheParallel),
		Noise: b.against(systems.Naive, wholePrompt),
	}
}

func (s *Placing) words() (said []string) {
	for _, one := range []struct {
		of   *Against
		what string
		tail string
	}{
		{s.Same, "In the baselines' own placement", ""},
		{s.Alone, "What placement alone brings, without any cache", ""},
		{s.Reuse, "In the same placement, against tensors asked for alone", ""},
		{s.Noise, "Noise to hold the others against", " These two compute nearly the same."},
	} {
		if a := one.of; a != nil {
			said = append(said,
				one.what+": "+a.Ours+" against "+a.Theirs+": "+a.Latency.words("mean latency")+" First token: "+a.FirstToken.words("mean")+one.tail)
		}
	}
	return said
}

// IdleBeside is percached's idle work against that of a baseline that predicts.
type IdleBeside struct {
	System string  `json:"system"` // PerCache, or else the fastest that predicts
	Ours   float64 `json:"ours"`   // tokens for each user
	Theirs float64 `json:"theirs"`
	Equal  bool    `json:"equal"` // percached's are no more than 5 % above
}

// moreIdle is how many times a baseline's idle tokens still count as equal to them.
const moreIdle = 1.05

// idleBeside is nil if no baseline predicts.
func (b *book) idleBeside(r *Report, ours *System) *IdleBeside {
	predicts := func(s *System) bool {
		for i := range b.run.Systems {
			if b.run.Systems[i].Name == s.Name {
				return b.run.Systems[i].Idle == eval.IdlePredict && s.All.Idle.Units > 0
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
	return &IdleBeside{them.Name, us, theirs, us <= moreIdle*theirs}
}
