package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

const (
	// nearest is how many near questions pass the gate at most.
	nearest = 4
	// newerDocuments is why an answer is stale.
	newerDocuments = "newer documents bear on it"
)

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
	exact bool // it has the same words
}

// bankHit is a stored answer that passed the gate, with the chunks that it rests on.
type bankHit struct {
	entry    qabank.Entry
	evidence []percached.Chunk
}

// bypasses says why the bank's answers are not looked at; "": they are.
func (r *request) bypasses() string {
	switch {
	case !r.settings.Bank:
		return "the bank is off in this space"
	case r.Question.Instructions != "":
		return "the request has instructions of its own"
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
func (r *request) startGate() Gate {
	if why := r.bypasses(); why != "" {
		return Gate{Why: why}
	}
	return Gate{Why: "no stored question is near enough"}
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
	e, ok, err := a.Bank.Exact(r.Space, r.Text)
	if err != nil {
		p.without("the bank", err)
	}
	if !ok {
		return nil
	}
	return []candidate{{qabank.Candidate{Entry: e, Similarity: 1}, true}}
}

// matchBank finds the stored questions nearest to the vector, except the exact repeat,
// which the gate has seen.
func (a *Asker) matchBank(r request, vector []float32, repeat []candidate) []candidate {
	if r.bypasses() != "" || vector == nil {
		return nil
	}
	var near []candidate
	for _, c := range a.Bank.Match(r.Space, vector, a.Embedder.Info().Fingerprint, r.settings.Threshold, nearest) {
		if len(repeat) == 0 || repeat[0].Entry.ID != c.Entry.ID {
			near = append(near, candidate{c, false})
		}
	}
	return near
}

// passGate tests the candidates in turn, until one may be served. The gate that it
// returns also names those that were tested before.
func (a *Asker) passGate(ctx context.Context, r request, found retrieved, gate Gate, candidates []candidate, p *progress) (Gate, *bankHit, error) {
	for _, c := range candidates {
		evidence, tests, err := a.judge(ctx, r, found, c, p)
		if err != nil {
			return gate, nil, err
		}
		failed := slices.IndexFunc(tests, func(t qabank.Test) bool { return !t.Passed })
		gate.Similarity = max(gate.Similarity, c.Similarity)
		gate.Considered = append(gate.Considered, Considered{
			Entry: c.Entry.ID, Question: c.Entry.Question, Exact: c.exact, Similarity: c.Similarity, Served: failed < 0, Tests: tests,
		})
		switch {
		case failed < 0 && c.exact:
			gate.Why = "the same question was answered before, and its documents are unchanged"
		case failed < 0:
			gate.Why = "a question near enough was answered before, and nothing speaks against its answer"
		case len(gate.Considered) == 1: // the nearest comes first
			gate.Why = "not served: " + tests[failed].Name
			if detail := tests[failed].Detail; detail != "" {
				gate.Why += " (" + detail + ")"
			}
		}
		if failed < 0 {
			return gate, &bankHit{c.Entry, evidence}, nil
		}
	}
	return gate, nil, nil
}

// judge makes the tests of the gate on one candidate, and reads its evidence. The last
// test, whether the answer is fresh, is made only if all others pass.
func (a *Asker) judge(ctx context.Context, r request, found retrieved, c candidate, p *progress) ([]percached.Chunk, []qabank.Test, error) {
	ids := make([]percached.ChunkID, len(c.Entry.Evidence))
	for i, e := range c.Entry.Evidence {
		ids[i] = e.Chunk
	}
	evidence, err := a.Knowledge.Chunks(r.Space, ids)
	if err != nil { // the missing chunks count as gone
		p.without("the evidence of a stored answer", err)
	}
	ask := qabank.Ask{
		Question: r.Text, Exact: c.exact, Settings: r.mark, Threshold: r.settings.Threshold, MaxAge: r.MaxAge,
		Now: a.Now(), Guard: r.settings.Guard, Versions: map[percached.ChunkID]uint64{},
	}
	for _, ch := range evidence {
		ask.Versions[ch.ID] = ch.Version
	}
	for _, ch := range found.best(r.settings.K) {
		ask.Own = append(ask.Own, ch.ID)
	}
	v := qabank.Judge(c.Candidate, ask)
	if !v.Serve {
		return nil, v.Tests, nil
	}
	fresh, err := a.fresh(ctx, r, found, c, p)
	if err != nil {
		return nil, nil, err
	}
	test := qabank.Test{Name: "fresh", Passed: fresh}
	if !fresh {
		test.Detail = newerDocuments
	}
	return evidence, append(v.Tests, test), nil
}

// serve makes the answer of a bank hit, and sends it.
func (a *Asker) serve(r request, hit bankHit, gate Gate, found retrieved, p *progress) draft {
	e := hit.entry
	a.Bank.Hit(r.Space, e.ID)
	d := draft{Answer: Answer{Text: e.Answer, Outcome: AnswerHit, Refused: e.Refused, Gate: gate, Entry: e.ID}, found: found, rests: hit.evidence}
	if e.Cut {
		d.Finish = percached.FinishLength
	}
	d.Citations = p.cite(hit.evidence)
	p.piece(e.Answer)
	return d
}

// fresh says whether the answer is, as far as documents decide it, the one that would
// be computed today. An exact repeat needs a prompt of the same chunks (see outgrown),
// as does an answer that was never compared with a whole search. A near question needs
// only that none of its best chunks came in later. An entry that is not fresh is marked
// stale.
func (a *Asker) fresh(ctx context.Context, r request, found retrieved, c candidate, p *progress) (bool, error) {
	e := c.Entry
	if !r.settings.Guard || e.Seen >= found.seq {
		return true, nil
	}
	fresh, whole := true, c.exact || e.Seen == 0
	var seen uint64
	if whole {
		seen = min(found.seq, a.standing(r.Space).Seq) // read before the search
		best, err := a.searchStored(ctx, r.Space, e, r.settings, percached.Foreground)
		if err != nil {
			return false, err
		}
		grown, err := a.outgrown(r.Space, r.settings, best, e)
		if err != nil {
			return false, err
		}
		fresh = !grown
	} else {
		for _, ch := range found.best(r.settings.KRefresh) {
			fresh = fresh && (ch.Version <= e.Seen || restsOn(e, ch))
		}
	}
	var err error
	switch {
	case !fresh:
		err = a.Bank.MarkStale(ctx, r.Space, []qabank.ID{e.ID}, newerDocuments)
	case whole:
		err = a.Bank.Confirm(ctx, r.Space, e.ID, seen)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound { // NotFound: it was evicted
		p.without("the bank", err)
	}
	return fresh, nil
}

// outgrown says whether documents have outgrown a stored answer. They have if its
// question's prompt would hold a chunk that the answer does not rest on, or if such a
// chunk is among its best and came in after the answer. Where chunks stand in a sequence
// by relevance, they have also if the order differs.
func (a *Asker) outgrown(space string, s Settings, best []percached.Chunk, e qabank.Entry) (bool, error) {
	ordered := s.Placement == percached.Sequential && s.Order == percached.Relevance
	prompt := best[:min(len(best), s.K)]
	if len(e.Evidence) < len(prompt) { // they may not all fit the context
		plan, err := planPrompt(a.Engine, Question{Space: space, Text: e.Question}, s, percached.Foreground, prompt)
		if err != nil || len(plan.used()) != len(e.Evidence) {
			return true, err
		}
		prompt = plan.used()
	}
	for i, c := range prompt {
		if !restsOn(e, c) || ordered && e.Evidence[i].Chunk != c.ID {
			return true, nil
		}
	}
	return e.Seen > 0 && slices.ContainsFunc(best, func(c percached.Chunk) bool { return c.Version > e.Seen && !restsOn(e, c) }), nil
}

// restsOn says whether an entry's answer was made from a chunk.
func restsOn(e qabank.Entry, c percached.Chunk) bool {
	return slices.ContainsFunc(e.Evidence, func(ev percached.Evidence) bool { return ev.Chunk == c.ID })
}

// Freshen checks every stored answer of a space that is older than the latest change of
// its documents. Answers that the documents have outgrown are marked stale, the others
// confirmed. It returns how many became stale.
func (a *Asker) Freshen(ctx context.Context, space string) (int, error) {
	const op = "answer.Freshen"
	set, err := a.Settings(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	seq, err := a.Knowledge.Seq(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	seq = min(seq, a.standing(space).Seq)
	var behind []qabank.Entry
	if err := a.Bank.Each(space, func(e qabank.Entry) error {
		if !e.Stale && e.Seen < seq {
			behind = append(behind, e)
		}
		return nil
	}); err != nil {
		return 0, fault.Wrap(op, err)
	}
	var stale []qabank.ID
	for _, e := range behind {
		best, err := a.searchStored(ctx, space, e, set, percached.Background)
		if ctx.Err() != nil { // the entries found stale so far are marked all the same
			marked := a.Bank.MarkStale(context.WithoutCancel(ctx), space, stale, newerDocuments)
			return 0, fault.Wrap(op, errors.Join(interruption(ctx, ctx.Err()), marked))
		}
		if err != nil {
			return 0, fault.Wrap(op, err)
		}
		grown, err := a.outgrown(space, set, best, e)
		if err != nil {
			return 0, fault.Wrap(op, err)
		}
		if grown {
			stale = append(stale, e.ID)
			continue
		}
		err = a.Bank.Confirm(ctx, space, e.ID, seq)
		if err != nil && fault.KindOf(err) != fault.NotFound { // NotFound: it was evicted
			return 0, fault.Wrap(op, err)
		}
	}
	return len(stale), fault.Wrap(op, a.Bank.MarkStale(ctx, space, stale, newerDocuments))
}
