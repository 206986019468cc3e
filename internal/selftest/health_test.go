package selftest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/llmtest"
)

// measurable is a fake engine that can give wrong logits.
type measurable struct {
	llm.Engine
	wrong bool // warm runs return other logits
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

// opening returns an opener of fakes. One type may be wrong, one refused.
func opening(wrong, refused string) Opener {
	return func(_ context.Context, c llamacpp.Config) (Engine, error) {
		if c.KeyType == refused {
			return nil, fault.New(fault.Unsupported, "fake", "heads of 10 numbers")
		}
		o := llmtest.DefaultOptions()
		o.Name = "fake " + c.KeyType
		return measurable{llmtest.NewFake(o), c.KeyType == wrong}, nil
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
		{name: "wrong", wrong: "q8_0", types: []string{"f16", "q4_0"}, fail: "sequential, warm from memory: the logits differ"},
		{name: "refused", refused: "q4_0", ok: true, types: []string{"f16", "q8_0"}, warn: "heads of 10 numbers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &Health{CPU: tc.cpu}
			if err := h.Examine(context.Background(), opening(tc.wrong, tc.refused), &Source{Model: "m"}, &bytes.Buffer{}); err != nil {
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

// contains says that a line contains part. An empty part means no lines.
func contains(lines []string, part string) bool {
	if part == "" {
		return len(lines) == 0
	}
	return slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, part) })
}
