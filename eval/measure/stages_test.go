package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval/measure"
)

// Of the 12 ms that a client waited percached took 10, and 7 of these in stages; the
// first token is no stage of its own.
func TestRest(t *testing.T) {
	for _, tc := range []struct {
		name         string
		stages, want map[string]float64
	}{
		{
			"both",
			map[string]float64{"retrieve": 2, "prefill": 5, "first_token": 7, "total": 10},
			map[string]float64{"retrieve": 2, "prefill": 5, "first_token": 7, "total": 10, measure.Between: 3, measure.Outside: 2},
		},
		{
			"stages that overlap",
			map[string]float64{"prefill": 9, "decode": 6, "total": 14},
			map[string]float64{"prefill": 9, "decode": 6, "total": 14, measure.Between: 0, measure.Outside: 0},
		},
		{"no total", map[string]float64{"prefill": 5}, map[string]float64{"prefill": 5}},
	} {
		measure.Rest(tc.stages, 12)
		if d := cmp.Diff(tc.want, tc.stages, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}
