package figure_test

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
	"github.com/percached/percached/eval/systems"
)

// find gives the chart of an id.
func find(t *testing.T, charts []figure.Chart, id string) figure.Chart {
	t.Helper()
	i := slices.IndexFunc(charts, func(c figure.Chart) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no chart %q", id)
	}
	return charts[i]
}

func series(t *testing.T, p figure.Panel, name string) figure.Series {
	t.Helper()
	i := slices.IndexFunc(p.Series, func(s figure.Series) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("panel %q has no series %q", p.Title, name)
	}
	return p.Series[i]
}

func nearly() cmp.Option { return cmp.Options{cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateNaNs()} }

// The numbers of a chart are those that a person works out from the run.
func TestNumbers(t *testing.T) {
	charts, nan := figure.Charts(tiny()), math.NaN()
	third := 1.0 / 3
	for _, c := range []struct {
		chart  string
		panel  int
		series string
		want   []float64
	}{
		// naive, ragcache, meancache, percached, percached-no-bank
		{"latency-by-user", 0, "", []float64{250, 162.5, 130.0 / 3, 77.5, 100}},
		{"latency-by-user", 1, "", []float64{200, 250 * third, 130 * third, 70, 100}},
		{"latency-by-user", 2, "", []float64{400, 400, nan, 100, 100}},
		{"first-token", 2, "", []float64{350, 350, nan, 80, 80}},
		{"ablation", 0, "", []float64{77.5, 100}},
		{"latency-by-question", 0, "prefill", []float64{78.5, 168.5, 258.5}},
		{"latency-by-question", 0, "decode", []float64{20, 30, 40}},
		{"latency-by-question", 0, "retrieve", []float64{1, 1, 1}},
		{"latency-by-question", 0, "outside", []float64{0.5, 0.5, 0.5}},
		{"one-cache", 0, "prefill", []float64{168.5, 28.5, 8.5}},
		{"one-cache", 0, "first token", []float64{170, 30, 10}},
		{"threshold", 2, "percache", []float64{40, 100}},
		{"threshold", 3, "percache", []float64{2 * third, 0}},
		{"stride", 2, "percached", []float64{(700 + 3*55) / 2.0 / 1000}},
		{"limit", 2, "ragcache", []float64{4}},
		{"limit", 3, "ragcache", []float64{1.5}},
		{"cases", 0, "percache", []float64{55, 10, 10}},
		{"cases", 1, "percache", []float64{55, 110, 165}},
		// meancache served 15 for 12 once, and once what is right; percached served one that is right.
		{"wrong-served", 0, "", []float64{0.5, 0}},
		{"tokens", 0, "of the prompt, computed", []float64{100, 65, 0, 0, 0}},
		{"tokens", 0, "of the prompt, reused", []float64{0, 35, 0, 0, 0}},
		{"overlap", 0, "in the same order", []float64{0.5, 0.5, 0}},
		{"overlap", 0, "in any order", []float64{0.5, 1, 0}},
		{"overlap", 0, "each chunk for itself", []float64{1, 1, 2 * third}},
		{"chunk-use", 0, "ann", []float64{1, 1, third, third, third}},
		{"likeness", 0, "all users", []float64{0.5, 0.75}},
		{"likeness", 1, "all users", []float64{0.5, 0.25, 0.75}},
		{"projections", 1, "a prefill of naive", []float64{78.5, 168.5, 258.5, 348.5}},
	} {
		p := find(t, charts, c.chart).Panels[c.panel]
		if diff := cmp.Diff(c.want, series(t, p, c.series).Y, nearly()); diff != "" {
			t.Errorf("%s, panel %d, %q (-want +got):\n%s", c.chart, c.panel, c.series, diff)
		}
	}
	// 1,100 tokens before and 55 behind each question, at 800 + 40·100 operations each.
	work := find(t, charts, "population").Panels[0]
	at := slices.Index(work.Labels, "percached")
	if diff := cmp.Diff([]float64{1100 * 4800 / 2e6, 4 * 55 * 4800 / 2e6}, []float64{work.Series[0].Y[at], work.Series[1].Y[at]}, nearly()); diff != "" || work.XLabel != "MFLOPs" {
		t.Errorf("population in %s (-want +got):\n%s", work.XLabel, diff)
	}
	// Of a token's 800, Q, K and V are 600, and n tokens see n(n+1)/2.
	share := series(t, find(t, charts, "projections").Panels[0], "projections to Q, K and V")
	if diff := cmp.Diff(600.0/(800+40*65/2), share.Y[0], nearly()); diff != "" {
		t.Errorf("share of the projections at 64 tokens (-want +got):\n%s", diff)
	}
}

// The repeats of a question are one question, with their median as its latency, in
// whatever order they lie on disk.
func TestRepeats(t *testing.T) {
	r := tiny()
	for _, total := range []float64{1000, 500} {
		again := r.Units[len(r.Units)-2] // ann's
		again.Repeat++
		again.Results = []eval.Result{{System: "naive", Answers: []eval.Answer{ms(total, 50, miss), ms(200, 50, miss), ms(300, 50, miss)}}}
		r.Units = slices.Insert(r.Units, 0, again)
	}
	r.Units[0].Repeat = 3
	charts := figure.Charts(r)
	// Question 1 took 100, 1000 and 500.
	if got := find(t, charts, "latency-by-user").Panels[0].Series[0].Y[0]; got != (500+200+300+400)/4.0 {
		t.Errorf("naive's mean is %v", got)
	}
	one := find(t, charts, "latency-by-question")
	if !strings.Contains(one.Title, "ann") || !strings.Contains(one.Note, "Repeat 1,") {
		t.Errorf("one user's questions are those of the first unit, not of %q: %s", one.Title, one.Note)
	}
}

// One question with one cache is one for which both caches had something; where there
// is none, it is said that bars are means.
func TestOneCache(t *testing.T) {
	r := tiny()
	r.Units[0].Results[2].Answers[1].Outcome = miss
	c := find(t, figure.Charts(r), "one-cache")
	if diff := cmp.Diff([]float64{258.5, 28.5, 8.5}, series(t, c.Panels[0], "prefill").Y, nearly()); diff != "" || !strings.HasPrefix(c.Note, "Question 3 of user ann") {
		t.Errorf("%s (-want +got):\n%s", c.Note, diff)
	}
	r.Units[0].Results[1].Answers[2].Outcome = miss
	c = find(t, figure.Charts(r), "one-cache")
	if diff := cmp.Diff([]float64{1000/4.0 - 35 - 1.5, 28.5, 8.5}, series(t, c.Panels[0], "prefill").Y, nearly()); diff != "" || !strings.Contains(c.Note, "means") {
		t.Errorf("%s (-want +got):\n%s", c.Note, diff)
	}
}

// What failed has no latency, is wrong, and is named.
func TestFailures(t *testing.T) {
	r := tiny()
	r.Units[0].Results[0].Answers[0] = eval.Answer{Failure: secret}
	charts := figure.Charts(r)
	latency := find(t, charts, "latency-by-user")
	if got := latency.Panels[1].Series[0].Y[0]; got != 250 {
		t.Errorf("the mean of 200 and 300 is %v", got)
	}
	for _, word := range []string{"naive 1 of 4", "meancache 1 of 4"} {
		if !strings.Contains(latency.Note, word) {
			t.Errorf("%q does not tell of %q", latency.Note, word)
		}
	}
	// Question 2 alone has a right answer left, "no zebra", of "zebra paid 12 dollars": one word in common.
	if got := find(t, charts, "quality").Panels[2].Series[0].Y[0]; got <= 0 || got > 0.25 {
		t.Errorf("naive's F1 with a failure is %v", got)
	}
}

// What the client waited is made of stages, of what percached took between them, and of
// what is outside of its total.
func TestStagesAddUp(t *testing.T) {
	r := tiny()
	for i := range r.Units[0].Results[0].Answers {
		a := &r.Units[0].Results[0].Answers[i]
		a.Stages["total_ms"] = a.TotalMS - 0.25
		a.Stages["prefill_ms"] -= 10
	}
	p := find(t, figure.Charts(r), "latency-by-question").Panels[0]
	for name, want := range map[string][]float64{
		"prefill": {68.5, 158.5, 248.5}, "between": {10.25, 10.25, 10.25}, "outside": {0.25, 0.25, 0.25},
	} {
		if diff := cmp.Diff(want, series(t, p, name).Y, nearly()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for i := range 3 {
		sum := 0.0
		for _, s := range p.Series {
			sum += s.Y[i]
		}
		if want := r.Units[0].Results[0].Answers[i].TotalMS; math.Abs(sum-want) > 1e-9 {
			t.Errorf("question %d: %v of %v ms", i+1, sum, want)
		}
	}
}

// Questions of one text are drawn as one: of ann's three there is then one draw, and
// no other mean; of three texts there are others.
func TestDraws(t *testing.T) {
	r := tiny()
	same := find(t, figure.Charts(r), "latency-by-user").Panels[1].Series[0]
	for i := range r.Units[0].Asked {
		r.Units[0].Asked[i].Text += strings.Repeat("!", i)
	}
	others := find(t, figure.Charts(r), "latency-by-user").Panels[1].Series[0]
	if same.Low[0] != 200 || same.High[0] != 200 || others.Low[0] >= 150 || others.High[0] <= 250 || others.Y[0] != same.Y[0] {
		t.Errorf("%v to %v; of three texts %v to %v", same.Low[0], same.High[0], others.Low[0], others.High[0])
	}
}

// No two systems that a run can have look the same.
func TestColours(t *testing.T) {
	names, _ := systems.Names()
	r := &eval.Results{Units: []eval.Unit{{User: "ann", Asked: []eval.Asked{{Number: 1}}}}}
	for _, name := range names {
		r.Run.Systems = append(r.Run.Systems, eval.System{Name: name})
		r.Units[0].Results = append(r.Units[0].Results, eval.Result{System: name, Answers: []eval.Answer{ms(10, 2, miss)}})
	}
	of := map[color.Color]string{}
	p := find(t, figure.Charts(r), "latency-by-user").Panels[0]
	if !slices.Contains(p.Labels, "ragcache-parallel") {
		t.Fatal(p.Labels)
	}
	for i, c := range p.Colours {
		if of[c] != "" {
			t.Errorf("%s and %s have one colour", of[c], p.Labels[i])
		}
		of[c] = p.Labels[i]
	}
}

// A run without the data for a chart has none, and it is said why.
func TestMissing(t *testing.T) {
	if charts := figure.Charts(&eval.Results{}); len(charts) > 0 {
		t.Errorf("nothing was asked, and there are %d charts", len(charts))
	}
	const subjects = 19
	full, none := figure.Missing(tiny()), figure.Missing(&eval.Results{})
	if len(full) != 1 || !strings.HasPrefix(full[0], "Figures 21 and 22") {
		t.Errorf("missing of a run that has all: %q", full)
	}
	if len(none) != subjects+1 {
		t.Errorf("%d charts are missing of a run without anything:\n%s", len(none), strings.Join(none, "\n"))
	}

	r := tiny()
	r.Run.Plan.NoQuality = true
	r.Run.Systems = r.Run.Systems[:4]
	r.Units[0].Likeness, r.Units[1].Likeness = nil, nil
	charts := figure.Charts(r)
	said := strings.Join(figure.Missing(r), "\n")
	for id, why := range map[string]string{
		"threshold": "--systems thresholds", "stride": "--systems strides", "limit": "--systems limits", "cases": "--systems cases",
		"quality": "mean nothing", "wrong-served": "mean nothing", "ablation": "percached-no-bank", "likeness": "no likeness",
	} {
		if slices.ContainsFunc(charts, func(c figure.Chart) bool { return c.ID == id }) {
			t.Errorf("there is a chart %q", id)
		}
		if !strings.Contains(said, why) {
			t.Errorf("it is not said of %s that %q:\n%s", id, why, said)
		}
	}
}

// A chart's id names its files, so no two have the same.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range figure.Charts(tiny()) {
		if seen[c.ID] || c.ID == "" || strings.Trim(c.ID, "abcdefghijklmnopqrstuvwxyz-0123456789") != "" {
			t.Errorf("id %q", c.ID)
		}
		seen[c.ID] = true
	}
}

func TestSideBySide(t *testing.T) {
	a, b := tiny(), tiny()
	a.Run.Machine = eval.Machine{CPU: "Quick", CPUs: 8}
	b.Run.Machine = eval.Machine{CPU: "Slow", CPUs: 2}
	for i := range b.Units {
		for j := range b.Units[i].Results {
			for k := range b.Units[i].Results[j].Answers {
				b.Units[i].Results[j].Answers[k].TotalMS *= 2
			}
		}
	}
	both := []*eval.Results{a, b}
	if charts := figure.SideBySide(both[:1], figure.ByMachine); charts != nil {
		t.Error("one run stands beside itself")
	}
	c := figure.SideBySide(both, figure.ByMachine)[0]
	if diff := cmp.Diff([]float64{500, 325, 260.0 / 3, 155, 200}, series(t, c.Panels[0], "Slow, 2 CPUs").Y, nearly()); diff != "" {
		t.Errorf("latency (-want +got):\n%s", diff)
	}
	for _, name := range []string{"Quick, 8 CPUs", "Slow, 2 CPUs"} {
		if got := series(t, c.Panels[1], name).Y[4]; got != 0.4 {
			t.Errorf("%s: percached-no-bank takes %v of naive's", name, got)
		}
	}
	if !strings.Contains(c.Note, "differ in: machine.") {
		t.Errorf("note: %s", c.Note)
	}
	// The same model twice: both are told apart all the same.
	c = figure.SideBySide(both, figure.ByModel)[0]
	if names := []string{c.Panels[0].Series[0].Name, c.Panels[0].Series[1].Name}; names[0] == names[1] || c.Panels[2].Title != "ROUGE-L" {
		t.Errorf("models: %q, panels %+v", names, c.Panels)
	}
}

// Of very many users some have a panel, and it is said of how many.
func TestManyUsers(t *testing.T) {
	r := tiny()
	for i := range 20 {
		one := r.Units[1]
		one.User = "user" + strings.Repeat("x", i)
		r.Units = append(r.Units, one)
	}
	c := find(t, figure.Charts(r), "latency-by-user")
	if len(c.Panels) != 12 || c.Panels[0].Title != "all 22 users" || !strings.Contains(c.Note, "11 of 22 users") {
		t.Errorf("%d panels, the first one of %q: %s", len(c.Panels), c.Panels[0].Title, c.Note)
	}
	for _, p := range c.Panels {
		if p.Top != c.Panels[0].Top || p.Top < 400 {
			t.Errorf("panel %q has a scale to %v, the first one to %v", p.Title, p.Top, c.Panels[0].Top)
		}
	}
	if got, want := c.Panels[0].Series[0].Y[0], (100+200+300+21*400)/24.0; got != want {
		t.Errorf("all users' mean is %v, not %v", got, want)
	}
}
