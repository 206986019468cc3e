package main

import (
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// Each state is explained, with what the user can do.
func TestPrintGate(t *testing.T) {
	for name, tc := range map[string]struct {
		g    client.GateReport
		want []string
		not  string
	}{
		"calibrated": {
			client.GateReport{MaxWrong: 0.005, State: client.GateReportStateCalibrated, Threshold: 0.9312, Served: 120, Checked: 34, Wrong: 1, Estimate: 0.006, Low: 0.001, High: 0.0191},
			[]string{
				"max_wrong  0.5 %:", "calibrated: the estimate rests mostly on the calibration that comes with percached", "from a score of 0.931 on",
				"returned   120 ", "checked    34 ", "wrong      1 ", "estimate   0.6 % wrong (95 %: 0.1 % to 1.91 %)", "lower max_wrong", "max_wrong=0.025",
			},
			"only exact repeats",
		},
		"learnt": {
			client.GateReport{MaxWrong: 0.5, State: client.GateReportStateLearnt, Threshold: 0.5},
			[]string{"learnt: the estimate rests mostly on answers of this space that were checked", "spaces set mail max_wrong=1"},
			"only exact repeats",
		},
		"shut": {
			client.GateReport{MaxWrong: 0.01, State: client.GateReportStateShut, Threshold: 2, Checked: 50, Wrong: 9},
			[]string{"shut: too many checked answers were wrong", "only exact repeats and questions that clearly mean the same", "You need not do anything", "max_wrong=0.05"},
			"estimate",
		},
		"proven": {
			client.GateReport{MaxWrong: 0.01, State: client.GateReportStateProven, Threshold: 2},
			[]string{"proven: only answers that are proven", "idle work checks", "max_wrong=0.05"},
			"estimate",
		},
		"zero": {
			client.GateReport{State: client.GateReportStateProven, Threshold: 2},
			[]string{"max_wrong  0 %:", "raise max_wrong:", "max_wrong=0.01"},
			"estimate",
		},
	} {
		var out strings.Builder
		p := &cmdline.Printer{W: &out}
		printGate(p, "mail", &tc.g)
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in:\n%s", name, want, out.String())
			}
		}
		if strings.Contains(out.String(), tc.not) {
			t.Errorf("%s: %q in:\n%s", name, tc.not, out.String())
		}
	}
}
