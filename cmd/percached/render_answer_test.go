package main

import (
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// Unknown energy is not printed as zero, nor is very little.
func TestPrintEnergyOfAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		joules *float64
		want   string
	}{
		{nil, "energy    unknown"},
		{new(12.345), "energy    12.35 J\n"},
		{new(0.004), "energy    below 0.01 J\n"},
	} {
		var out strings.Builder
		printExplanation(&cmdline.Printer{W: &out}, &client.Answer{Joules: tc.joules})
		if !strings.Contains(out.String(), tc.want) {
			t.Errorf("%q is not in %s", tc.want, out.String())
		}
	}
}
