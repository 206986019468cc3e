package report

import (
	"maps"
	"slices"
)

// Drafts sums up what drafts did in the computed answers of a system.
type Drafts struct {
	Sources []DraftTotal `json:"sources"`
	// Mean decode time of the answers that had drafts, and of the reference's answers to the
	// same questions, which had none. Of counts the answers.
	Of        int     `json:"answers"`
	Decode    float64 `json:"decode_ms"`
	Reference float64 `json:"reference_decode_ms"`
}

// DraftTotal sums up the drafts of one source.
type DraftTotal struct {
	Source   string  `json:"source"`
	Answers  int     `json:"answers"` // that had drafts of the source
	Batches  int     `json:"batches"`
	Proposed int     `json:"proposed"`
	Accepted int     `json:"accepted"`
	PerBatch float64 `json:"accepted_per_batch"`
}

// drafts is nil if no answer had drafts.
func drafts(responses []response) *Drafts {
	by, out := map[string]*DraftTotal{}, &Drafts{}
	for i := range responses {
		a := &responses[i]
		if a.failed() || len(a.answer.Drafts) == 0 {
			continue
		}
		for _, d := range a.answer.Drafts {
			source := string(d.Source)
			t := by[source]
			if t == nil {
				t = &DraftTotal{Source: source}
				by[source] = t
			}
			t.Answers++
			t.Batches, t.Proposed, t.Accepted = t.Batches+d.Batches, t.Proposed+d.Proposed, t.Accepted+d.Accepted
		}
		if a.uncached != nil && a.uncached.Failure == "" {
			out.Of++
			out.Decode += a.answer.Stages["decode_ms"]
			out.Reference += a.uncached.Stages["decode_ms"]
		}
	}
	if len(by) == 0 {
		return nil
	}
	if out.Of > 0 {
		out.Decode, out.Reference = out.Decode/float64(out.Of), out.Reference/float64(out.Of)
	}
	for _, source := range slices.Sorted(maps.Keys(by)) {
		by[source].PerBatch = per(by[source].Accepted, by[source].Batches)
		out.Sources = append(out.Sources, *by[source])
	}
	return out
}

func (r *Report) draftTable() *table {
	t := &table{
		name: "drafts", title: "Drafts by source", columns: []column{
			plain("system", "system"), plain("source", "source"), plain("answers", "answers"), plain("batches", "batches"),
			{"accepted", []string{"accepted", "proposed"}},
			plain("accepted per batch", "accepted_per_batch"),
		},
		note: "Tokens of computed answers. Stored: a stored answer to a similar question. Near: stored answers over some of the same chunks. Prompt: words of the prompt itself.",
	}
	for i := range r.Systems {
		if d := r.Systems[i].All.Drafts; d != nil {
			for _, s := range d.Sources {
				t.add(r.Systems[i].Of != "", textCell(r.Systems[i].Name), textCell(s.Source), count(s.Answers), count(s.Batches), part(s.Accepted, s.Proposed), decimal(s.PerBatch, 2))
			}
		}
	}
	return t
}

func (r *Report) decodeTable() *table {
	t := &table{
		name: "decode", title: "Decode time with drafts and without", columns: []column{
			plain("answers", "answers"), plain("with drafts, ms", "decode_ms"), plain("reference, without, ms", "reference_decode_ms"),
		},
		note: "Means over the answers that had drafts, and over the reference's answers to the same questions. A verified answer has no decode time.",
	}
	t.bySystem(r, func(x *Totals) []cell {
		if x.Drafts == nil || x.Drafts.Of == 0 {
			return nil
		}
		return []cell{count(x.Drafts.Of), decimal(x.Drafts.Decode, 2), decimal(x.Drafts.Reference, 2)}
	})
	return t
}
