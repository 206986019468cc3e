package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/selftest/selftesting"
	"github.com/percached/percached/llm/llamacpp"
)

// What the command prints of a real model hangs together.
func TestPreemptJSON(t *testing.T) {
	cmd := preemptCommand(selftest.OpenLlama)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{
		"--shape", "tiny", "--cache", t.TempDir(), "--background-tokens", "400", "--tokens", "200", "--stored", "0.75",
		"--generate", "5", "--runs", "4", "--threads", "1", "--json",
	})
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"shape", "quant", "model", "background_tokens", "tokens", "stored_tokens", "generated", "split", "threads", "runs", "preempted", "missed",
		"alone_median_ms", "alone_p95_ms", "busy_median_ms", "busy_p95_ms", "added_median_ms", "added_median_ratio", "added_p95_ms", "added_p95_ratio",
		"alone_first_token_median_ms", "busy_first_token_median_ms", "added_first_token_median_ms", "added_first_token_median_ratio",
		"wait_median_ms", "wait_p95_ms", "wait_max_ms", "batch_ms", "last_batch_ms", "within", "alone_ms", "busy_ms",
	} {
		if _, ok := fields[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	var r preemptReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Runs != 4 || r.Preempted != 4 || r.Tokens != 200 || r.StoredTokens != 150 || r.Generated != 5 || len(r.AloneMs) != 4 || len(r.BusyMs) != 4 {
		t.Errorf("%+v", r)
	}
	var more, of []float64
	for i := range r.AloneMs {
		more, of = append(more, r.BusyMs[i]-r.AloneMs[i]), append(of, r.BusyMs[i]/r.AloneMs[i]-1)
	}
	want := []float64{
		median(r.AloneMs), quantile(r.AloneMs, 0.95), median(r.BusyMs), quantile(r.BusyMs, 0.95),
		median(more), quantile(more, 0.95), median(of), quantile(of, 0.95),
	}
	got := []float64{
		r.AloneMedianMs, r.AloneP95Ms, r.BusyMedianMs, r.BusyP95Ms,
		r.AddedMedianMs, r.AddedP95Ms, r.AddedMedianRatio, r.AddedP95Ratio,
	}
	if d := cmp.Diff(want, got, near); d != "" {
		t.Error(d)
	}
	if r.AloneFirstMedianMs > r.AloneMedianMs || r.BusyFirstMedianMs > r.BusyMedianMs || r.WaitMaxMs > slices.Max(r.BusyMs) {
		t.Errorf("a part is longer than the whole: %+v", r)
	}
}

// near forgives what rounding does.
var near = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })

func TestPreemptArithmetic(t *testing.T) {
	d := func(ns ...time.Duration) []time.Duration {
		for i := range ns {
			ns[i] *= time.Millisecond
		}
		return ns
	}
	p := &preempting{
		alone: latencies{whole: d(100, 200, 400), first: d(10, 20, 40)},
		busy:  latencies{whole: d(105, 220, 400), first: d(11, 24, 42)},
		waits: d(1, 3, 2), generated: 3,
	}
	r := &preemptReport{BatchMs: 5}
	r.fill(p)
	got := []float64{
		r.AloneMedianMs, r.BusyMedianMs, r.AddedMedianMs, r.AddedMedianRatio, r.AddedP95Ms, r.AddedP95Ratio,
		r.AddedFirstMedianMs, r.AddedFirstMedianRatio, r.WaitMedianMs, r.WaitMaxMs,
	}
	if d := cmp.Diff([]float64{200, 220, 5, 0.05, 20, 0.1, 2, 0.1, 2, 3}, got, near); d != "" {
		t.Error(d)
	}
	if !r.Within {
		t.Error("a wait of 3 ms is longer than 25 ms")
	}
}

// watched knows how much background work is under way, and may not do it.
type watched struct {
	selftest.Engine
	lazy  bool
	under atomic.Int32
	found func(under int32) // called as a question comes
}

func (w *watched) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	if p.Priority != percached.Background {
		return w.Engine.Prefill(ctx, p)
	}
	w.under.Add(1)
	defer w.under.Add(-1)
	if w.lazy {
		return percached.Result{}, nil
	}
	return w.Engine.Prefill(ctx, p)
}

func (w *watched) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	w.found(w.under.Load())
	return w.Engine.Generate(ctx, p, emit)
}

// amidst makes a measurement on a fake.
func amidst(t *testing.T, w *watched) *preempting {
	t.Helper()
	ctx := context.Background()
	e, err := selftesting.Opener("", "")(ctx, llamacpp.Default())
	if err != nil {
		t.Fatal(err)
	}
	w.Engine = e
	o := preempt{tokens: 100, stored: 0.5, generate: 3}
	front, err := o.question(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	segs, err := selftest.ExactPrompt(w, 2, segmented(3000)...)
	if err != nil {
		t.Fatal(err)
	}
	return newPreempting(w, selftest.WithCapture(percached.Prompt{Segments: segs, Priority: percached.Background}), front, time.Millisecond, io.Discard)
}

// No background work is left when a question is asked alone.
func TestAloneIsAlone(t *testing.T) {
	w := &watched{}
	p := amidst(t, w)
	for range 20 {
		w.found = func(int32) {}
		if err := p.disturbed(context.Background(), p.moment()); err != nil {
			t.Fatal(err)
		}
		w.found = func(under int32) {
			if under != 0 {
				t.Error("background work was left")
			}
		}
		if err := p.undisturbed(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if p.preempted != 20 || len(p.busy.whole) != 20 || len(p.alone.whole) != 20 || len(p.waits) != 20 {
		t.Errorf("%+v", p)
	}
}

// Questions that found nothing to stop are not measured.
func TestPreemptFindsNothing(t *testing.T) {
	p := amidst(t, &watched{lazy: true, found: func(int32) {}})
	err := p.run(context.Background(), 1)
	if fault.KindOf(err) != fault.Unavailable || p.missed != preemptTries || len(p.busy.whole) != 0 {
		t.Errorf("%v, %d missed, %d measured", err, p.missed, len(p.busy.whole))
	}
}
