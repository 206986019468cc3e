package answer

import (
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
)

// nearDrafts is how many answers over the same chunks a prompt gets as drafts at most.
const nearDrafts = 4

// drafts are stored answers that the request's own answer may equal or repeat parts of.
// The first is the best: the question's own answer, even if it is stale or given under other
// instructions, or that of the stored question which came nearest to passing the gate. A draft only saves time, so it
// needs no test.
func (a *Asker) drafts(r request, w weighing, plan promptPlan) []percached.Draft {
	fresh := r.Bypass || r.Refresh && r.work == nil // the client wants nothing of the bank
	if !r.settings.Bank || !r.settings.Drafts || r.Grammar != "" || a.Engine.Info().NoDrafts != "" || fresh || r.prefills() || plan.empty() {
		return nil
	}
	var out []percached.Draft
	used := map[qabank.ID]bool{}
	add := func(e qabank.Entry) {
		if !e.Answered || used[e.ID] {
			return
		}
		used[e.ID] = true
		source := percached.DraftNear
		if len(out) == 0 {
			source = percached.DraftStored
		}
		out = append(out, percached.Draft{Source: source, Text: e.Answer})
	}
	for _, under := range slices.Compact([]string{r.under, ""}) {
		if own, ok, err := a.Bank.ExactUnder(r.Space, r.Text, under); err == nil && ok {
			add(own)
		}
	}
	for _, c := range a.Bank.Pending(r.Space, r.entry()) {
		if e, err := a.Bank.Get(r.Space, c.Entry); err == nil {
			add(e)
		}
	}
	for _, c := range w.tried {
		add(c.Entry)
	}
	var ids []percached.ChunkID
	for _, c := range plan.chunks {
		ids = append(ids, c.ID)
	}
	for _, e := range a.Bank.Citing(r.Space, ids, nearDrafts) {
		add(e)
	}
	return out
}
