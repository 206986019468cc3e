package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// preemptReport is what bench preempt found out.
type preemptReport struct {
	Shape            string  `json:"shape,omitempty"`
	Quant            string  `json:"quant,omitempty"`
	Model            string  `json:"model"`
	BackgroundTokens int     `json:"background_tokens"`
	Tokens           int     `json:"tokens"`        // of the question's prompt
	StoredTokens     int     `json:"stored_tokens"` // of its slices
	Generated        int     `json:"generated"`     // tokens of its answer
	Split            int     `json:"split"`
	Threads          int     `json:"threads"`
	Runs             int     `json:"runs"`      // pairs
	Preempted        int     `json:"preempted"` // how often background work was really stopped
	Missed           int     `json:"missed"`    // questions that found none and do not count
	AloneMedianMs    float64 `json:"alone_median_ms"`
	AloneP95Ms       float64 `json:"alone_p95_ms"`
	BusyMedianMs     float64 `json:"busy_median_ms"`
	BusyP95Ms        float64 `json:"busy_p95_ms"`
	AddedMedianMs    float64 `json:"added_median_ms"`    // of the pairs' differences
	AddedMedianRatio float64 `json:"added_median_ratio"` // of the pairs' ratios, less 1
	AddedP95Ms       float64 `json:"added_p95_ms"`
	AddedP95Ratio    float64 `json:"added_p95_ratio"`
	// From the call to the first token, if one is generated.
	AloneFirstMedianMs    float64   `json:"alone_first_token_median_ms,omitempty"`
	BusyFirstMedianMs     float64   `json:"busy_first_token_median_ms,omitempty"`
	AddedFirstMedianMs    float64   `json:"added_first_token_median_ms,omitempty"`
	AddedFirstMedianRatio float64   `json:"added_first_token_median_ratio,omitempty"`
	WaitMedianMs          float64   `json:"wait_median_ms"`
	WaitP95Ms             float64   `json:"wait_p95_ms"`
	WaitMaxMs             float64   `json:"wait_max_ms"`
	BatchMs               float64   `json:"batch_ms"`      // mean over the background prompt
	LastBatchMs           float64   `json:"last_batch_ms"` // at its end, the longest
	Within                bool      `json:"within"`        // the longest wait is at most one mean batch and 20 ms
	AloneMs               []float64 `json:"alone_ms"`      // pair by pair
	BusyMs                []float64 `json:"busy_ms"`
}

func (r *preemptReport) fill(p *preempting) {
	for _, s := range p.front.Segments {
		r.Tokens += len(s.Tokens)
		if s.Slice != nil {
			r.StoredTokens += len(s.Tokens)
		}
	}
	r.Generated, r.Preempted, r.Missed = p.generated, p.preempted, p.missed
	alone, busy := p.alone.whole, p.busy.whole
	r.AloneMs, r.BusyMs = allMs(alone), allMs(busy)
	r.AloneMedianMs, r.AloneP95Ms = ms(median(alone)), ms(quantile(alone, 0.95))
	r.BusyMedianMs, r.BusyP95Ms = ms(median(busy)), ms(quantile(busy, 0.95))
	more, of := surplus(busy, alone), ratios(r.BusyMs, r.AloneMs)
	r.AddedMedianMs, r.AddedP95Ms = ms(median(more)), ms(quantile(more, 0.95))
	r.AddedMedianRatio, r.AddedP95Ratio = median(of)-1, quantile(of, 0.95)-1
	if p.generated > 0 {
		alone, busy := p.alone.first, p.busy.first
		r.AloneFirstMedianMs, r.BusyFirstMedianMs = ms(median(alone)), ms(median(busy))
		r.AddedFirstMedianMs = ms(median(surplus(busy, alone)))
		r.AddedFirstMedianRatio = median(ratios(allMs(busy), allMs(alone))) - 1
	}
	r.WaitMedianMs, r.WaitP95Ms, r.WaitMaxMs = ms(median(p.waits)), ms(quantile(p.waits, 0.95)), ms(quantile(p.waits, 1))
	r.Within = r.WaitMaxMs <= r.BatchMs+20
}

func allMs(ds []time.Duration) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = ms(d)
	}
	return out
}

func (r *preemptReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("model", "%s, split %d, %d threads", r.Model, r.Split, r.Threads)
	row("background", "%d tokens, one batch %.1f ms, the last %.1f ms", r.BackgroundTokens, r.BatchMs, r.LastBatchMs)
	row("question", "%d tokens, %d of them stored, %d generated", r.Tokens, r.StoredTokens, r.Generated)
	row("pairs", "%d, background work stopped %d times", r.Runs, r.Preempted)
	row("latency", "alone median %.1f ms, p95 %.1f ms; busy median %.1f ms, p95 %.1f ms", r.AloneMedianMs, r.AloneP95Ms, r.BusyMedianMs, r.BusyP95Ms)
	row("added", "median %.1f ms (%+.1f %%), p95 %.1f ms (%+.1f %%)", r.AddedMedianMs, 100*r.AddedMedianRatio, r.AddedP95Ms, 100*r.AddedP95Ratio)
	if r.Generated > 0 {
		row("first token", "alone median %.1f ms, busy median %.1f ms, added %.1f ms (%+.1f %%)",
			r.AloneFirstMedianMs, r.BusyFirstMedianMs, r.AddedFirstMedianMs, 100*r.AddedFirstMedianRatio)
	}
	row("wait", "median %.1f ms, p95 %.1f ms, max %.1f ms", r.WaitMedianMs, r.WaitP95Ms, r.WaitMaxMs)
	within := "within one batch and 20 ms"
	if !r.Within {
		within = "LONGER than one batch and 20 ms"
	}
	row("longest", "%s", within)
	return t.Flush()
}
