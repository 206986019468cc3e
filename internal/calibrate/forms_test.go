package calibrate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/calibrate"
)

// losses records this many questions, with a loss that is twice as much every other time.
func losses(t *testing.T, b *calibrate.Book, s calibrate.Subject, p percached.Placement, n int, q8, q4 float64) calibrate.Record {
	t.Helper()
	var r calibrate.Record
	for i := range n {
		x := float64(i%2+1) / 1.5
		trial := calibrate.FormTrial{percached.Q8: {Same: i%4 > 0, Nats: q8 * x}, percached.Q4: {Same: i%2 > 0, Nats: q4 * x}}
		var err error
		if r, err = b.AddForm(s, p, trial, "cursor", time.Unix(1, 0)); err != nil {
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
			r := losses(t, b, s, percached.Parallel, c.n, c.q8, c.q4)
			if f := r.Forms[percached.Parallel]; f.Form(1) != c.form || f.Open() != c.open {
				t.Errorf("form %s, %d open; want %s, %d", f.Form(1), f.Open(), c.form, c.open)
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
	r := losses(t, b, s, percached.Parallel, 24, 0.005, 0.01)
	f := r.Forms[percached.Parallel]
	if r.Verdict != calibrate.Parallel || len(r.Trials) != 24 || f.Form(0.5) != percached.Q4 || f.Form(0.3) != percached.Q8 || f.Form(0.02) != percached.Exact {
		t.Errorf("%s after %d trials, form %s", r.Verdict, len(r.Trials), f.Form(0.5))
	}
	want := []calibrate.FormResult{
		{Form: percached.Q8, Questions: 24, Same: 18, Nats: 0.005, Decided: true, Allowed: true},
		{Form: percached.Q4, Questions: 24, Same: 12, Nats: 0.01, Decided: true, Allowed: true},
	}
	round := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff(want, f.Results(), round); d != "" {
		t.Error(d)
	}
	if r, err := b.EndForms(s, percached.Parallel, 40); err != nil || r.Forms[percached.Parallel].Lacking != 40 || r.Verdict != calibrate.Parallel {
		t.Errorf("%+v, %v", r, err)
	}
}

// What packing changes in one placement says nothing about the other, also after the book was
// opened again.
func TestFormsOfEachPlacement(t *testing.T) {
	b, db := open(t)
	s := calibrate.Subject{Model: "m", Prompt: "p", Kind: "mail"}
	before := losses(t, b, s, percached.Sequential, 24, 0.005, 0.01)
	if f := before.Forms[percached.Parallel]; f.Form(1) != percached.Exact || f.Open() != 24 {
		t.Errorf("parallel tensors have form %s after questions in sequential placement, %d open", f.Form(1), f.Open())
	}
	losses(t, b, s, percached.Parallel, 24, 0.005, 0.05)
	if n := len(before.Forms); n != 1 {
		t.Errorf("a record that Get returned has forms of %d placements now", n)
	}
	again, err := calibrate.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[percached.Placement]percached.Form{percached.Sequential: percached.Q4, percached.Parallel: percached.Q8} {
		r := again.Get(s)
		if f := r.Forms[p]; f.Form(1) != want || f.Open() != 0 || f.Cursor != "cursor" {
			t.Errorf("%s: form %s, %d open; want %s", p, f.Form(1), f.Open(), want)
		}
	}
}
