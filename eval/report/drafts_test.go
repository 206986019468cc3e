package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/report"
)

// The report sums up drafts by source, and compares the decode time with the reference's.
func TestDrafts(t *testing.T) {
	r := tiny()
	for i := range r.Units {
		if u := &r.Units[i]; u.User == "ada" {
			a := &u.Results[4].Answers[0] // its decode takes 5 ms, the reference's a quarter of 110 ms
			a.Drafts = []client.DraftUse{{Source: client.DraftUseSourcePrompt, Batches: 2, Proposed: 8, Accepted: 3}}
			if u.Repeat == 2 {
				a.Outcome = client.OutcomeVerifiedHit
				a.Stages["decode_ms"] = 0
				a.Drafts = append(a.Drafts, client.DraftUse{Source: client.DraftUseSourceStored, Batches: 1, Proposed: 4, Accepted: 4})
			}
		}
	}
	made := report.Make(r)
	want := &report.Drafts{
		Sources: []report.DraftTotal{
			{Source: "prompt", Answers: 2, Batches: 4, Proposed: 16, Accepted: 6, PerBatch: 1.5},
			{Source: "stored", Answers: 1, Batches: 1, Proposed: 4, Accepted: 4, PerBatch: 4},
		},
		Of: 2, Decode: 2.5, Reference: 27.5,
	}
	if d := cmp.Diff(want, system(t, made, "percached").All.Drafts); d != "" {
		t.Error(d)
	}
	if d := system(t, made, "naive").All.Drafts; d != nil {
		t.Errorf("%+v", d)
	}
	page := written(t, made.Markdown)
	for _, line := range []string{"| percached | prompt | 2 | 4 | 37.5 % | 1.50 |", "| percached | 2 | 2.50 | 27.50 |"} {
		if !strings.Contains(page, line) {
			t.Errorf("no %s in:\n%s", line, page)
		}
	}
}
