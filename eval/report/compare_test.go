package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// ragcache takes 100 ms per question; percached 50, 3 and 97.
func TestCompareSystems(t *testing.T) {
	r := tiny()
	c, err := report.Compare(r, r, report.Pair{A: "ragcache", B: "percached"})
	if err != nil || len(c.Differences) != 0 || !c.Tested || len(c.Systems) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	s := c.Systems[0]
	if s.FailedA != 0 || s.FailedB != 1 || s.OnlyA != 0 || s.OnlyB != 0 || len(s.Measures) != 5 {
		t.Errorf("%+v", s)
	}
	for i, want := range []struct {
		name    string
		pairs   int
		a, b    float64
		lowest  float64 // of the differences
		highest float64
	}{
		{"latency_ms", 3, 100, 50, -97, -3},
		{"first_token_ms", 3, 160.0 / 3, 86.2 / 3, -47, -1.8},
		{"f1", 2, 1, 1, 0, 0},
		{"rouge_l", 2, 1, 1, 0, 0},
		{"hit_rate", 3, 2.0 / 3, 2.0 / 3, 0, 0},
	} {
		m := s.Measures[i]
		if m.Name != want.name || m.Pairs != want.pairs || m.Test == nil {
			t.Errorf("%+v, want %+v", m, want)
			continue
		}
		near(t, m.Name+" of A", m.A, want.a)
		near(t, m.Name+" of B", m.B, want.b)
		near(t, m.Name+" apart", m.Diff, want.b-want.a)
		if m.Test.Low < want.lowest-1e-9 || m.Test.High > want.highest+1e-9 || m.Test.Low > m.Diff+1e-9 || m.Test.High < m.Diff-1e-9 {
			t.Errorf("%s: %+v", m.Name, m.Test)
		}
		if m.Test.Differ {
			t.Errorf("%s: three questions show no difference: %+v", m.Name, m.Test)
		}
	}
}

// Ten questions of one user that all take half the time show a difference. Two users show
// none, however many questions they ask.
func TestCompareMore(t *testing.T) {
	r := tiny()
	for i := range r.Units {
		u := &r.Units[i]
		for n := 10; n < 20; n++ {
			u.Asked = append(u.Asked, eval.Asked{Number: n, Gold: []string{"yes"}})
			for j := range u.Results {
				a := cold("yes", 100)
				if u.Results[j].System == "percached" {
					a = warm("no", 50)
				}
				u.Results[j].Answers = append(u.Results[j].Answers, a)
			}
		}
	}
	c, err := report.Compare(r, r, report.Pair{A: "ragcache", B: "percached"}, report.Pair{A: "ragcache", B: "ragcache"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Systems[0].Measures {
		if m.Test.Differ || m.Test.P != 0.5 {
			t.Errorf("%s: %+v", m.Name, m.Test)
		}
	}
	r.Run.Users = r.Run.Users[:1]
	r.Units = slices.DeleteFunc(r.Units, func(u eval.Unit) bool { return u.User != r.Run.Users[0].Name })
	c, err = report.Compare(r, r, report.Pair{A: "ragcache", B: "percached"}, report.Pair{A: "ragcache", B: "ragcache"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Systems[0].Measures {
		if !m.Test.Differ || m.Test.P > 0.01 {
			t.Errorf("%s: %+v", m.Name, m.Test)
		}
	}
	for _, m := range c.Systems[1].Measures {
		if m.Test.Differ || m.Diff != 0 {
			t.Errorf("%s: %+v", m.Name, m.Test)
		}
	}
	if said := written(t, c.Text); !strings.Contains(said, "ragcache and percached") || !strings.Contains(said, "differ\n") {
		t.Error(said)
	}
}

// Two runs are tested system by system. A question that one run lacks is counted and left
// out.
func TestCompareRuns(t *testing.T) {
	a, b := tiny(), tiny()
	b.Units = b.Units[:3:3] // Bo's second repeat is missing, so percached has no answer to him
	b.Units[1].Asked[0].Number = 5
	b.Run.Systems[3].Name = "another"
	for i := range b.Units {
		b.Units[i].Results[3].System = "another"
	}
	c, err := report.Compare(a, b)
	if err != nil || !c.Tested {
		t.Fatalf("%+v, %v", c, err)
	}
	if len(c.Systems) != 4 || !slices.Equal(c.OnlyA, []string{"meancache"}) || !slices.Equal(c.OnlyB, []string{"another"}) {
		t.Errorf("%+v", c)
	}
	if s := c.Systems[0]; s.A != "naive" || s.OnlyA != 1 || s.OnlyB != 1 || s.Measures[0].Pairs != 2 || s.Measures[0].Diff != 0 || s.Measures[0].Test.Differ {
		t.Errorf("%+v", s)
	}
	if said := written(t, c.Text); !strings.Contains(said, "\nmeancache: ") || !strings.Contains(said, "\nanother: ") {
		t.Error(said)
	}
}

// Runs with other differences are compared without a test.
func TestCompareRefuses(t *testing.T) {
	for name, change := range map[string]func(*eval.Run){
		"data set":                   func(r *eval.Run) { r.Dataset = "mised" },
		"users":                      func(r *eval.Run) { r.Users = r.Users[:1] },
		"model":                      func(r *eval.Run) { r.Model.Fingerprint = "f2" },
		"files and questions":        func(r *eval.Run) { r.DataSum = "d2" },
		"threads":                    func(r *eval.Run) { r.Model.Threads = 8 },
		"embedding model":            func(r *eval.Run) { r.Embedder.Fingerprint = "e2" },
		"machine":                    func(r *eval.Run) { r.Machine.CPU = "another" },
		"version":                    func(r *eval.Run) { r.Version = "1.2.4" },
		"commit":                     func(r *eval.Run) { r.Commit = "" },
		"seed":                       func(r *eval.Run) { r.Plan.Seed++ },
		"repeats":                    func(r *eval.Run) { r.Plan.Repeats++ },
		"maximum questions per user": func(r *eval.Run) { r.Plan.Questions = 9 },
		"distinct questions only":    func(r *eval.Run) { r.Plan.Distinct = true },
		"paraphrases":                func(r *eval.Run) { r.Plan.Paraphrases = true },
		"warm-up questions":          func(r *eval.Run) { r.Plan.Warmup = 1 },
		"rounds of prediction":       func(r *eval.Run) { r.Plan.Rounds = 1 },
		"stride of prediction":       func(r *eval.Run) { r.Plan.Stride = 4 },
		"byte limit":                 func(r *eval.Run) { r.Plan.LimitBytes = 0 },
		"users at a time":            func(r *eval.Run) { r.Plan.AtOnce = 2 },
		"idle tokens before":         func(r *eval.Run) { r.Plan.IdleTokensBefore = 5 },
		"idle tokens after":          func(r *eval.Run) { r.Plan.IdleTokensAfter = 5 },
		"answers have a meaning":     func(r *eval.Run) { r.Plan.NoQuality = true },
		"setting k":                  func(r *eval.Run) { r.Settings = map[string]string{"k": "3"} },
		"settings of percached":      func(r *eval.Run) { r.Systems[4].Settings = client.Settings{K: new(3)} },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := tiny(), tiny()
			change(&b.Run)
			c, err := report.Compare(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if c.Tested || len(c.Differences) != 1 || !strings.HasPrefix(c.Differences[0], name+":") {
				t.Errorf("%v", c.Differences)
			}
			if m := c.Systems[0].Measures[0]; m.Test != nil || m.A == 0 || m.A != m.B {
				t.Errorf("not side by side, or tested: %+v", m)
			}
			if said := written(t, c.Text); !strings.Contains(said, c.Differences[0]) || strings.Contains(said, "differ\n") {
				t.Error(said)
			}
		})
	}
}

func TestCompareUnknown(t *testing.T) {
	r, other := tiny(), tiny()
	other.Run.Systems = nil
	for want, pairs := range map[string][]report.Pair{
		`the first run has no system "x"`:      {{A: "x", B: "naive"}},
		`the second run has no system "naive"`: {{A: "naive", B: "naive"}},
		"the runs have no system in common":    nil,
	} {
		if _, err := report.Compare(r, other, pairs...); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Data with the same names may differ, and two unknown commits may differ.
func TestCompareRefusesOtherData(t *testing.T) {
	unknown := func(a, b *eval.Results) { a.Run.Commit, b.Run.Commit = "", "" }
	for _, tc := range []struct {
		name   string
		change func(a, b *eval.Results)
		want   []string
	}{
		{"nothing", func(*eval.Results, *eval.Results) {}, []string{}},
		{"the same sums", func(a, b *eval.Results) { a.Run.DataSum, b.Run.DataSum = "d", "d" }, []string{}},
		{"other kinds", func(_, b *eval.Results) { b.Run.Users[1].Kind = "meetings" }, []string{
			"users: ada (emails, 2 files, 2 questions), bo (emails, 1 files, 1 questions); ada (emails, 2 files, 2 questions), bo (meetings, 1 files, 1 questions)",
		}},
		{"more files", func(_, b *eval.Results) { b.Run.Users = slices.Clone(b.Run.Users); b.Run.Users[1].Files++ }, []string{
			"users: ada (emails, 2 files, 2 questions), bo (emails, 1 files, 1 questions); ada (emails, 2 files, 2 questions), bo (emails, 2 files, 1 questions)",
		}},
		{"another text", func(_, b *eval.Results) { b.Units[0].Asked[1].Text = "another" }, []string{
			"questions: 1 have another text or right answer",
		}},
		{"other right answers", func(_, b *eval.Results) {
			b.Units[0].Asked[0].Gold, b.Units[0].Asked[1].Gold = []string{"room 8"}, nil
		}, []string{
			"questions: 2 have another text or right answer",
		}},
		{"a question that one lacks", func(_, b *eval.Results) { b.Units[0].Asked[1] = eval.Asked{Number: 9, Text: "another"} }, []string{}},
		{"commits unknown, and the same run", unknown, []string{}},
		{"commits unknown", func(a, b *eval.Results) {
			unknown(a, b)
			b.Run.Began = b.Run.Began.Add(time.Second)
		}, []string{"commit: unknown for both runs"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := tiny(), tiny()
			a.Units, b.Units = a.Units[:2], b.Units[:2]
			tc.change(a, b)
			c, err := report.Compare(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, c.Differences); d != "" || c.Tested != (len(tc.want) == 0) {
				t.Errorf("tested: %v; %s", c.Tested, d)
			}
		})
	}
}
