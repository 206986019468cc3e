package trial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// idles are a system without idle work, one that predicts, and one that does all.
func idles() []eval.System {
	all := plain("naive", "percached", "percache", "sleep-time")
	all[1].Idle, all[2].Idle, all[3].Idle = eval.IdleAll, eval.IdlePredict, eval.IdlePredict
	return all
}

const (
	before1  = " works: kind=abstract jobs= tokens="
	before2  = " works: kind=predict jobs=1 tokens="
	before3  = " works: kind=populate,decode jobs= tokens="
	behind   = " works: kind=history,populate,decode,restore jobs= tokens="
	whatever = " works: kind= jobs= tokens="
)

// Section 5.3's work, and as many tokens of any work for those that do all. PerCache is
// first and sets the limit.
func TestIdleWork(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	overshot := 7
	s.drained = func(space, kinds string) client.Drained {
		d := client.Drained{Seconds: 0.5, Failed: 1, BytesWritten: 9, Reasons: []client.Reason{{Code: "nothing_due", Text: "all done"}}}
		switch {
		case space == "s1": // more than allowed: a job is finished
			d.ComputedTokens, overshot = 1000*overshot, 0
			d.Reasons[0].Code = "bound"
		case kinds == "abstract":
			d.ComputedTokens, d.GeneratedTokens, d.Kinds = 100, 10, []client.KindWork{{Kind: "abstract", Done: 2, ComputedTokens: 100, GeneratedTokens: 10, Seconds: 0.5}}
		case kinds == "predict":
			d.ComputedTokens, d.Kinds = 200, []client.KindWork{{Kind: "predict", Done: 1, Nothing: 3, Preempted: 4, Failed: 5, Parked: 6, ComputedTokens: 200, Questions: 5, BytesWritten: 7}}
		default:
			d.ComputedTokens = 1000
		}
		return d
	}
	r := lead(t, s.setup(t, idles(), "p?", "q?", "r?"))
	round := func(space string) (out []string) {
		return []string{space + before1, space + before2, space + before3, space + before1, space + before2, space + before3}
	}
	// PerCache spends 2*(100+10+200+1000) = 2620 before, and 1000 after each question.
	// percached spends 7000 for the 2620, and must wait until PerCache has spent more.
	want := slices.Concat(round("s2"), []string{"s1" + whatever + "2620"}, round("s3"))
	for range 3 {
		want = append(want, "s2"+behind, "s3"+behind)
	}
	if d := cmp.Diff(want, s.some(" works: ")); d != "" {
		t.Error(d)
	}
	w := r.Units[0].Results[2].Before
	wantWork := eval.Work{
		Seconds: 3, Computed: 2600, Generated: 20, BytesWritten: 54, Failed: 6, Reasons: []client.Reason{{Code: "nothing_due", Text: "all done"}},
		Kinds: []client.KindWork{
			{Kind: "abstract", Done: 4, ComputedTokens: 200, GeneratedTokens: 20, Seconds: 1},
			{Kind: "predict", Done: 2, Nothing: 6, Preempted: 8, Failed: 10, Parked: 12, ComputedTokens: 400, Questions: 10, BytesWritten: 14},
		},
	}
	if d := cmp.Diff(wantWork, w); d != "" {
		t.Error(d)
	}
	if w := r.Units[0].Results[1]; w.Before.Computed != 7000 || w.Before.Reasons[0].Code != "bound" || w.Answers[0].After.Computed != 0 {
		t.Errorf("%+v", w)
	}
	if w := r.Units[0].Results[2].Answers[1].After; w.Computed != 1000 || w.Seconds != 0.5 {
		t.Errorf("%+v", w)
	}
	// It continues when PerCache has spent more: 2620 + 5*1000 > 7000.
	overshot, s.calls = 7, nil
	lead(t, s.setup(t, idles(), "1", "2", "3", "4", "5", "6"))
	if d := cmp.Diff([]string{"s1" + whatever + "2620", "s1" + whatever + "620", "s1" + whatever + "1620"}, s.some("s1 works: ")); d != "" {
		t.Error(d)
	}
	// Idle work comes after all systems were asked, and before the next question.
	var turns []string
	for _, c := range s.some("is asked", behind) {
		turns = append(turns, strings.TrimSuffix(strings.Fields(c)[1], ":"))
	}
	one := "is is is is works works "
	if got := strings.Join(turns, " ") + " "; got != strings.Repeat(one, 6) {
		t.Error(got)
	}
}

// The plan's own limit is a number of tokens before and after each question. Unused tokens
// remain; overspent ones are paid back.
func TestIdleTokens(t *testing.T) {
	spend := []int{300, 5, 50, 150, 0}
	s := &scripted{slices: oneSlice()}
	s.drained = func(space, _ string) client.Drained {
		if space != "s1" {
			return client.Drained{ComputedTokens: 100000}
		}
		n := spend[0]
		spend = spend[1:]
		return client.Drained{ComputedTokens: n - n/5, GeneratedTokens: n / 5}
	}
	setup := s.setup(t, idles(), "1", "2", "3", "4", "5")
	setup.Run.Plan.IdleTokensBefore, setup.Run.Plan.IdleTokensAfter = 210, 60
	r := lead(t, setup)
	// 210; 210-300+60 is nothing; +60 is 30, spends 5; 25+60 spends 50; 35+60 spends 150;
	// -55+60 is 5.
	want := []string{"s1" + whatever + "210", "s1" + whatever + "30", "s1" + whatever + "85", "s1" + whatever + "95", "s1" + whatever + "5"}
	if d := cmp.Diff(want, s.some("s1 works: ")); d != "" {
		t.Error(d)
	}
	if n := len(s.some("s0 works: ")); n != 0 {
		t.Error("a system without idle work did some", n)
	}
	if b := r.Units[0].Results[1].Before; b.Computed != 240 || b.Generated != 60 {
		t.Errorf("%+v", b)
	}
}
