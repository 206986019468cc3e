package selfcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/eval/systems"
)

// Expected results pass, and nothing is checked twice.
func TestCheck(t *testing.T) {
	findings := Check(perfect(t))
	var seen []string
	for _, f := range findings {
		if !f.OK {
			t.Errorf("%+v", f)
		}
		if slices.Contains(seen, f.What) {
			t.Errorf("twice: %s", f.What)
		}
		seen = append(seen, f.What)
	}
	if !Well(findings) || len(findings) < 100 || Well(nil) {
		t.Errorf("%d findings", len(findings))
	}
}

// A verified hit is a computed answer, with stored tensors or without.
func TestVerifiedHits(t *testing.T) {
	r, verified := perfect(t), 0
	for i := range r.Units[0].Results {
		res := &r.Units[0].Results[i]
		for j := range res.Answers {
			if a := &res.Answers[j]; res.System == reactive && a.Outcome != client.OutcomeAnswerHit {
				a.Outcome = client.OutcomeVerifiedHit
				verified++
			}
		}
	}
	for _, f := range Check(r) {
		if !f.OK || f.What == reactive+": verified hits, as reported" && f.Got != fmt.Sprint(verified) {
			t.Errorf("%d: %+v", verified, f)
		}
	}
}

// All systems are asked in the same way. The control is among them, and not in the group
// all.
func TestSystems(t *testing.T) {
	chosen, err := Systems()
	if err != nil {
		t.Fatal(err)
	}
	var controls []string
	for _, s := range chosen {
		if s.Poisoned {
			controls = append(controls, s.Name)
		}
		if *s.Settings.K != k || *s.Settings.Threshold != threshold {
			t.Errorf("%s: %+v", s.Name, s.Settings)
		}
	}
	if len(chosen) != len(expectations()) || !slices.Equal(controls, []string{systems.Poisoned}) {
		t.Errorf("%d systems, controls %v", len(chosen), controls)
	}
	all, err := systems.Choose("all")
	if err != nil || slices.ContainsFunc(all, func(s eval.System) bool { return s.Poisoned }) {
		t.Errorf("all: %+v, %v", all, err)
	}
}

// Every change is noticed, and each finding notices some change.
func TestCheckFails(t *testing.T) {
	failed := map[string]bool{}
	noticed := func(findings []Finding, what string) (found bool) {
		for _, f := range findings {
			if !f.OK {
				failed[f.What] = true
				found = found || strings.HasPrefix(f.What, what)
			}
		}
		return found
	}
	well := report.Make(perfect(t))
	batches := map[string][]tamper{}
	for i, x := range tampers() {
		if x.report == nil {
			batch := cmp.Or(x.batch, "tamper "+strconv.Itoa(i))
			batches[batch] = append(batches[batch], x)
			continue
		}
		findings := check(perfect(t), func(*eval.Results) *report.Report {
			rep := *well
			rep.Systems, rep.Questions = slices.Clone(rep.Systems), slices.Clone(rep.Questions)
			x.report(&rep)
			return &rep
		})
		if !noticed(findings, x.what) {
			t.Errorf("%s was not noticed", x.what)
		}
	}
	for batch, xs := range batches {
		r := perfect(t)
		for _, x := range xs {
			x.results(r)
		}
		findings := Check(r)
		for _, x := range xs {
			if !noticed(findings, x.what) {
				t.Errorf("%s: %s was not noticed", batch, x.what)
			}
		}
	}
	for _, f := range check(perfect(t), func(*eval.Results) *report.Report { return well }) {
		if !failed[f.What] {
			t.Errorf("never failed: %s", f.What)
		}
	}
}
