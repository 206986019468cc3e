package qabank_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
)

// Each change to a candidate fails exactly one test; the last column is the result
// without the guard.
func TestJudge(t *testing.T) {
	now := time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change func(c *qabank.Candidate, a *qabank.Ask)
		failed string // "" where it is served
		bare   bool   // served without the guard
	}{
		{"nothing", func(c *qabank.Candidate, a *qabank.Ask) {}, "", true},
		{"no answer yet", func(c *qabank.Candidate, a *qabank.Ask) { c.Answered = false }, "answered", false},
		{"vetoed", func(c *qabank.Candidate, a *qabank.Ask) {
			c.Vetoed = []qabank.ID{{1}, qabank.NewID("mail", a.Question)}
		}, "veto", false},
		{"stale", func(c *qabank.Candidate, a *qabank.Ask) { c.Stale, c.StaleWhy = true, "a new chunk" }, "stale", false},
		{"as old as may be", func(c *qabank.Candidate, a *qabank.Ask) { a.MaxAge = 24 * time.Hour }, "", true},
		{"too old", func(c *qabank.Candidate, a *qabank.Ask) { a.MaxAge = 23 * time.Hour }, "age", false},
		{"just near enough", func(c *qabank.Candidate, a *qabank.Ask) { c.Similarity = a.Threshold }, "", true},
		{"too far", func(c *qabank.Candidate, a *qabank.Ask) { c.Similarity = 0.87 }, "similarity", false},
		{"not yet expired", func(c *qabank.Candidate, a *qabank.Ask) { c.Expires = now.Add(1) }, "", true},
		{"expired", func(c *qabank.Candidate, a *qabank.Ask) { c.Expires = now }, "expired", true},
		{"other settings", func(c *qabank.Candidate, a *qabank.Ask) { a.Settings = "other" }, "settings", true},
		{"a chunk gone", func(c *qabank.Candidate, a *qabank.Ask) { delete(a.Versions, chunk(3)) }, "versions", true},
		{"a chunk of another life", func(c *qabank.Candidate, a *qabank.Ask) { a.Versions[chunk(3)] = 9 }, "versions", true},
		{"one chunk in common", func(c *qabank.Candidate, a *qabank.Ask) { a.Own[0], a.Own[1] = chunk(7), chunk(8) }, "", true},
		{"no chunk in common", func(c *qabank.Candidate, a *qabank.Ask) { a.Own = []percached.ChunkID{chunk(7)} }, "overlap", true},
		{"a third chunk of our own", func(c *qabank.Candidate, a *qabank.Ask) { a.Own[2] = chunk(7) }, "", true},
		{"the same, where it says that nothing is said", func(c *qabank.Candidate, a *qabank.Ask) { a.Own[2] = chunk(7); c.Refused = true }, "overlap", true},
		{"nothing is said, and we have nothing else", func(c *qabank.Candidate, a *qabank.Ask) { c.Refused = true }, "", true},
		{"no chunks of our own", func(c *qabank.Candidate, a *qabank.Ask) { a.Own = nil }, "overlap", true},
		{"exact repeat", func(c *qabank.Candidate, a *qabank.Ask) {
			a.Exact, a.Question, a.Own, c.Similarity = true, "where is the SPARE key", nil, 0
		}, "", true},
		{"exact repeat, a chunk gone", func(c *qabank.Candidate, a *qabank.Ask) {
			a.Exact, a.Question = true, c.Question
			delete(a.Versions, chunk(1))
		}, "versions", true},
		{"no exact repeat", func(c *qabank.Candidate, a *qabank.Ask) { a.Exact = true }, "similarity", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := entry("mail", "Where is the spare key?", 1, 2, 3)
			e.Made = now.Add(-24 * time.Hour)
			c := qabank.Candidate{Entry: e, Similarity: 0.95}
			a := qabank.Ask{
				Question: "Where can I find the spare key?", Own: []percached.ChunkID{chunk(2), chunk(1), chunk(3)},
				Versions: map[percached.ChunkID]uint64{chunk(1): 1, chunk(2): 2, chunk(3): 3}, Settings: "set", Threshold: 0.88, Now: now, Guard: true,
			}
			tt.change(&c, &a)
			v := qabank.Judge(c, a)
			var failed []string
			for _, test := range v.Tests {
				if !test.Passed {
					failed = append(failed, test.Name)
				}
			}
			var want []string
			if tt.failed != "" {
				want = []string{tt.failed}
			}
			if d := cmp.Diff(want, failed); d != "" || v.Serve != (len(want) == 0) {
				t.Errorf("serve %v: %s", v.Serve, d)
			}
			a.Guard = false
			if v := qabank.Judge(c, a); v.Serve != tt.bare {
				t.Errorf("without the guard: %+v", v)
			}
		})
	}
	if v := qabank.Judge(qabank.Candidate{Entry: qabank.Entry{Question: "Why?", Answered: true}}, qabank.Ask{Question: "Why?", Exact: true, Guard: true}); v.Serve {
		t.Error("an answer made from nothing is served")
	}
}
