package selftest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/selftest/selftesting"
	"github.com/percached/percached/llm/llamacpp"
)

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
			h := &selftest.Health{CPU: tc.cpu, Full: true}
			if err := h.Examine(context.Background(), selftesting.Opener(tc.wrong, tc.refused), &selftest.Source{Model: "m"}, &bytes.Buffer{}); err != nil {
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

// Without --full doctor tests the first type alone, and says so.
func TestDoctorBriefly(t *testing.T) {
	for wrong, ok := range map[string]bool{"": true, "q8_0": true, "f16": false} {
		h := &selftest.Health{}
		if err := h.Examine(context.Background(), selftesting.Opener(wrong, ""), &selftest.Source{Model: "m"}, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		h.Conclude()
		var out bytes.Buffer
		if err := h.Table(&out); err != nil || h.OK != ok || len(h.Types) != 1 || !strings.Contains(out.String(), "not tested; percached doctor --full") {
			t.Errorf("wrong %q: %v, ok %v, %s", wrong, err, h.OK, out.String())
		}
	}
}

// contains says that a line contains part. An empty part means no lines.
func contains(lines []string, part string) bool {
	if part == "" {
		return len(lines) == 0
	}
	return slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, part) })
}
