package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
)

// Sweep is a system with one setting at several values.
type Sweep struct {
	Of   string    `json:"of"`
	Key  string    `json:"key"`
	Rows []Variant `json:"rows"` // by value
}

// Variant is a system at one value.
type Variant struct {
	System     string    `json:"system"`
	Value      float64   `json:"value"`
	Label      string    `json:"label"` // what stands behind the @ of its name
	Latency    Estimate  `json:"latency_ms"`
	FirstToken Estimate  `json:"first_token_ms"`
	Outcomes   Outcomes  `json:"outcomes"`
	Failed     int       `json:"failed"`
	RougeL     *Estimate `json:"rouge_l,omitempty"`
	BLEU       *Estimate `json:"bleu,omitempty"`
	Wrong      *Rate     `json:"wrong_served,omitempty"`
	Evicted    float64   `json:"evicted"` // for a user's questions, asked once
	IdleTokens float64   `json:"idle_tokens"`
	LimitBytes int64     `json:"limit_bytes"` // of its tensors; 0: no bound
}

// sweeps groups the variants, in the order of the run.
func (b *book) sweeps(r *Report) []Sweep {
	all := []Sweep{}
	for i := range b.run.Systems {
		s := &b.run.Systems[i]
		if s.Of == "" || s.Key == "" {
			continue
		}
		at := slices.IndexFunc(all, func(w Sweep) bool { return w.Of == s.Of && w.Key == s.Key })
		if at < 0 {
			at, all = len(all), append(all, Sweep{Of: s.Of, Key: s.Key})
		}
		all[at].Rows = append(all[at].Rows, b.variant(s, &r.find(s.Name).All))
	}
	for _, w := range all {
		slices.SortStableFunc(w.Rows, func(x, y Variant) int { return cmp.Compare(x.Value, y.Value) })
	}
	return all
}

func (b *book) variant(s *eval.System, t *Totals) Variant {
	v := Variant{
		System: s.Name, Value: s.Value, Label: label(s), Latency: t.Latency.Estimate, FirstToken: t.FirstToken.Estimate, Outcomes: t.Outcomes,
		Failed: t.Failed, Wrong: t.Bank.Wrong, Evicted: t.Storage.Evicted, IdleTokens: t.Idle.Tokens, LimitBytes: b.run.Plan.LimitBytes,
	}
	if q := t.Quality; q != nil {
		v.RougeL, v.BLEU = &q.RougeL, &q.BLEU
	}
	if limit := s.Settings.TensorLimit; limit != nil {
		v.LimitBytes = *limit
	}
	return v
}

func label(s *eval.System) string {
	if _, behind, ok := strings.Cut(s.Name, "@"); ok {
		return behind
	}
	return fmt.Sprintf("%s=%g", s.Key, s.Value)
}
