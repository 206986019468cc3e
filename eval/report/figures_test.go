package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

// figuresOf are the figures of a run's report.
func figuresOf(r *eval.Results) []eval.Figure { return Make(r).figures }

// find is the figure of an id.
func find(t *testing.T, figures []eval.Figure, id string) eval.Figure {
	t.Helper()
	i := slices.IndexFunc(figures, func(c eval.Figure) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no figure %q", id)
	}
	return figures[i]
}

func series(t *testing.T, p eval.Panel, name string) eval.Series {
	t.Helper()
	i := slices.IndexFunc(p.Series, func(s eval.Series) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("panel %q has no series %q", p.Title, name)
	}
	return p.Series[i]
}

func nearly() cmp.Option { return cmp.Options{cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateNaNs()} }

// The numbers of a figure are those that a person works out by hand.
func TestNumbers(t *testing.T) {
	figures, nan := figuresOf(tiny()), math.NaN()
	third := 1.0 / 3
	for _, c := range []struct {
		figure string
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
		{"one-cache", 1, "", []float64{170, 30, 10}},
		{"threshold", 2, "percache", []float64{40, 100}},
		{"threshold", 3, "percache", []float64{2 * third, 0}},
		{"stride", 2, "percached", []float64{(700 + 3*55) / 2.0 / 1000}},
		{"limit", 2, "ragcache", []float64{4}},
		{"limit", 3, "ragcache", []float64{1.5}},
		{"cases", 0, "percache", []float64{55, 10, 10}},
		{"cases", 1, "percache", []float64{55, 110, 165}},
		// meancache served 15 instead of 12 once, and the right answer once; percached
		// served one right answer.
		{"wrong-served", 0, "", []float64{0.5, 0}},
		{"tokens", 0, "of the prompt, computed", []float64{100, 65, 0, 0, 0}},
		{"tokens", 0, "of the prompt, reused", []float64{0, 35, 0, 0, 0}},
		{"overlap", 0, "in the same order", []float64{0.5, 0.5, 0}},
		{"overlap", 0, "in any order", []float64{0.5, 1, 0}},
		{"overlap", 0, "each chunk by itself", []float64{1, 1, 2 * third}},
		{"chunk-use", 0, "ann", []float64{1, 1, third, third, third}},
		{"likeness", 0, "all users", []float64{0.5, 1}},
		{"likeness", 1, "all users", []float64{third, 2 * third, 1}},
		{"projections", 1, "a prefill of naive", []float64{78.5, 168.5, 258.5, 348.5}},
	} {
		p := find(t, figures, c.figure).Panels[c.panel]
		if diff := cmp.Diff(c.want, series(t, p, c.series).Y, nearly()); diff != "" {
			t.Errorf("%s, panel %d, %q (-want +got):\n%s", c.figure, c.panel, c.series, diff)
		}
	}
	// 1,100 tokens before and 55 after each question, at 800 + 40·100 operations each.
	work := find(t, figures, "population").Panels[0]
	at := slices.Index(work.Labels, "percached")
	if diff := cmp.Diff([]float64{1100 * 4800 / 2e6, 4 * 55 * 4800 / 2e6}, []float64{work.Series[0].Y[at], work.Series[1].Y[at]}, nearly()); diff != "" || work.XLabel != "MFLOPs" {
		t.Errorf("population in %s (-want +got):\n%s", work.XLabel, diff)
	}
	// Of a token's 800, Q, K and V are 600, and n tokens attend to n(n+1)/2.
	share := series(t, find(t, figures, "projections").Panels[0], "projections to Q, K, V")
	if diff := cmp.Diff(600.0/(800+40*65/2), share.Y[0], nearly()); diff != "" {
		t.Errorf("share of the projections at 64 tokens (-want +got):\n%s", diff)
	}
}

// The repeats of a question count as one question, with their median as its latency.
// The order of the units on disk does not matter.
func TestRepeats(t *testing.T) {
	r := tiny()
	for _, total := range []float64{1000, 500} {
		again := r.Units[len(r.Units)-2] // ann's
		again.Repeat++
		again.Results = []eval.Result{{System: "naive", Answers: []eval.Answer{ms(total, 50, miss), ms(200, 50, miss), ms(300, 50, miss)}}}
		r.Units = slices.Insert(r.Units, 0, again)
	}
	r.Units[0].Repeat = 3
	figures := figuresOf(r)
	// Question 1 took 100, 1000 and 500.
	if got := find(t, figures, "latency-by-user").Panels[0].Series[0].Y[0]; got != (500+200+300+400)/4.0 {
		t.Errorf("naive's mean is %v", got)
	}
	one := find(t, figures, "latency-by-question")
	if !strings.Contains(one.Title, "ann") || !strings.Contains(one.Note, "Repeat 1.") {
		t.Errorf("not the questions of the first unit: %q: %s", one.Title, one.Note)
	}
}

// The figure of one question shows a question that hit both caches. If there is none,
// its bars are means, and the note says so.
func TestOneCache(t *testing.T) {
	r := tiny()
	r.Units[0].Results[2].Answers[1].Outcome = miss
	c := find(t, figuresOf(r), "one-cache")
	if diff := cmp.Diff([]float64{258.5, 28.5, 8.5}, series(t, c.Panels[0], "prefill").Y, nearly()); diff != "" || !strings.HasPrefix(c.Note, "Question 3 ") {
		t.Errorf("%s (-want +got):\n%s", c.Note, diff)
	}
	r.Units[0].Results[1].Answers[2].Outcome = miss
	c = find(t, figuresOf(r), "one-cache")
	if diff := cmp.Diff([]float64{1000/4.0 - 35 - 1.5, 28.5, 8.5}, series(t, c.Panels[0], "prefill").Y, nearly()); diff != "" || !strings.Contains(c.Note, "means") {
		t.Errorf("%s (-want +got):\n%s", c.Note, diff)
	}
}

// A failed answer has no latency, counts as wrong, and is counted in the note.
func TestFailures(t *testing.T) {
	r := tiny()
	r.Units[0].Results[0].Answers[0] = eval.Answer{Failure: secret}
	figures := figuresOf(r)
	latency := find(t, figures, "latency-by-user")
	if got := latency.Panels[1].Series[0].Y[0]; got != 250 {
		t.Errorf("the mean of 200 and 300 is %v", got)
	}
	for _, word := range []string{"naive 1 of 4", "meancache 1 of 4"} {
		if !strings.Contains(latency.Note, word) {
			t.Errorf("the note lacks %q: %s", word, latency.Note)
		}
	}
	// Only question 2 still has a right answer: "no zebra" and "zebra paid 12 dollars"
	// share one word.
	if got := find(t, figures, "quality").Panels[3].Series[0].Y[0]; got <= 0 || got > 0.25 {
		t.Errorf("naive's F1 with a failure is %v", got)
	}
}

// The stages, the time between them and the time outside of percached add up to the
// latency that the client saw.
func TestStagesAddUp(t *testing.T) {
	r := tiny()
	for i := range r.Units[0].Results[0].Answers {
		a := &r.Units[0].Results[0].Answers[i]
		a.Stages["total_ms"] = a.TotalMS - 0.25
		a.Stages["prefill_ms"] -= 10
	}
	p := find(t, figuresOf(r), "latency-by-question").Panels[0]
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

// The bootstrap draws questions with the same text as one.
func TestDraws(t *testing.T) {
	r := tiny()
	same := find(t, figuresOf(r), "latency-by-user").Panels[1].Series[0]
	for i := range r.Units[0].Asked {
		r.Units[0].Asked[i].Text += strings.Repeat("!", i)
	}
	others := find(t, figuresOf(r), "latency-by-user").Panels[1].Series[0]
	if same.Low[0] != 200 || same.High[0] != 200 || others.Low[0] >= 150 || others.High[0] <= 250 || others.Y[0] != same.Y[0] {
		t.Errorf("%v to %v; of three texts %v to %v", same.Low[0], same.High[0], others.Low[0], others.High[0])
	}
}

// A run without the data for a figure has none, and the report says why.
func TestMissing(t *testing.T) {
	if figures := figuresOf(&eval.Results{}); len(figures) > 0 {
		t.Errorf("nothing was asked, and there are %d figures", len(figures))
	}
	const subjects = 19
	full, none := Make(tiny()).NoFigures, Make(&eval.Results{}).NoFigures
	if len(full) != 1 || !strings.HasPrefix(full[0], "Figures 21 and 22") {
		t.Errorf("missing of a complete run: %q", full)
	}
	if len(none) != subjects+1 {
		t.Errorf("%d figures are missing of an empty run:\n%s", len(none), strings.Join(none, "\n"))
	}

	r := tiny()
	r.Run.Plan.NoQuality = true
	r.Run.Systems = r.Run.Systems[:4]
	r.Units[0].Likeness, r.Units[1].Likeness = nil, nil
	figures := figuresOf(r)
	said := strings.Join(Make(r).NoFigures, "\n")
	for id, why := range map[string]string{
		"threshold": "--systems thresholds", "stride": "--systems strides", "limit": "--systems limits", "cases": "--systems cases",
		"quality": "Figure 23 (", "wrong-served": "\nstored answers", "ablation": "percached-no-bank", "likeness": "Figures 2, 3, 5 and 6 (",
	} {
		if slices.ContainsFunc(figures, func(c eval.Figure) bool { return c.ID == id }) {
			t.Errorf("there is a figure %q", id)
		}
		if !strings.Contains(said, why) {
			t.Errorf("%s: %q is not among the missing figures:\n%s", id, why, said)
		}
	}
}

// A figure's ID names its files, so it is unique.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range figuresOf(tiny()) {
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
	c := compareRuns(both).figure(byMachine)
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
	// Two runs of the same model have different names.
	c = compareRuns(both).figure(byModel)
	if names := []string{c.Panels[0].Series[0].Name, c.Panels[0].Series[1].Name}; names[0] == names[1] || c.Panels[2].Title != "ROUGE-L" {
		t.Errorf("models: %q, panels %+v", names, c.Panels)
	}
}

// Of many users the first have a panel, and the note says how many.
func TestManyUsers(t *testing.T) {
	r := tiny()
	for i := range 20 {
		one := r.Units[1]
		one.User = "user" + strings.Repeat("x", i)
		r.Units = append(r.Units, one)
	}
	c := find(t, figuresOf(r), "latency-by-user")
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

// The drawings of a figure are the same each time, and have no text of the run's questions or
// answers.
func TestFigureFiles(t *testing.T) {
	figures := append(figuresOf(tiny()), compareRuns([]*eval.Results{tiny(), tiny()}).figure(byModel))
	for _, file := range figureFiles(figures) {
		var first, again bytes.Buffer
		if err := errors.Join(file.write(&first), file.write(&again)); err != nil {
			t.Fatalf("%s: %v", file.path, err)
		}
		if !bytes.Equal(first.Bytes(), again.Bytes()) {
			t.Errorf("%s: different bytes the second time", file.path)
		}
		if bytes.Contains(first.Bytes(), []byte(secret)) {
			t.Errorf("%s has text of the run", file.path)
		}
	}
}

// A name may hold any characters.
func TestStrangeNames(t *testing.T) {
	r := tiny()
	const odd = "b<o>b & \"co\"\x00\xff\n'x'"
	r.Units[1].User, r.Run.Users[1].Name = odd, odd
	f := find(t, figuresOf(r), "latency-by-user")
	if got := f.Panels[2].Title; got != `b<o>b & "co" ? 'x'` {
		t.Errorf("%q", got)
	}
	var drawn bytes.Buffer
	if err := figure.Draw(&drawn, &f, "svg", figure.Light()); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(drawn.Bytes(), new(struct{})); err != nil || !bytes.Contains(drawn.Bytes(), []byte("b&lt;o&gt;b")) {
		t.Errorf("%v", err)
	}
}
