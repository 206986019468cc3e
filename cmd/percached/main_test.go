package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/percached/percached/internal/selftest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/percached/percached"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"percached": func() { os.Exit(status()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: pullServer, Cmds: scriptCommands})
}

func TestExitStatus(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	here, detail := context.Background(), "there is none"
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
		says string
	}{
		{"well", here, nil, 0, ""},
		{"unwell", here, cmdline.Unwell{}, 1, ""},
		{"misuse", here, cmdline.Misusef("no %s", "way"), 2, "percached: no way; see percached --help\n"},
		{"fault", here, fault.Wrap("a", fault.New(fault.Invalid, "b", "it is wrong")), 1, "percached: it is wrong\n"},
		{"plain", here, errors.New("oh"), 1, "percached: oh\n"},
		{"signal", gone, fault.Wrap("a", context.Canceled), 130, "percached: interrupted\n"},
		{"unwell over the interface", here, cmdline.Unwell{}, 1, ""},
		{"missing", here, fault.New(fault.NotFound, "b", "it is nowhere"), 3, "percached: it is nowhere\n"},
		{"full", here, fault.New(fault.Overloaded, "b", "too many"), 4, "percached: too many\n"},
		{"no room", here, fault.New(fault.Unavailable, "b", "the disk is full: %w", syscall.ENOSPC), 4, "percached: the disk is full: no space left on device\n"},
		{"wrongly set", here, cmdline.Misused(fault.New(fault.Invalid, "b", "it does not fit")), 2, "percached: it does not fit; see percached --help\n"},
		{"in use", here, fault.New(fault.Conflict, "b", "%w", &home.InUse{Who: "process 7", Dir: "d"}), 4, "percached: process 7 uses d: wait until it ends, end it, or name another folder with --data\n"},
		{"refused", here, &client.ProblemError{Problem: client.Problem{Status: 400, Title: "Wrong", Errors: []client.FieldError{{Field: "/k", Detail: "too much"}, {Field: "query:n", Detail: "too little"}}}}, 2, "percached: Wrong: k: too much; n: too little; see percached --help\n"},
		{"not there", here, &client.ProblemError{Problem: client.Problem{Status: 404, Title: "Gone", Detail: &detail}}, 3, "percached: there is none\n"},
		{"not now", here, fmt.Errorf("so: %w", &client.ProblemError{Problem: client.Problem{Status: 503, Title: "Not now"}}), 4, "percached: Not now\n"},
		{"broken", here, &client.ProblemError{Problem: client.Problem{Status: 500, Title: "Broken"}}, 1, "percached: Broken\n"},
	} {
		var out bytes.Buffer
		if got := finish(tc.ctx, tc.err, &out); got != tc.want || out.String() != tc.says {
			t.Errorf("%s: status %d, says %q", tc.name, got, out.String())
		}
	}
}

// measurable is the fake, in which some types of K/V can be broken.
type measurable struct {
	llm.Engine
	wrong bool // warm runs give other logits
}

func (m measurable) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	r, err := m.Engine.Prefill(ctx, p)
	return m.spoil(p, r), err
}

func (m measurable) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	r, err := m.Engine.Generate(ctx, p, emit)
	return m.spoil(p, r), err
}

func (m measurable) spoil(p percached.Prompt, r percached.Result) percached.Result {
	if m.wrong && p.Segments[0].Slice != nil && len(r.Logits) > 0 {
		r.Logits[0]++
	}
	return r
}

func (m measurable) SuffixOnly(context.Context, percached.Prompt, int) ([]time.Duration, error) {
	return []time.Duration{time.Millisecond}, nil
}

func (m measurable) BareLoop(context.Context, []int32, int) (prefill, decode time.Duration, err error) {
	return time.Second, time.Second, nil
}

// opening gives fakes; a type may be wrong or refused.
func opening(wrong, refused string) selftest.Opener {
	return func(_ context.Context, c llamacpp.Config) (selftest.Engine, error) {
		if c.KeyType == refused {
			return nil, fault.New(fault.Unsupported, "fake", "heads of 10 numbers")
		}
		o := llmtest.DefaultOptions()
		o.Name = "fake " + c.KeyType
		return measurable{llmtest.NewFake(o), c.KeyType == wrong}, nil
	}
}

func TestReuseJSON(t *testing.T) {
	o := reuse{
		source: selftest.Source{Model: "m"}, kv: "f16", placement: "parallel", planes: "qkv", chunks: 2, chunkTokens: 20, system: 10, suffix: 5,
		generate: 4, runs: 2, threads: 1, split: 64,
	}
	r, err := o.measure(context.Background(), opening("", ""), &bytes.Buffer{})
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
	r, err := o.measure(context.Background(), opening("f16", ""), &bytes.Buffer{})
	if err != nil || r.LogitsEqual {
		t.Error("a wrong engine was called right", err)
	}
}

func TestPreempt(t *testing.T) {
	o := preempt{source: selftest.Source{Model: "m"}, background: 400, runs: 3, threads: 1, split: 64}
	r, err := o.measure(context.Background(), opening("", ""), &bytes.Buffer{})
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

func TestDoctor(t *testing.T) {
	idle := llamacpp.CPUReport{Idle: []string{"avx2"}, Cure: "build it"}
	for _, tc := range []struct {
		name           string
		cpu            llamacpp.CPUReport
		wrong, refused string
		ok             bool
		types          []string
		warn, fail     string
	}{
		{name: "well", ok: true, types: []string{"f16", "q8_0", "q4_0"}},
		{name: "idle", cpu: idle, ok: true, types: []string{"f16", "q8_0", "q4_0"}, warn: "avx2"},
		{name: "missing", cpu: llamacpp.CPUReport{Missing: []string{"avx"}}, types: []string{}, fail: "lacks (avx)"},
		{name: "wrong", wrong: "q8_0", types: []string{"f16", "q4_0"}, fail: "q8_0 failed the self-test and is off: sequential, warm from memory: the logits differ"},
		{name: "refused", refused: "q4_0", ok: true, types: []string{"f16", "q8_0"}, warn: "q4_0 is off: heads of 10 numbers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &selftest.Health{CPU: tc.cpu}
			if err := h.Examine(context.Background(), opening(tc.wrong, tc.refused), &selftest.Source{Model: "m"}, &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
			h.Conclude()
			if h.OK != tc.ok || !contains(h.Warnings, tc.warn) || !contains(h.Failures, tc.fail) {
				t.Errorf("ok %v, warnings %q, failures %q", h.OK, h.Warnings, h.Failures)
			}
			if d := cmp.Diff(tc.types, h.Config.KVTypes); d != "" {
				t.Error(d)
			}
			var out bytes.Buffer
			if err := h.Table(&out); err != nil || !strings.Contains(out.String(), fmt.Sprintf("kv_types: [%s]", strings.Join(tc.types, ", "))) {
				t.Error(err, out.String())
			}
		})
	}
}

// contains: one of the lines holds part, or there is neither.
func contains(lines []string, part string) bool {
	if part == "" {
		return len(lines) == 0
	}
	return slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, part) })
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
