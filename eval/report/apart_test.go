package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// Data that go by the same names are not the same for that, nor is it known of two
// unknown commits that they are one.
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
			"questions: 1 of those that both were asked have another text or right answer",
		}},
		{"other right answers", func(_, b *eval.Results) {
			b.Units[0].Asked[0].Gold, b.Units[0].Asked[1].Gold = []string{"room 8"}, nil
		}, []string{
			"questions: 2 of those that both were asked have another text or right answer",
		}},
		{"a question that one lacks", func(_, b *eval.Results) { b.Units[0].Asked[1] = eval.Asked{Number: 9, Text: "another"} }, []string{}},
		{"commits unknown, and the same run", unknown, []string{}},
		{"commits unknown", func(a, b *eval.Results) {
			unknown(a, b)
			b.Run.Began = b.Run.Began.Add(time.Second)
		}, []string{"commit not known: that of either run"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := tiny(), tiny()
			a.Units, b.Units = a.Units[:2], b.Units[:2]
			tc.change(a, b)
			c, err := report.Compare(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, c.Apart); d != "" || c.Tested != (len(tc.want) == 0) {
				t.Errorf("tested: %v; %s", c.Tested, d)
			}
		})
	}
}
