package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// Totals are what some questions came to.
type Totals struct {
	Asked    int `json:"asked"` // with repeats
	Failed   int `json:"failed"`
	Refused  int `json:"refused"`  // answers that the documents do not say
	Distinct int `json:"distinct"` // questions and paraphrases
	// Until the whole answer, and until its first piece, with misses and stored
	// answers. The repeats of a question count as one, their median.
	Latency    Times `json:"latency_ms"`
	FirstToken Times `json:"first_token_ms"`

	Outcomes Outcomes     `json:"outcomes"`
	Chunks   client.Reuse `json:"chunks"` // of prompts
	Tokens   Tokens       `json:"tokens"` // of prompts
	Stages   []Stage      `json:"stages"`
	Compute  *Compute     `json:"compute,omitempty"`
	Idle     IdleWork     `json:"idle"`
	Storage  Storage      `json:"storage"`

	Quality  *Quality `json:"quality,omitempty"`  // against gold
	Uncached *Quality `json:"uncached,omitempty"` // against the reference's answer
	Recall   *Rate    `json:"retrieval_recall,omitempty"`
	Bank     Bank     `json:"bank"`
	Check    *Check   `json:"check,omitempty"`
	Paper    *Paper   `json:"paper,omitempty"`
}

// Outcomes counts how answers came.
type Outcomes struct {
	AnswerHits int `json:"answer_hit"`
	TensorHits int `json:"tensor_hit"`
	Misses     int `json:"miss"`
	// Of what was asked, with what failed.
	AnswerHitRate float64 `json:"answer_hit_rate"`
	TensorHitRate float64 `json:"tensor_hit_rate"`
	MissRate      float64 `json:"miss_rate"`
}

// Tokens are those of prompts.
type Tokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
}

// Stage is what a stage took, in milliseconds.
type Stage struct {
	Name  string  `json:"name"`
	Mean  float64 `json:"mean_ms"`  // over all answers
	Took  float64 `json:"taken_ms"` // over those in which it took place
	Count int     `json:"count"`    // of them
}

// stageOrder is that of one question's path; what holds several of them, the first
// token and the total, stands behind.
func stageOrder() []string {
	return append(measure.Stages(), measure.Between, "first_token", "total", measure.Outside)
}

// totals adds up the askings of a system; user is empty for all of them.
func (b *book) totals(s *eval.System, user string, askings []asking) Totals {
	seed, idle := b.run.Plan.Seed, b.idle(s, user)
	t := Totals{
		Asked: len(askings), Distinct: distinct(askings, func(*asking) bool { return true }),
		Latency: gather(askings, total, measure.Median).times(seed), FirstToken: gather(askings, first, measure.Median).times(seed),
		Stages: stages(askings), Compute: b.compute(askings, &idle), Idle: idle, Storage: b.storage(s, user),
		Quality:  quality(seed, askings, func(a *asking) *scores { return a.right }),
		Uncached: quality(seed, askings, func(a *asking) *scores { return a.same }),
		Recall:   recall(askings), Bank: bank(askings), Check: check(askings), Paper: paper(askings),
	}
	for i := range askings {
		a := askings[i].answer
		if a.Failure != "" {
			t.Failed++
			continue
		}
		if a.Refused {
			t.Refused++
		}
		switch a.Outcome {
		case client.OutcomeAnswerHit:
			t.Outcomes.AnswerHits++
		case client.OutcomeTensorHit:
			t.Outcomes.TensorHits++
		case client.OutcomeMiss:
			t.Outcomes.Misses++
		}
		t.Chunks.All, t.Chunks.Stored = t.Chunks.All+a.Reuse.All, t.Chunks.Stored+a.Reuse.Stored
		t.Tokens.Prompt, t.Tokens.Reused = t.Tokens.Prompt+a.Tokens.Prompt, t.Tokens.Reused+a.Tokens.Reused
		t.Tokens.Computed, t.Tokens.Generated = t.Tokens.Computed+a.Tokens.Computed, t.Tokens.Generated+a.Tokens.Generated
	}
	o := &t.Outcomes
	o.AnswerHitRate, o.TensorHitRate, o.MissRate = per(o.AnswerHits, t.Asked), per(o.TensorHits, t.Asked), per(o.Misses, t.Asked)
	return t
}

// per is a share; of none it is 0.
func per(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// stages sums up each stage over all answers that came.
func stages(askings []asking) []Stage {
	sums, counts, answered := map[string]float64{}, map[string]int{}, 0
	for i := range askings {
		if askings[i].failed() {
			continue
		}
		answered++
		for name, ms := range stagesOf(askings[i].answer) {
			sums[name] += ms
			if ms > 0 {
				counts[name]++
			}
		}
	}
	order, out := stageOrder(), []Stage{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		sum, ok := sums[name]
		if !ok {
			continue
		}
		s := Stage{Name: name, Mean: sum / float64(answered), Count: counts[name]}
		if s.Count > 0 {
			s.Took = sum / float64(s.Count)
		}
		out = append(out, s)
	}
	return out
}

// stagesOf are an answer's stages in milliseconds, by name without _ms.
func stagesOf(a *eval.Answer) map[string]float64 {
	all := map[string]float64{}
	for name, ms := range a.Stages {
		all[strings.TrimSuffix(name, "_ms")] = ms
	}
	measure.Rest(all, a.TotalMS)
	return all
}

// stage is the mean of one; 0 if there was none such.
func (t *Totals) stage(name string) float64 {
	for _, s := range t.Stages {
		if s.Name == name {
			return s.Mean
		}
	}
	return 0
}
