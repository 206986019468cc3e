package report_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/report"
)

func system(t *testing.T, r *report.Report, name string) *report.System {
	t.Helper()
	for i := range r.Systems {
		if r.Systems[i].Name == name {
			return &r.Systems[i]
		}
	}
	t.Fatalf("no system %s", name)
	return nil
}

// near compares a number with the one computed by hand.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Each question counts as the median of its repeats, misses included.
func TestLatency(t *testing.T) {
	r := report.Make(tiny())
	for _, tc := range []struct {
		system            string
		mean, median, p90 float64
		first             float64
		low, high         float64 // the least and the greatest question
	}{
		// 110 (of 100 and 120), 200, 300; 60 % of each.
		{"naive", 610.0 / 3, 200, 280, 122, 110, 300},
		// 100 three times; the first token of hits is at half, of misses at 60 %.
		{"ragcache", 100, 100, 100, 160.0 / 3, 100, 100},
		// 90, 1, 194: hits are in the first token's mean too.
		{"meancache", 95, 90, 173.2, (54 + 1 + 116.4) / 3, 1, 194},
		// 50 (of 40 and 60), 3 (of 2 and 4), 97 (one repeat failed).
		{"percached", 50, 50, 87.6, (25 + 3 + 58.2) / 3, 3, 97},
	} {
		x := system(t, r, tc.system).All
		near(t, tc.system+" mean", x.Latency.Mean, tc.mean)
		near(t, tc.system+" median", x.Latency.Median, tc.median)
		near(t, tc.system+" p90", x.Latency.P90, tc.p90)
		near(t, tc.system+" first token", x.FirstToken.Mean, tc.first)
		if x.Latency.Of != 3 || x.Latency.Low > tc.mean+1e-9 || x.Latency.High < tc.mean-1e-9 || x.Latency.Low < tc.low-1e-9 || x.Latency.High > tc.high+1e-9 {
			t.Errorf("%s: %+v", tc.system, x.Latency)
		}
	}
	ours := system(t, r, "percached")
	if len(ours.Users) != 2 || ours.Users[0].User != "ada" || ours.Users[1].User != "bo" {
		t.Fatalf("%+v", ours.Users)
	}
	near(t, "ada", ours.Users[0].Latency.Mean, 26.5)
	near(t, "bo", ours.Users[1].Latency.Mean, 97)
}

func TestOutcomes(t *testing.T) {
	x := system(t, report.Make(tiny()), "percached").All
	want := report.Outcomes{AnswerHits: 2, TensorHits: 2, Misses: 1, AnswerHitRate: 2.0 / 6, TensorHitRate: 2.0 / 6, MissRate: 1.0 / 6}
	if d := cmp.Diff(want, x.Outcomes); d != "" {
		t.Error(d)
	}
	if x.Asked != 6 || x.Failed != 1 || x.Distinct != 3 || x.Chunks.Stored != 2 || x.Chunks.All != 6 {
		t.Errorf("%+v", x)
	}
	if d := cmp.Diff(report.Tokens{Prompt: 300, Reused: 120, Computed: 180, Generated: 12}, x.Tokens); d != "" {
		t.Error(d)
	}
}

// A verified hit is a computed answer: only its outcome is counted apart.
func TestVerifiedHits(t *testing.T) {
	plain, verified := tiny(), tiny()
	for i := range verified.Units {
		if u := &verified.Units[i]; u.User == "ada" && u.Repeat == 2 {
			u.Results[4].Answers[0].Outcome = client.OutcomeVerifiedHit
		}
	}
	want, got := system(t, report.Make(plain), "percached").All, system(t, report.Make(verified), "percached").All
	want.Outcomes = report.Outcomes{
		AnswerHits: 2, VerifiedHits: 1, TensorHits: 1, Misses: 1,
		AnswerHitRate: 2.0 / 6, VerifiedHitRate: 1.0 / 6, TensorHitRate: 1.0 / 6, MissRate: 1.0 / 6,
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(report.Totals{}, "Paper"), cmpopts.IgnoreFields(report.QuestionRef{}, "Reason")); d != "" {
		t.Error(d)
	}
}

// Of five answers two are hits with 10 ms, two are stored, and one is a miss with 48.5 ms.
func TestStages(t *testing.T) {
	x := system(t, report.Make(tiny()), "percached").All
	got := map[string]report.Stage{}
	for _, s := range x.Stages {
		got[s.Name] = s
	}
	near(t, "prefill", got["prefill"].Mean, (2*10+48.5)/5)
	near(t, "prefill where it was", got["prefill"].Took, (2*10+48.5)/3)
	near(t, "loading where it was", got["load_tensors"].Took, 2)
	near(t, "outside", got["outside"].Mean, 3.0/5) // 1 ms for each computed answer
	if got["prefill"].Count != 3 || got["load_tensors"].Count != 2 || got["match_question"].Count != 2 {
		t.Errorf("%+v", got)
	}
}

// A token in the one layer takes 24 for Q, K and V, 8 for the output, 48 for the
// feed-forward, 8 per attended token, and if generated 32 in the head.
func TestCompute(t *testing.T) {
	r := report.Make(tiny())
	x := system(t, r, "percached").All
	// 44+44+104 tokens pass, 400+400+1000 are attended to, 12 are generated, in 5 answers.
	want := report.Compute{Of: 5, FLOPs: measure.FLOPs{Projections: 1228.8, QKV: 921.6, Attention: 2880, FeedForward: 1843.2, Head: 76.8}, Total: 6028.8}
	want.WithIdle = new(6028.8 + (80*470+8*4519+32*45)/5.0) // see below
	if d := cmp.Diff(&want, x.Compute, approx()); d != "" {
		t.Error(d)
	}
	// Four units: 4 times 110 before, 5 times 6 after.
	near(t, "idle tokens", x.Idle.Tokens, 470.0/4)
	near(t, "before", x.Idle.Before.Computed, 100)
	near(t, "after", x.Idle.After.Computed, 25.0/4)
	near(t, "seconds", x.Idle.Before.Seconds, 1)
	near(t, "joules", *x.Idle.Joules, (3+1+3+1)/4.0)
	// 470 tokens pass and attend to 4519 (1000 of 104 each), 45 are generated; in 4 units.
	near(t, "idle FLOPs", *x.Idle.FLOPs, (80*470+8*4519+32*45)/4.0)
	near(t, "tensors", x.Storage.TensorBytes, 1200)
	near(t, "slices", x.Storage.Slices, 3)
	near(t, "evicted", x.Storage.Evicted, 0.5)
	near(t, "written", x.Storage.Written, 150)

	// The paper's mechanism: of the reference's prefill of 55 ms, 2496 of 16320 are the
	// projections, because its tokens attend to 1000 in all. 60 of 100 tokens are reused.
	// Q besides K and V makes loading 3/2 as long. Measured are 40 and 60 ms, with 10 of
	// prefill and 2 of loading.
	p := x.Paper
	prefill := 55*(1-2496.0/16320*0.6) + 3
	near(t, "paper's", p.QKV, 50-12+prefill)
	near(t, "all", p.All, (50-12+prefill+3+97)/3)
	near(t, "ours", p.Ours, 50)
	near(t, "nothing stored", p.Cold, 110)
	near(t, "FLOPs", p.FLOPs, 80*44+8*400+32*4)
	near(t, "FLOPs cold", p.FLOPsCold, 80*104+8*1000+32*4)
	near(t, "FLOPs paper", p.FLOPsQKV, 80*104+8*1000+32*4-24*60)
	near(t, "bytes", p.Bytes, 60*2*2*2)
	near(t, "bytes of three planes", p.BytesQKV, 60*3*2*2)
	if p.Hits != 1 {
		t.Errorf("%+v", p)
	}
}

func TestQuality(t *testing.T) {
	r := report.Make(tiny())
	for _, tc := range []struct {
		system           string
		exact, f1, rouge float64
	}{
		{"naive", 0.75, 0.875, 0.875}, // "room 9" once: one word of two
		{"ragcache", 1, 1, 1},
		{"meancache", 0.25, 0.625, 0.625}, // "hall 9" twice besides
		{"percached", 1, 1, 1},
	} {
		q := system(t, r, tc.system).All.Quality
		near(t, tc.system+" exact", q.Exact.Mean, tc.exact)
		near(t, tc.system+" F1", q.F1.Mean, tc.f1)
		near(t, tc.system+" ROUGE-L", q.RougeL.Mean, tc.rouge)
		if q.Exact.Of != 2 {
			t.Errorf("%s: of %d", tc.system, q.Exact.Of)
		}
	}
	rag := system(t, r, "ragcache").All
	near(t, "ragcache against naive", rag.Uncached.F1.Mean, (0.75+1+1)/3)
	if c := rag.Check; c.Compared != 6 || c.Differ != 1 || c.Named[0] != (report.QuestionRef{User: "ada", Number: 1, Repeat: 2, Reason: "tensor_hit"}) {
		t.Errorf("%+v", c)
	}
	ours := system(t, r, "percached").All
	if c := ours.Check; c.Compared != 3 || c.Differ != 0 {
		t.Errorf("%+v", c)
	}
	// Bo's question failed once, so its document was not found every time. A failed answer
	// has score 0 against the uncached answer.
	if d := cmp.Diff(&report.Rate{Count: 1, Of: 2, Share: 0.5, Interval: measure.Wilson(1, 2)}, ours.Recall); d != "" {
		t.Error(d)
	}
	near(t, "percached against naive-parallel", ours.Uncached.F1.Mean, (1+1+0.5)/3)
	if system(t, r, "naive").All.Uncached != nil || system(t, r, "naive").All.Check != nil {
		t.Error("a reference is not held against itself")
	}
}

func TestBank(t *testing.T) {
	r := report.Make(tiny())
	mean := system(t, r, "meancache").All.Bank
	wrong := &report.Rate{Count: 1, Of: 1, Share: 1, Interval: measure.Wilson(1, 1)}
	want := report.Bank{
		Servings: 2, Served: 1, Checked: 1, Wrong: wrong, OtherText: wrong, Other: 1, Origins: []report.Origin{{Origin: "asked", Served: 1, Wrong: wrong}},
		Named: []report.QuestionRef{{User: "ada", Number: 2, Repeat: 1, Reason: "asked: number"}, {User: "ada", Number: 2, Repeat: 2, Reason: "asked: number"}},
	}
	if d := cmp.Diff(want, mean); d != "" {
		t.Error(d)
	}
	ours := system(t, r, "percached").All.Bank
	if ours.Served != 1 || ours.Wrong.Count != 0 || ours.OtherText.Count != 0 || ours.Origins[0].Origin != "predicted" {
		t.Errorf("%+v", ours)
	}
	// An answer with other words and the same facts is not wrong, but of other text.
	res := tiny()
	res.Units[2].Results[4].Answers[1].Text = "It is hall 8"
	ours = system(t, report.Make(res), "percached").All.Bank
	if ours.Checked != 1 || ours.Wrong.Count != 0 || ours.OtherText.Count != 1 || ours.OtherText.Of != 1 {
		t.Errorf("%+v", ours)
	}
}

func TestFailuresAreNamed(t *testing.T) {
	res := tiny()
	res.Units[0].Unread = []client.Failure{{Name: "a.pdf", Reason: "damaged"}}
	res.Units = res.Units[:3]                                             // bo, repeat 2 is not done
	res.Units[2].Results[2].Answers = res.Units[2].Results[2].Answers[:1] // one is lost
	res.Units[1].Results = res.Units[1].Results[1:]                       // naive of bo is lost
	h := report.Make(res).Header
	want := []report.Failure{
		{System: "ragcache", QuestionRef: report.QuestionRef{User: "ada", Number: 2, Repeat: 2, Reason: "no answer was noted"}},
		{System: "percached", QuestionRef: report.QuestionRef{User: "bo", Number: 1, Repeat: 1, Reason: "too long"}},
	}
	if d := cmp.Diff(want, h.Failures); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"bo, repeat 2"}, h.Undone); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"naive of bo, repeat 1"}, h.Absent); d != "" {
		t.Error(d)
	}
	if len(h.Unread) != 1 || h.Unread[0].Name != "a.pdf" || h.Users[0].Gold != 2 || h.Users[1].Located != 1 {
		t.Errorf("%+v", h)
	}
}

// Without a reference, or if it failed, the comparison is absent.
func TestNoReference(t *testing.T) {
	res := tiny()
	for i := range res.Units {
		for j := range res.Units[i].Results {
			if s := &res.Units[i].Results[j]; s.System == "naive-parallel" {
				for k := range s.Answers {
					s.Answers[k] = eval.Answer{Failure: "gone"}
				}
			}
		}
	}
	r := report.Make(res)
	x := system(t, r, "percached").All
	if x.Uncached != nil || x.Check != nil || x.Paper != nil || x.Bank.Wrong != nil || x.Bank.OtherText != nil || x.Bank.Served != 1 || x.Bank.Checked != 0 {
		t.Errorf("%+v", x)
	}
	if r.Headline.Wrong != nil || system(t, r, "naive-parallel").All.Latency.Of != 0 {
		t.Errorf("%+v", r.Headline)
	}
	// Of two served answers one is right; the other could not be checked.
	res = tiny()
	for i := range res.Units {
		if u := &res.Units[i]; u.User == "bo" {
			u.Results[1].Answers[0] = eval.Answer{Failure: "gone"}
			u.Results[4].Answers[0] = bank("some", "asked", 2)
		}
	}
	r = report.Make(res)
	if b := system(t, r, "percached").All.Bank; b.Served != 2 || b.Checked != 1 || b.Wrong.Count != 0 || r.Headline.Wrong != nil {
		t.Errorf("%+v %+v", b, r.Headline)
	}
	res = tiny()
	res.Run.Systems = res.Run.Systems[2:] // only ragcache, meancache, percached
	if x := system(t, report.Make(res), "percached").All; x.Quality == nil {
		t.Error("no quality without a reference")
	}
}

func TestNoQuality(t *testing.T) {
	res := tiny()
	res.Run.Plan.NoQuality = true
	r := report.Make(res)
	for _, s := range r.Systems {
		if s.All.Quality != nil || s.All.Uncached != nil || s.All.Bank.Wrong != nil {
			t.Errorf("%s: %+v", s.Name, s.All)
		}
	}
	if c := system(t, r, "ragcache").All.Check; c.Differ != 1 {
		t.Errorf("whether warm is cold is told all the same: %+v", c)
	}
	if r.Headline.RougeL != nil || r.Headline.Wrong != nil {
		t.Errorf("%+v", r.Headline)
	}
	if files := all(t, r); files["tables/quality.csv"] != "" || files["tables/same_text.csv"] == "" {
		t.Error("tables of quality, or none of the check")
	}
}

// Without right answers there is no quality against them; everything else is there.
func TestNoGold(t *testing.T) {
	res := tiny()
	for i := range res.Units {
		for j := range res.Units[i].Asked {
			res.Units[i].Asked[j].Gold = nil
		}
	}
	r := report.Make(res)
	x := system(t, r, "percached").All
	if x.Quality != nil || x.Uncached == nil || x.Bank.Wrong == nil || r.Headline.RougeL != nil || r.Headline.Reached == nil || *r.Headline.Reached {
		t.Errorf("%+v %+v", x, r.Headline)
	}
}

func TestOneRepeat(t *testing.T) {
	res := tiny()
	res.Run.Plan.Repeats, res.Units = 1, res.Units[:2]
	x := system(t, report.Make(res), "percached").All
	near(t, "mean", x.Latency.Mean, 21) // 40 and 2; bo's failed
	if x.Latency.Of != 2 || x.Asked != 3 || x.Failed != 1 {
		t.Errorf("%+v", x)
	}
}

// Of three repeats the median counts, so one outlier does not.
func TestThreeRepeats(t *testing.T) {
	res := tiny()
	res.Run.Plan.Repeats = 3
	stray := ada(3)
	stray.Results[2].Answers[0].TotalMS = 9000
	res.Units = append(res.Units, stray)
	near(t, "mean", system(t, report.Make(res), "ragcache").All.Latency.Mean, 100)
}

// A question and its paraphrases are drawn together. Two questions with equal paraphrases
// have an interval as wide as the questions themselves.
func TestParaphrasesHangTogether(t *testing.T) {
	res := tiny()
	res.Units = res.Units[:1]
	u := &res.Units[0]
	for p := 1; p <= 9; p++ {
		for q := range 2 {
			u.Asked = append(u.Asked, eval.Asked{Number: q + 1, Paraphrase: p})
			for i := range u.Results {
				u.Results[i].Answers = append(u.Results[i].Answers, cold("some", []float64{100, 200}[q]))
			}
		}
	}
	l := system(t, report.Make(res), "naive").All.Latency
	if l.Of != 20 || l.Mean != 150 || l.Low != 100 || l.High != 200 {
		t.Errorf("%+v", l)
	}
}

// The walked question was answered by all, with stored tensors if there are any.
func TestWalk(t *testing.T) {
	res := tiny()
	w := report.Make(res).Walk
	if w.User != "ada" || w.Number != 1 || w.Repeat != 1 || len(w.Steps) != 5 || w.Steps[4].Tokens.Reused != 60 || w.Question != "" {
		t.Errorf("%+v", w)
	}
	for i := range res.Units {
		if res.Units[i].User == "ada" {
			res.Units[i].Results[4].Answers[0] = eval.Answer{Failure: "gone"}
			res.Units[i].Results[0].Answers[1] = eval.Answer{Failure: "gone"}
		}
	}
	if w = report.Make(res).Walk; w.User != "bo" || w.Repeat != 2 {
		t.Errorf("%+v", w)
	}
}

// No unit is done yet.
func TestNothingDone(t *testing.T) {
	res := tiny()
	res.Units = nil
	r := report.Make(res)
	var b bytes.Buffer
	for _, write := range []func() error{
		func() error { return r.Markdown(&b) }, func() error { return r.JSON(&b) }, func() error { return r.Text(&b) },
	} {
		if err := write(); err != nil {
			t.Error(err)
		}
	}
	if r.Headline.Best != nil || len(r.Header.Undone) != 4 || bytes.Contains(b.Bytes(), []byte("NaN")) {
		t.Error(b.String())
	}
}
