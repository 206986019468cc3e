package qabank

import (
	"fmt"
	"slices"
	"time"

	"github.com/percached/percached"
)

// Ask is a question with what the gate needs to know.
type Ask struct {
	Question string
	Exact    bool // the candidate came from Exact, not from Match
	// Own are the question's own best chunks, most relevant first. Exact repeats and an
	// inactive guard ignore them.
	Own []percached.ChunkID
	// Versions of the candidate's evidence now; deleted chunks are absent.
	Versions  map[percached.ChunkID]uint64
	Settings  string
	Under     string // the client's instructions; see Entry.Under
	Threshold float64
	MaxAge    time.Duration // 0: any
	Now       time.Time
	Guard     bool
}

// Verdict is whether a candidate may be served, and why.
type Verdict struct {
	Serve bool
	Tests []Test // in order
}

// Test is one test of the gate. Its detail may contain words of the questions.
type Test struct {
	Name   string
	Passed bool
	Detail string
}

// The tests, in order.
const (
	TestAnswered   = "answered"
	TestUnder      = "instructions"
	TestVeto       = "veto"
	TestStale      = "stale"
	TestAge        = "age"
	TestSimilarity = "similarity"
	TestExpired    = "expired"
	TestSettings   = "settings"
	TestVersions   = "versions"
	TestOverlap    = "overlap"
)

// Judge makes the tests that do not compare the two questions. Without the guard,
// similarity decides, as in the paper; only a missing, vetoed, stale or too old answer is
// refused as well.
func Judge(c Candidate, ask Ask) Verdict {
	g := judgement{verdict: Verdict{Serve: true}}
	g.test(TestAnswered, c.Answered, "it has no answer yet")
	if c.Under != ask.Under {
		g.test(TestUnder, false, "answered under other instructions of a client")
	}
	asked, why := NewID(c.Space, ask.Question), "a user said that it answers another question"
	if asked == NewID(c.Space, c.Question) { // whatever the instructions
		why = "a user said that its stored answer was wrong"
	}
	g.test(TestVeto, !slices.Contains(c.Vetoed, asked), why)
	g.test(TestStale, !c.Stale, c.StaleWhy)
	if ask.MaxAge > 0 {
		g.test(TestAge, ask.Now.Sub(c.Made) <= ask.MaxAge, fmt.Sprintf("made at %s", c.Made.Format(time.RFC3339)))
	}
	g.similarity(c, ask)
	if !ask.Guard {
		return g.verdict
	}
	g.test(TestExpired, c.Expires.IsZero() || ask.Now.Before(c.Expires), "it has expired")
	g.test(TestSettings, c.Settings == ask.Settings, "made with another model, prompt or retrieval")
	g.versions(c, ask)
	if ask.Exact {
		return g.verdict
	}
	g.overlap(c, ask)
	return g.verdict
}

type judgement struct{ verdict Verdict }

// test records a test; why is the objection to the candidate.
func (g *judgement) test(name string, passed bool, why string) {
	if passed {
		why = ""
	}
	g.verdict.Tests = append(g.verdict.Tests, Test{Name: name, Passed: passed, Detail: why})
	g.verdict.Serve = g.verdict.Serve && passed
}

// similarity also verifies that an exact repeat really is one.
func (g *judgement) similarity(c Candidate, ask Ask) {
	t := Test{Name: TestSimilarity, Passed: c.Similarity >= ask.Threshold, Detail: fmt.Sprintf("%.3f of %.3f", c.Similarity, ask.Threshold)}
	if ask.Exact {
		t.Passed = Normalise(c.Question) == Normalise(ask.Question)
		t.Detail = "exact repeat"
		if !t.Passed {
			t.Detail = "not an exact repeat"
		}
	}
	g.verdict.Tests = append(g.verdict.Tests, t)
	g.verdict.Serve = g.verdict.Serve && t.Passed
}

// versions requires every chunk of the answer's prompt to be unchanged. An answer without
// evidence can never be verified.
func (g *judgement) versions(c Candidate, ask Ask) {
	changed := 0
	for _, e := range c.Evidence {
		if v, ok := ask.Versions[e.Chunk]; !ok || v != e.Version {
			changed++
		}
	}
	why := fmt.Sprintf("%d of %d chunks changed or deleted", changed, len(c.Evidence))
	if len(c.Evidence) == 0 {
		why = "no evidence"
	}
	g.test(TestVersions, changed == 0 && len(c.Evidence) > 0, why)
}

// overlap requires one of the question's best chunks among the evidence. A refusal depends
// on everything that was searched, so for it all of them must be there.
func (g *judgement) overlap(c Candidate, ask Ask) {
	evidence := chunksOf(c.Evidence)
	shared := 0
	for _, own := range ask.Own {
		if slices.Contains(evidence, own) {
			shared++
		}
	}
	ok := shared > 0 && (!c.Refused || shared == len(ask.Own))
	g.test(TestOverlap, ok, fmt.Sprintf("%d of %d own chunks are in its evidence", shared, len(ask.Own)))
}
