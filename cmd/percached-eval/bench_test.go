package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/selftest/selftesting"
)

func TestReuseJSON(t *testing.T) {
	o := reuse{
		source: selftest.Source{Model: "m"}, kv: "f16", placement: "parallel", planes: "qkv", chunks: 2, chunkTokens: 20, system: 10, suffix: 5,
		generate: 4, runs: 2, threads: 1, split: 64,
	}
	r, err := o.measure(context.Background(), selftesting.Opener("", ""), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.LogitsEqual || r.Tokens != 55 || r.StoredTokens != 50 || r.BytesPerToken == 0 {
		t.Errorf("%+v", r)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"cold_ms", "suffix_only_ms", "restore_ms", "warm_ms", "warm_disk_ms", "speedup", "overhead", "overhead_memory", "bytes_per_token",
		"logits_equal", "prefill_tokens_per_s", "decode_tokens_per_s", "bare_prefill_tokens_per_s", "bare_decode_tokens_per_s",
		"model", "kv", "placement", "chunks", "tokens",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "equal, bit for bit") {
		t.Error(err, out.String())
	}
}

func TestReuseSeesADifference(t *testing.T) {
	o := reuse{
		source: selftest.Source{Model: "m"}, kv: "f16", placement: "sequential", planes: "kv", chunks: 1, chunkTokens: 20, system: 10, suffix: 5,
		generate: 4, runs: 1, threads: 1, split: 64,
	}
	r, err := o.measure(context.Background(), selftesting.Opener("f16", ""), &bytes.Buffer{})
	if err != nil || r.LogitsEqual {
		t.Error("a wrong engine was called right", err)
	}
}

func TestPreempt(t *testing.T) {
	o := preempt{source: selftest.Source{Model: "m"}, background: 400, runs: 3, threads: 1, split: 64}
	r, err := o.measure(context.Background(), selftesting.Opener("", ""), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Runs != 3 || r.LastBatchMs != 1 || r.WaitMaxMs < r.WaitMedianMs {
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "400 tokens") {
		t.Error(err, out.String())
	}
}

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		xs    []int
		share float64
		want  int
	}{
		{nil, 0.5, 0},
		{[]int{7}, 0.95, 7},
		{[]int{3, 1, 2}, 0.5, 2},
		{[]int{4, 3, 1, 2}, 0.5, 2},
		{[]int{4, 3, 1, 2}, 1, 4},
		{[]int{4, 3, 1, 2}, 0, 1},
	} {
		if got := quantile(tc.xs, tc.share); got != tc.want {
			t.Errorf("quantile(%v, %v) = %d, want %d", tc.xs, tc.share, got, tc.want)
		}
	}
	if ratio(1, 0) != 0 || ratio(3, 2) != 1.5 {
		t.Error("ratio")
	}
}

func TestReportArithmetic(t *testing.T) {
	d := func(ns ...time.Duration) []time.Duration {
		for i := range ns {
			ns[i] *= time.Millisecond
		}
		return ns
	}
	m := &meter{
		o:    &reuse{planes: "kv"},
		cold: d(100, 300, 200), suffix: d(10, 20, 15), warm: d(18, 16, 12), warmDisk: d(20, 40, 25),
		restore: d(1, 1, 1), restoreDisk: d(2, 4, 3), prefill: []float64{5, 7, 6}, equal: true,
		slices: []*percached.Slice{{Tokens: make([]int32, 4), Pieces: []percached.Piece{{KV: make([]byte, 40)}}}},
	}
	r := m.report(percached.ModelInfo{})
	got := []float64{r.ColdMs, r.SuffixOnlyMs, r.WarmMs, r.WarmDiskMs, r.RestoreMs, r.Speedup, r.Overhead * 3, r.BytesPerToken, r.PrefillRate}
	if d := cmp.Diff([]float64{200, 15, 16, 25, 3, 8, 5, 10, 6}, got); d != "" {
		t.Error(d)
	}
}
