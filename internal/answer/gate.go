package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/gate"
	"github.com/percached/percached/qabank/likeness"
)

// nearest is how many near questions the gate tests at most.
const nearest = 4

// Gate says why a stored answer was served, or why none was.
type Gate struct {
	Why        string
	Similarity float64 // of the nearest question that was considered
	Considered []Considered
}

// Considered is a stored question that the gate tested.
type Considered struct {
	Entry      qabank.ID
	Question   string
	Exact      bool
	Similarity float64
	Served     bool
	Tests      []qabank.Test
}

// candidate is a stored question that may answer the request.
type candidate struct {
	qabank.Candidate
	exact    bool // it has the same words
	evidence []percached.Chunk
	tests    []qabank.Test
	servable bool // it passed all tests so far
	scored   bool // it was compared with the question
	proven   bool // the two questions are the same beyond the budget of wrong answers
	score    float64
	pair     likeness.Pair
}

// weighing is the gate's result so far, with the stored questions that it tested.
type weighing struct {
	Gate
	tried []candidate
}

// bankHit is a stored answer that passed the gate, with the chunks that it rests on.
type bankHit struct {
	entry    qabank.Entry
	evidence []percached.Chunk
	check    *qabank.Check // nil: the answer needs none
}

// bypasses says why the bank's answers are not looked at; "": they are.
func (r *request) bypasses() string {
	switch {
	case !r.settings.Bank:
		return "the bank is off in this space"
	case !r.banked:
		return "the question leans on earlier ones"
	case r.Refresh:
		return "the request asks for a fresh answer"
	case r.Bypass:
		return "the request bypasses the bank"
	}
	return ""
}

// startGate is the gate before any stored question was considered.
func (r *request) startGate() weighing {
	if why := r.bypasses(); why != "" {
		return weighing{Gate: Gate{Why: why}}
	}
	return weighing{Gate: Gate{Why: "no stored question is near enough"}}
}

// after adds to the gate why nothing was computed, if the plan is empty.
func (g Gate) after(plan promptPlan) Gate {
	if plan.empty() {
		g.Why += "; there is no document to answer from"
	}
	return g
}

// exactRepeat finds the stored question of the same words: one candidate or none.
func (a *Asker) exactRepeat(r request, p *progress) []candidate {
	if r.bypasses() != "" {
		return nil
	}
	e, ok, err := a.Bank.ExactUnder(r.Space, r.Text, r.under)
	if err != nil {
		p.without("the bank", err)
	}
	if !ok {
		return nil
	}
	return []candidate{{Candidate: qabank.Candidate{Entry: e, Similarity: 1}, exact: true}}
}

// matchBank finds the stored questions nearest to the vector, except the exact repeat,
// which the gate has seen.
func (a *Asker) matchBank(r request, vector []float32, repeat []candidate) []candidate {
	if r.bypasses() != "" || vector == nil {
		return nil
	}
	var near []candidate
	for _, c := range a.Bank.MatchUnder(r.Space, r.under, vector, a.Embedder.Info().Fingerprint, r.settings.least(), nearest) {
		if len(repeat) == 0 || repeat[0].Entry.ID != c.Entry.ID {
			near = append(near, candidate{Candidate: c})
		}
	}
	return near
}

// passGate tests the candidates, and returns the one that may be served, if any. The
// weighing that it returns also names those that were tested before.
func (a *Asker) passGate(ctx context.Context, r request, found retrieved, w weighing, candidates []candidate, p *progress) (weighing, *bankHit, error) {
	for i := range candidates {
		a.judge(r, found, &candidates[i], p)
	}
	if r.settings.Guard {
		a.compare(ctx, r, found, candidates, p)
	}
	for _, c := range candidates {
		if c.scored {
			a.decide(r, found, &c)
		}
		if c.servable {
			fresh, err := a.fresh(ctx, r, found, c, p)
			if err != nil {
				return w, nil, err
			}
			test := qabank.Test{Name: "fresh", Passed: fresh}
			if !fresh {
				test.Detail = newerDocuments
			}
			c.tests = append(c.tests, test)
		}
		w = w.with(c)
		if w.Considered[len(w.Considered)-1].Served {
			hit := &bankHit{entry: c.Entry, evidence: c.evidence}
			if c.scored && !c.proven {
				check := c.check(r, found)
				hit.check = &check
			}
			return w, hit, nil
		}
	}
	return w, nil, nil
}

// with adds a candidate that was tested.
func (w weighing) with(c candidate) weighing {
	failed := slices.IndexFunc(c.tests, func(t qabank.Test) bool { return !t.Passed })
	w.tried = append(w.tried, c)
	w.Similarity = max(w.Similarity, c.Similarity)
	w.Considered = append(w.Considered, Considered{
		Entry: c.Entry.ID, Question: c.Entry.Question, Exact: c.exact, Similarity: c.Similarity, Served: failed < 0, Tests: c.tests,
	})
	switch {
	case failed < 0 && c.exact:
		w.Why = "the same question was answered before, and its documents are unchanged"
	case failed < 0:
		w.Why = "a question near enough was answered before, and nothing speaks against its answer"
	case len(w.Considered) == 1: // the best comes first
		w.Why = "not served: " + c.tests[failed].Name
		if detail := c.tests[failed].Detail; detail != "" {
			w.Why += " (" + detail + ")"
		}
	}
	return w
}

// judge makes the tests that do not compare the questions, and reads the evidence.
func (a *Asker) judge(r request, found retrieved, c *candidate, p *progress) {
	ids := make([]percached.ChunkID, len(c.Entry.Evidence))
	for i, e := range c.Entry.Evidence {
		ids[i] = e.Chunk
	}
	evidence, err := a.Knowledge.Chunks(r.Space, ids)
	if err != nil { // the missing chunks count as gone
		p.without("the evidence of a stored answer", err)
	}
	ask := qabank.Ask{
		Question: r.Text, Exact: c.exact, Settings: r.mark, Under: r.under, Threshold: r.settings.least(), MaxAge: r.MaxAge,
		Now: a.Now(), Guard: r.settings.Guard, Versions: map[percached.ChunkID]uint64{},
	}
	for _, ch := range evidence {
		ask.Versions[ch.ID] = ch.Version
	}
	for _, ch := range found.best(r.settings.K) {
		ask.Own = append(ask.Own, ch.ID)
	}
	v := qabank.Judge(c.Candidate, ask)
	c.evidence, c.tests, c.servable = evidence, v.Tests, v.Serve
}

// serve makes the answer of a bank hit, and sends it.
func (a *Asker) serve(r request, hit bankHit, gate Gate, found retrieved, p *progress) draft {
	e := hit.entry
	a.Bank.Hit(r.Space, e.ID)
	if hit.check != nil {
		a.Bank.Serve(r.Space, *hit.check)
	}
	d := draft{Answer: Answer{Text: e.Answer, Outcome: AnswerHit, Refused: e.Refused, Gate: gate, Entry: e.ID}, found: found, rests: hit.evidence}
	if e.Cut {
		d.Finish = percached.FinishLength
	}
	d.Citations = p.cite(hit.evidence)
	p.piece(e.Answer)
	return d
}

// compare scores the servable candidates, and puts the best first.
func (a *Asker) compare(ctx context.Context, r request, found retrieved, candidates []candidate, p *progress) {
	for i := range candidates {
		if c := &candidates[i]; c.servable && !c.exact {
			c.pair = r.pair(found, candidates, i)
			c.score, c.scored = a.Likeness.Score(c.pair), true
			c.proven = likeness.Proven(c.pair, r.settings.Threshold)
		}
	}
	better := func(x, y candidate) int { return cmp.Compare(y.rank(), x.rank()) }
	slices.SortStableFunc(candidates, better)
	// The rests of the questions take time, so they are compared only where that may decide.
	for i := range candidates {
		c := &candidates[i]
		if !c.scored || c.proven || c.score < gate.Default().Floor || i > 0 && candidates[0].rank() >= c.score {
			break
		}
		c.pair.Rest = a.restNearness(ctx, r, c.Entry.Question, p)
		c.score = a.Likeness.Score(c.pair)
	}
	slices.SortStableFunc(candidates, better)
}

// decide asks the gate of the space whether a compared candidate asks the same.
func (a *Asker) decide(r request, found retrieved, c *candidate) {
	test := qabank.Test{Name: testLikeness, Passed: true, Detail: "the wordings differ in nothing"}
	if !c.proven {
		d := a.Bank.Decide(r.Space, c.score, found.vector(), r.settings.MaxWrong)
		test.Passed, test.Detail = d.Serve, d.Why
	}
	c.tests, c.servable = append(c.tests, test), test.Passed
}

// testLikeness is the gate's test that compares the questions.
const testLikeness = "likeness"

// rank orders candidates: proven ones, then by score, then those that were not compared.
func (c *candidate) rank() float64 {
	switch {
	case c.proven:
		return 2
	case c.scored:
		return c.score
	}
	return -1
}

// pair is what the question and a candidate are compared by. The nearness of their rests is
// taken to be the highest.
func (r request) pair(found retrieved, candidates []candidate, i int) likeness.Pair {
	c := candidates[i]
	pair := likeness.Pair{
		Asked: likeness.Question{Text: r.Text}, Stored: likeness.Question{Text: c.Entry.Question},
		Similarity: c.Similarity, Answer: r.claims(c.Entry.Answer), Rest: 1,
	}
	for _, ch := range found.best(r.settings.K) {
		pair.Asked.Chunks = append(pair.Asked.Chunks, ch.ID)
	}
	for _, e := range c.Entry.Evidence {
		pair.Stored.Chunks = append(pair.Stored.Chunks, e.Chunk)
	}
	for j, o := range candidates {
		if j != i && o.Answered && !r.sameAnswer(o.Entry.Answer, c.Entry.Answer) {
			pair.Second = max(pair.Second, o.Similarity)
		}
	}
	return pair
}

// restNearness is the cosine of what the two questions have alone.
func (a *Asker) restNearness(ctx context.Context, r request, question string, p *progress) float64 {
	asked, stored := likeness.Rests(r.Text, question)
	if asked == "" || stored == "" {
		return 0
	}
	vectors, err := a.Embed(ctx, r.Caller, []string{asked, stored})
	if err != nil || len(vectors) != 2 {
		p.without("the embedder", err)
		return 0
	}
	return float64(percached.Dot(vectors[0], vectors[1]))
}
