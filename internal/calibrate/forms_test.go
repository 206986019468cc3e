package calibrate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/calibrate"
)

// losses records this many questions, with a loss that is twice as much every other time.
func losses(t *testing.T, b *calibrate.Book, s calibrate.Subject, n int, q8, q4 float64) calibrate.Record {
	t.Helper()
	var r calibrate.Record
	for i := range n {
		x := float64(i%2+1) / 1.5
		trial := calibrate.FormTrial{percached.Q8: {Same: i%4 > 0, Nats: q8 * x}, percached.Q4: {Same: i%2 > 0, Nats: q4 * x}}
		var err error
		if r, err = b.AddForm(s, trial, "cursor", time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		q8, q4 float64
		form   percached.Form
		open   int
	}{
		"none yet":                    {0, 0, 0, percached.Exact, 24},
		"too few":                     {23, 0.001, 0.001, percached.Exact, 1},
		"both lose little":            {24, 0.005, 0.01, percached.Q4, 0},
		"the smaller loses much":      {24, 0.005, 0.05, percached.Q8, 0},
		"both lose much":              {24, 0.05, 0.08, percached.Exact, 0},
		"near the bound":              {24, 0.005, 0.0195, percached.Q8, 24},
		"near the bound to the end":   {96, 0.005, 0.0199, percached.Q8, 0},
		"a form needs the one before": {24, 0.05, 0.001, percached.Exact, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := open(t)
			s := calibrate.Subject{Model: "m", Prompt: "p", Kind: "mail"}
			r := losses(t, b, s, c.n, c.q8, c.q4)
			if r.Form(1) != c.form || r.FormsOpen() != c.open {
				t.Errorf("form %s, %d open; want %s, %d", r.Form(1), r.FormsOpen(), c.form, c.open)
			}
		})
	}
}

// Placements and forms of one subject are measured apart.
func TestFormsLeavePlacementsAlone(t *testing.T) {
	b, _ := open(t)
	s := calibrate.Subject{Model: "m", Prompt: "p", Kind: "mail"}
	for range 24 {
		if _, err := b.Add(s, calibrate.Trial{Sequential: 0.5, Parallel: 0.5}, "c", false, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r := losses(t, b, s, 24, 0.005, 0.01)
	if r.Verdict != calibrate.Parallel || len(r.Trials) != 24 || r.Form(0.5) != percached.Q4 || r.Form(0.3) != percached.Q8 || r.Form(0.02) != percached.Exact {
		t.Errorf("%s after %d trials, form %s", r.Verdict, len(r.Trials), r.Form(0.5))
	}
	want := []calibrate.FormResult{
		{Form: percached.Q8, Questions: 24, Same: 18, Nats: 0.005, Decided: true, Allowed: true},
		{Form: percached.Q4, Questions: 24, Same: 12, Nats: 0.01, Decided: true, Allowed: true},
	}
	round := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff(want, r.FormResults(), round); d != "" {
		t.Error(d)
	}
	if r, err := b.EndForms(s, 40); err != nil || r.FormsLacking != 40 || r.Verdict != calibrate.Parallel {
		t.Errorf("%+v, %v", r, err)
	}
}
