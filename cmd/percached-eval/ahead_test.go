package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/retrieval"
)

// A question about chunk 7 makes percached store chunk 8, which its search found next.
func TestAhead(t *testing.T) {
	chunks := make([]percached.ChunkID, 20)
	for i := range chunks {
		chunks[i][0] = byte(i)
	}
	asked := func(found ...int) askedOnce {
		a := askedOnce{Record: answer.Record{Question: strings.Repeat("?", found[0]), Chunks: []percached.ChunkID{chunks[found[0]]}}}
		for _, i := range found {
			a.hits = append(a.hits, retrieval.Hit{Chunk: chunks[i]})
		}
		return a
	}
	r := &aheadReport{Rules: []aheadRule{
		{worth: func(_, future []askedOnce) map[percached.ChunkID]float64 { return retrievals(future) }},
		{worth: func(_, _ []askedOnce) map[percached.ChunkID]float64 { return nil }},
		{worth: func(past, _ []askedOnce) map[percached.ChunkID]float64 { return retrievals(past) }},
		{worth: func(past, _ []askedOnce) map[percached.ChunkID]float64 { return expected(past) }},
	}}
	r.count(chunks, []askedOnce{asked(7, 8), asked(8, 9), asked(7, 8)})
	want := [][len(aheadBudgets)]int{
		{2, 3, 3}, // 7 and 8 lead
		{0, 0, 3}, // the first 1, 4 and 10 chunks
		{1, 1, 3}, // 7 the second time
		{0, 2, 3}, // behind the second question 8 leads
	}
	for i, w := range want {
		if got := r.Rules[i].stored; got != w {
			t.Errorf("rule %d stored %v, not %v", i, got, w)
		}
	}
	if r.Questions != 3 || r.Retrieved != 3 {
		t.Errorf("%d questions, %d retrieved chunks", r.Questions, r.Retrieved)
	}
}

func TestDraftsReport(t *testing.T) {
	r := &draftsReport{Model: "m", Ways: []draftWay{{Name: "without"}, {Name: "prompt"}}}
	cited := []answer.Citation{{Quote: "The ferry to Vessay leaves at nine from pier four."}}
	plain := answer.Answer{
		Text: "It says: the ferry to Vessay leaves at nine", Citations: cited, Tokens: answer.Tokens{Generated: 9},
		Times: answer.Times{Decode: 90 * time.Millisecond, Total: 100 * time.Millisecond},
	}
	drafted := plain
	drafted.Outcome, drafted.Times.Decode = answer.VerifiedHit, 45*time.Millisecond
	drafted.Drafts = []percached.DraftUse{{Source: percached.DraftPrompt, Batches: 2, Proposed: 8, Accepted: 6}}
	for range 2 {
		r.Ways[0].count(&plain, &plain)
		r.Ways[1].count(&drafted, &plain)
	}
	r.conclude()
	w := r.Ways[1]
	if w.Answers != 2 || w.Equal != 2 || w.Verified != 2 || w.Ratio != 0.5 || w.Median != 0.5 || w.Quoting != 2 || w.QuotingRatio != 0.5 || w.Sources[0].Accepted != 12 {
		t.Errorf("%+v", w)
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "12 of 16 tokens accepted, 3.00 a batch") {
		t.Error(err, out.String())
	}
	other := plain
	other.Text = "The ferry leaves from pier four at nine to Vessay"
	if quotes(&other) {
		t.Errorf("%q quotes %q", other.Text, cited[0].Quote)
	}
}
