package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// twice asks Ada's two questions nine times more, with other numbers.
func twice() *eval.Results {
	res := tiny()
	res.Units = res.Units[:1]
	u := &res.Units[0]
	for p := 1; p <= 9; p++ {
		for q := range 2 {
			u.Asked = append(u.Asked, eval.Asked{Number: 10*p + q, Text: " " + strings.ToUpper(u.Asked[q].Text)})
			for i := range u.Results {
				u.Results[i].Answers = append(u.Results[i].Answers, cold("some", []float64{100, 200}[q]))
			}
		}
	}
	return res
}

// Questions with the same text are drawn together, whatever their numbers.
func TestTextsHangTogether(t *testing.T) {
	l := system(t, report.Make(twice()), "naive").All.Latency
	if l.Of != 20 || l.Mean != 150 || l.Low != 100 || l.High != 200 {
		t.Errorf("%+v", l)
	}
	// Two groups cannot show a difference, although there are twenty questions.
	res := twice()
	with(res, "other", "naive", 2)
	c, err := report.Compare(res, res, report.Pair{A: "naive", B: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Systems[0].Measures[0]; m.Pairs != 20 || m.Diff != 150 || m.Test.Differ {
		t.Errorf("%+v %+v", m, m.Test)
	}
}

func TestHeaderCountsTexts(t *testing.T) {
	r := report.Make(twice())
	if u := r.Header.Users[0]; u.Asked != 20 || u.Texts != 2 || u.Repeated != 18 {
		t.Errorf("%+v", u)
	}
	if page := written(t, r.Markdown); !strings.Contains(page, "20 questions, 2 distinct texts (18 repeats") {
		t.Error(page)
	}
}

// The report counts the served answers whose question has the same words, and the
// refusals.
func TestBankWords(t *testing.T) {
	res := tiny()
	for i := range res.Units {
		mean := &res.Units[i].Results[3]
		for j := range mean.Answers {
			mean.Answers[j] = bank("some", "asked", 1)
			mean.Answers[j].Similarity = 1
		}
	}
	res.Units[2].Results[3].Answers[1].Similarity = 0.99 // in one repeat
	res.Units[1].Results[3].Answers[0].Refused = true
	res.Units[0].Results[0].Answers[0].Refused = true // not served
	r := report.Make(res)
	b := system(t, r, "meancache").All.Bank
	if b.Served != 3 || b.Same != 2 || b.Other != 1 || b.Refused != 1 {
		t.Errorf("%+v", b)
	}
	if page := written(t, r.Markdown); !strings.Contains(page, "| same words | other words | refusals |") || !strings.Contains(page, " 2 | 1 | 1 |\n") {
		t.Error(page)
	}
}

// Jobs are counted by kind, per user, before and after the questions.
func TestIdleKinds(t *testing.T) {
	res := tiny()
	for i := range res.Units {
		ours := &res.Units[i].Results[4]
		ours.Before.Kinds = []client.KindWork{
			{Kind: client.JobKindWarm, Done: 3, ComputedTokens: 60}, {Kind: client.JobKindAbstract, Done: 1, ComputedTokens: 40, GeneratedTokens: 10, Nothing: 9},
		}
		ours.Answers[0].After.Kinds = []client.KindWork{{Kind: client.JobKindWarm, Done: 1, ComputedTokens: 5, GeneratedTokens: 1}}
	}
	r := report.Make(res)
	want := []report.Kind{{Kind: "abstract", Done: 1, Tokens: 50}, {Kind: "warm", Done: 4, Tokens: 66}}
	if d := cmp.Diff(want, system(t, r, "percached").All.Idle.Kinds); d != "" {
		t.Error(d)
	}
	page := written(t, r.Markdown)
	for _, want := range []string{"| abstract | warm |\n", "| 1.0 (50) | 4.0 (66) |\n", "| - | - |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if d := cmp.Diff([]report.Kind{}, system(t, r, "naive").All.Idle.Kinds); d != "" {
		t.Error(d)
	}
}

// The first token includes the prefill, which must not count twice.
func TestHeldUp(t *testing.T) {
	res := tiny()
	each(res, func(_ string, _ int, a *eval.Answer) {
		if a.Failure == "" {
			a.Stages["first_token_ms"] = 1000
		}
	})
	h := report.Make(res).Headline
	if h.Best.Stages[0].Stage != "between" {
		t.Errorf("%+v", h.Best.Stages)
	}
	sum := 0.0
	for _, s := range h.Best.Stages {
		if s.Stage == "first_token" {
			t.Error("the first token includes other stages")
		}
		sum += s.Theirs
	}
	near(t, "all stages of meancache", sum, (90+1+194)/3.0)
}

// A run without repeats has one more note.
func TestNotes(t *testing.T) {
	res := tiny()
	n := len(report.Make(res).Notes)
	res.Run.Plan.Repeats = 1
	if once := len(report.Make(res).Notes); once != n+1 {
		t.Errorf("%d notes, and %d if each question is asked once", n, once)
	}
}
