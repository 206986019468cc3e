package backend

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/qabank/gate"
)

// The report of the gate has every number, and the bound of the space.
func TestGateReport(t *testing.T) {
	want := api.GateReport{MaxWrong: 0.01, State: "shut", Threshold: 2, Served: 3, Checked: 2, Wrong: 1, Estimate: 0.5, Low: 0.1, High: 0.9}
	got := wireGateReport(gate.Report{MaxWrong: 0.01, State: gate.Shut, Threshold: 2, Served: 3, Checked: 2, Wrong: 1, Estimate: 0.5, Low: 0.1, High: 0.9})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	f := scriptedBackend(t)
	b, in := f.API(), api.InSpace{Space: nodetest.Space}
	if g := given[api.GateReport](t)(b.Gate(t.Context(), in)); g.MaxWrong != answer.Default().MaxWrong {
		t.Errorf("%+v", g)
	}
	given[api.Space](t)(b.ChangeSpace(t.Context(), api.SpaceChange{InSpace: in, Merge: []byte(`{"max_wrong":0}`)}))
	if g := given[api.GateReport](t)(b.Gate(t.Context(), in)); g.MaxWrong != 0 || g.State != string(gate.Proven) || g.Threshold <= 1 {
		t.Errorf("%+v", g)
	}
}

// An answer says what drafts did, and a question may bound wrong answers.
func TestDrafts(t *testing.T) {
	got := wireAnswer(percached.PublicIDs{}, answer.Answer{
		Outcome: answer.VerifiedHit, Drafts: []percached.DraftUse{{Source: percached.DraftStored, Batches: 2, Proposed: 9, Accepted: 8}},
	})
	if d := cmp.Diff([]api.DraftUse{{Source: "stored", Batches: 2, Proposed: 9, Accepted: 8}}, got.Drafts); d != "" || got.Outcome != "verified_hit" {
		t.Errorf("%s: %s", got.Outcome, d)
	}
	share := 0.05
	if q := questionOf(api.AskRequest{Question: api.Question{MaxWrong: &share}}); q.Settings.MaxWrong == nil || *q.Settings.MaxWrong != share {
		t.Errorf("%+v", q.Settings)
	}
}
