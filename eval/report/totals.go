package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// Totals sum up some questions of a system.
type Totals struct {
	Asked    int `json:"asked"` // with repeats
	Failed   int `json:"failed"`
	Refused  int `json:"refused"`  // answers that the documents do not say
	Distinct int `json:"distinct"` // questions and paraphrases
	// Times until the whole answer and until its first piece, misses and stored answers
	// included. The repeats of a question count as their median.
	Latency    Times `json:"latency_ms"`
	FirstToken Times `json:"first_token_ms"`

	Outcomes Outcomes     `json:"outcomes"`
	Chunks   client.Reuse `json:"chunks"` // in prompts
	Tokens   Tokens       `json:"tokens"` // in prompts
	Stages   []Stage      `json:"stages"`
	Compute  *Compute     `json:"compute,omitempty"`
	Idle     IdleWork     `json:"idle"`
	Storage  Storage      `json:"storage"`

	Quality  *Quality `json:"quality,omitempty"`  // against the right answers
	Uncached *Quality `json:"uncached,omitempty"` // against the reference's answer
	Recall   *Rate    `json:"retrieval_recall,omitempty"`
	Bank     Bank     `json:"bank"`
	Drafts   *Drafts  `json:"drafts,omitempty"`
	Check    *Check   `json:"check,omitempty"`
	Paper    *Paper   `json:"paper,omitempty"`
}

// Outcomes counts answers by outcome.
type Outcomes struct {
	AnswerHits   int `json:"answer_hit"`
	VerifiedHits int `json:"verified_hit"` // computed: their times and tokens count as those of other computed answers
	TensorHits   int `json:"tensor_hit"`
	Misses       int `json:"miss"`
	// Shares of all questions asked, failed ones included.
	AnswerHitRate   float64 `json:"answer_hit_rate"`
	VerifiedHitRate float64 `json:"verified_hit_rate"`
	TensorHitRate   float64 `json:"tensor_hit_rate"`
	MissRate        float64 `json:"miss_rate"`
}

// Tokens counts the tokens of prompts and answers.
type Tokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
}

// Stage is the time of a stage, in milliseconds.
type Stage struct {
	Name  string  `json:"name"`
	Mean  float64 `json:"mean_ms"`  // over all answers
	Took  float64 `json:"taken_ms"` // over the answers that had the stage
	Count int     `json:"count"`    // answers that had the stage
}

// stageOrder is the order of a question's path. The first token and the total, which
// include other stages, follow them.
func stageOrder() []string {
	return append(measure.Stages(), measure.Between, "first_token", "total", measure.Outside)
}

// totals sums up the responses of a system; an empty user means all.
func (data *runData) totals(s *eval.System, user string, responses []response) Totals {
	seed, idle := data.run.Plan.Seed, data.idle(s, user)
	t := Totals{
		Asked: len(responses), Distinct: distinct(responses, func(*response) bool { return true }),
		Latency: reduceRepeats(responses, latency, measure.Median).times(seed), FirstToken: reduceRepeats(responses, firstToken, measure.Median).times(seed),
		Stages: stages(responses), Compute: data.compute(responses, &idle), Idle: idle, Storage: data.storage(s, user),
		Quality:  quality(seed, responses, func(a *response) *scores { return a.goldScores }),
		Uncached: quality(seed, responses, func(a *response) *scores { return a.uncachedScores }),
		Recall:   recall(responses), Bank: bank(responses), Drafts: drafts(responses), Check: check(responses), Paper: paper(responses),
	}
	for i := range responses {
		a := responses[i].answer
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
		case client.OutcomeVerifiedHit:
			t.Outcomes.VerifiedHits++
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
	o.AnswerHitRate, o.VerifiedHitRate = per(o.AnswerHits, t.Asked), per(o.VerifiedHits, t.Asked)
	o.TensorHitRate, o.MissRate = per(o.TensorHits, t.Asked), per(o.Misses, t.Asked)
	return t
}

// per is a share; 0 if all is 0.
func per(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// stages sums up each stage over all answers.
func stages(responses []response) []Stage {
	sums, counts, answered := map[string]float64{}, map[string]int{}, 0
	for i := range responses {
		if responses[i].failed() {
			continue
		}
		answered++
		for name, ms := range stagesOf(responses[i].answer) {
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

// stagesOf are the stages of an answer in milliseconds, by name without _ms.
func stagesOf(a *eval.Answer) map[string]float64 {
	all := map[string]float64{}
	for name, ms := range a.Stages {
		all[strings.TrimSuffix(name, "_ms")] = ms
	}
	measure.Rest(all, a.TotalMS)
	return all
}

// stage is the mean of a stage; 0 if there is none.
func (t *Totals) stage(name string) float64 {
	for _, s := range t.Stages {
		if s.Name == name {
			return s.Mean
		}
	}
	return 0
}

// scores compare an answer with right ones, each from 0 to 1. A failed question has 0 in
// all.
type scores struct{ rougeL, bleu, exact, contains, f1 float64 }

// score is nil if there is no answer to compare with.
func score(a *eval.Answer, against []string) *scores {
	if len(against) == 0 {
		return nil
	}
	if a.Failure != "" {
		return &scores{}
	}
	s := &scores{rougeL: measure.RougeL(a.Text, against), bleu: measure.BLEU(a.Text, against), f1: measure.F1(a.Text, against)}
	if measure.Exact(a.Text, against) {
		s.exact = 1
	}
	if measure.Contains(a.Text, against) {
		s.contains = 1
	}
	return s
}

// Quality compares answers with right ones. The repeats of a question count as their mean.
type Quality struct {
	RougeL Estimate `json:"rouge_l"`
	BLEU   Estimate `json:"bleu"`
	Exact  Estimate `json:"exact_match"`
	// Contains is the share of answers that contain a right answer.
	Contains Estimate `json:"containment"`
	F1       Estimate `json:"f1"`
}

// quality is nil if no answer could be compared.
func quality(seed uint64, responses []response, of func(*response) *scores) *Quality {
	one := func(pick func(*scores) float64) perQuestion {
		return reduceRepeats(responses, func(a *response) (float64, bool) {
			s := of(a)
			if s == nil {
				return 0, false
			}
			return pick(s), true
		}, measure.Mean)
	}
	rouge := one(func(s *scores) float64 { return s.rougeL })
	if len(rouge.keys) == 0 {
		return nil
	}
	return &Quality{
		RougeL:   rouge.estimate(seed),
		BLEU:     one(func(s *scores) float64 { return s.bleu }).estimate(seed),
		Exact:    one(func(s *scores) float64 { return s.exact }).estimate(seed),
		Contains: one(func(s *scores) float64 { return s.contains }).estimate(seed),
		F1:       one(func(s *scores) float64 { return s.f1 }).estimate(seed),
	}
}

// right is a score against the right answers.
func right(pick func(*scores) float64) metric {
	return func(a *response) (float64, bool) {
		if a.goldScores == nil {
			return 0, false
		}
		return pick(a.goldScores), true
	}
}

// recalled says whether the prompt held the document with the right answer; known is false
// if that document is unknown. A failed question recalled nothing.
func recalled(a *response) (found, known bool) {
	switch {
	case a.failed():
		return false, a.located
	case a.answer.Recalled == nil:
		return false, false
	default:
		return *a.answer.Recalled, true
	}
}

// recall counts questions. A question counts as found if every repeat found it.
func recall(responses []response) *Rate {
	known := func(a *response) bool { _, ok := recalled(a); return ok }
	lost := func(a *response) bool { found, ok := recalled(a); return ok && !found }
	of := distinct(responses, known)
	return rateOf(of-distinct(responses, lost), of)
}
