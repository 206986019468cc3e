package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// considered is how many near questions go before the gate.
const considered = 4

// Gate says why the bank's answer was served, or why none was.
type Gate struct {
	Why        string
	Similarity float64 // of the nearest question that was considered
	Considered []Considered
}

// Considered is a stored question that went before the gate.
type Considered struct {
	Entry      qabank.ID
	Question   string
	Exact      bool
	Similarity float64
	Served     bool
	Tests      []qabank.Test
}

// fromBank serves the question from the bank if it can.
func (r *run) fromBank(ctx context.Context) (bool, error) {
	g := &r.answer.Gate
	switch {
	case !r.set.Bank:
		g.Why = "the bank is off in this space"
	case r.q.Instructions != "":
		g.Why = "there are instructions beside the service's own"
	case !r.useBank:
		g.Why = "the question leans on earlier ones"
	case r.q.Refresh:
		g.Why = "a fresh answer was asked for"
	case r.q.Bypass:
		g.Why = "the bank was to be bypassed"
	default:
		g.Why = "no stored question is near enough"
		if served, err := r.exact(ctx); served || err != nil {
			return served, err
		}
		if err := r.embed(ctx); err != nil {
			return false, err
		}
		return r.near(ctx)
	}
	err := r.embed(ctx)
	r.ended("match_question", &r.answer.Times.MatchQuestion)
	return false, err
}

// exact serves a question that was asked in the same words before.
func (r *run) exact(ctx context.Context) (bool, error) {
	e, ok, err := r.Bank.Exact(r.q.Space, r.q.Text)
	if err != nil {
		r.without("the bank", err)
	}
	if !ok {
		return false, nil
	}
	r.entry = &e
	c := qabank.Candidate{Entry: e, Similarity: 1}
	served, err := r.consider(ctx, c, true)
	if served {
		r.ended("match_question", &r.answer.Times.MatchQuestion)
	}
	return served, err
}

// near serves a question that resembles one asked before.
func (r *run) near(ctx context.Context) (bool, error) {
	var found []qabank.Candidate
	if r.vector != nil {
		found = r.Bank.Match(r.q.Space, r.vector, r.Embedder.Info().Fingerprint, r.set.Threshold, considered)
	}
	r.ended("match_question", &r.answer.Times.MatchQuestion)
	for _, c := range found {
		if r.entry != nil && c.Entry.ID == r.entry.ID {
			continue // it has been before the gate
		}
		if r.set.Guard {
			if err := r.retrieve(ctx); err != nil {
				return false, err
			}
		}
		if served, err := r.consider(ctx, c, false); served || err != nil {
			return served, err
		}
	}
	return false, nil
}

// consider holds a stored answer against the gate, and serves it if it passes.
func (r *run) consider(ctx context.Context, c qabank.Candidate, exact bool) (bool, error) {
	ids := make([]percached.ChunkID, len(c.Entry.Evidence))
	for i, e := range c.Entry.Evidence {
		ids[i] = e.Chunk
	}
	evidence, err := r.Knowledge.Chunks(r.q.Space, ids)
	if err != nil { // what is missing of it counts as gone
		r.without("the evidence of a stored answer", err)
	}
	ask := qabank.Ask{
		Question: r.q.Text, Exact: exact, Settings: r.mark, Threshold: r.set.Threshold, MaxAge: r.q.MaxAge,
		Now: r.Now(), Guard: r.set.Guard, Versions: map[percached.ChunkID]uint64{},
	}
	for _, ch := range evidence {
		ask.Versions[ch.ID] = ch.Version
	}
	for _, ch := range r.own[:min(len(r.own), r.set.K)] {
		ask.Own = append(ask.Own, ch.ID)
	}
	v := qabank.Judge(c, ask)
	if v.Serve {
		fresh, err := r.fresh(ctx, c.Entry, exact)
		if err != nil {
			return false, err
		}
		test := qabank.Test{Name: "fresh", Passed: fresh}
		if !fresh {
			test.Detail = "newer documents bear on it"
		}
		v.Tests = append(v.Tests, test)
		v.Serve = fresh
	}
	g := &r.answer.Gate
	g.Similarity = max(g.Similarity, c.Similarity)
	g.Considered = append(g.Considered, Considered{
		Entry: c.Entry.ID, Question: c.Entry.Question, Exact: exact, Similarity: c.Similarity, Served: v.Serve, Tests: v.Tests,
	})
	if !v.Serve {
		if len(g.Considered) == 1 { // the nearest comes first
			g.Why = "not served: " + failed(v.Tests)
		}
		return false, nil
	}
	g.Why = "a question near enough was answered before, and nothing speaks against its answer"
	if exact {
		g.Why = "the same question was answered before, and its documents are unchanged"
	}
	r.Bank.Hit(r.q.Space, c.Entry.ID)
	r.answer.Entry = c.Entry.ID
	r.answer.Outcome, r.answer.Text, r.answer.Refused = AnswerHit, c.Entry.Answer, c.Entry.Refused
	if c.Entry.Cut {
		r.answer.Finish = percached.FinishLength
	}
	r.cite(evidence)
	r.f.tell(event{piece: c.Entry.Answer})
	return true, nil
}

// fresh: the answer is what would be computed today as far as the documents
// decide it. Of an exact repeat today's prompt must hold the same chunks (see
// outgrown), and that of an answer which was never held against a whole search; of a
// near question it is else enough that none of its best chunks came in later. An
// entry that is not fresh is marked stale.
func (r *run) fresh(ctx context.Context, e qabank.Entry, exact bool) (bool, error) {
	if !r.set.Guard || e.Seen >= r.seq {
		return true, nil
	}
	fresh, own := true, exact || e.Seen == 0
	var seen uint64
	if own {
		seen = min(r.seq, r.standing(r.q.Space).Seq)
		best, err := r.best(ctx, r.q.Space, e, r.set, percached.Foreground)
		if err != nil {
			return false, err
		}
		grown, err := r.outgrown(r.q.Space, r.set, best, e)
		if err != nil {
			return false, err
		}
		fresh = !grown
	} else {
		for _, c := range r.own[:min(len(r.own), r.set.KRefresh)] {
			fresh = fresh && (c.Version <= e.Seen || rests(e, c))
		}
	}
	var err error
	switch {
	case !fresh:
		err = r.Bank.MarkStale(ctx, r.q.Space, []qabank.ID{e.ID}, newer)
	case own:
		err = r.Bank.Confirm(ctx, r.q.Space, e.ID, seen)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound { // it may have made room for another
		r.without("the bank", err)
	}
	return fresh, nil
}

// outgrown: a chunk that an answer does not rest on would be in its question's
// prompt, or came in later, if it is known since when, and is among its best. Where chunks stand behind each
// other by relevance, the order must be the same, too.
func (a *Asker) outgrown(space string, s Settings, best []percached.Chunk, e qabank.Entry) (bool, error) {
	ordered := s.Placement == percached.Sequential && s.Order == percached.Relevance
	prompt := best[:min(len(best), s.K)]
	if len(e.Evidence) < len(prompt) { // they may not all fit in
		held, err := a.held(space, e.Question, s, prompt)
		if err != nil || len(held) != len(e.Evidence) {
			return true, err
		}
		prompt = held
	}
	for i, c := range prompt {
		if !rests(e, c) || ordered && e.Evidence[i].Chunk != c.ID {
			return true, nil
		}
	}
	return e.Seen > 0 && slices.ContainsFunc(best, func(c percached.Chunk) bool { return c.Version > e.Seen && !rests(e, c) }), nil
}

// held are those of a question's chunks that its prompt would hold, best first.
func (a *Asker) held(space, question string, s Settings, chunks []percached.Chunk) ([]percached.Chunk, error) {
	r := &run{Asker: a, q: Question{Space: space, Text: question}, set: s, f: newFlight("", nil)}
	p, err := r.layOut(chunks)
	if err != nil {
		return nil, err
	}
	return p.used(), nil
}

// rests: an entry's answer was made from a chunk.
func rests(e qabank.Entry, c percached.Chunk) bool {
	return slices.ContainsFunc(e.Evidence, func(ev percached.Evidence) bool { return ev.Chunk == c.ID })
}

// keep puts a computed answer into the bank.
func (r *run) keep(ctx context.Context) error {
	if !r.useBank || r.most < r.set.MaxTokens && r.answer.Finish == percached.FinishLength {
		return nil // or it would be given to who wants all of it
	}
	if r.answer.Finish.Failed() || !r.answer.Grounded {
		return nil // the model lost the thread or did not come to an answer, or makes something up
	}
	if r.vector == nil {
		return fault.New(fault.Unavailable, "answer.keep", "without a vector nothing is kept")
	}
	now := r.Now()
	e := qabank.Entry{
		Space: r.q.Space, Question: r.q.Text, Answer: r.answer.Text, Answered: true, Refused: r.answer.Refused, Cut: r.answer.Finish == percached.FinishLength,
		Vector: r.vector, Embedder: r.Embedder.Info().Fingerprint, Seen: r.seen, Origin: Asked, Settings: r.mark, Made: now,
	}
	var want func(qabank.Info, bool) bool
	if r.q.Bypass || r.work != nil {
		old, there, err := r.Bank.Exact(r.q.Space, r.q.Text)
		switch {
		case err != nil:
			return err
		case there && (r.q.Bypass || r.work.Prefill && old.Answered && !old.Stale && old.Settings == r.mark):
			return nil
		case there:
			e.Origin, e.Sources = old.Origin, old.Sources
		case r.work != nil && r.work.Again:
			return fault.New(fault.NotFound, "answer.keep", "the question was forgotten meanwhile")
		case r.work != nil:
			e.Origin, e.Sources = r.work.Origin, r.work.Sources
		}
		if !r.backed(&e, &old, there) {
			return errGone
		}
		e.Answered = r.work == nil || !r.work.Prefill
		want = func(now qabank.Info, still bool) bool {
			return still == there && now.Answered == old.Answered && now.Stale == old.Stale
		}
	}
	for _, c := range r.rests {
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: c.ID, Version: c.Version})
	}
	if qabank.RelativeTime(r.q.Text) {
		e.Expires = qabank.MidnightAfter(now)
	}
	id, put, err := r.Bank.PutIf(ctx, e, want)
	if put {
		r.answer.Entry = id
	}
	if err == nil && !put && r.work != nil {
		kind := fault.Conflict
		if exists, _ := r.Bank.Has(r.q.Space, id); !exists {
			kind = fault.NotFound
		}
		err = fault.New(kind, "answer.keep", "the question was changed or forgotten meanwhile")
	}
	return err
}

// backed says whether what a question came from is there. What an entry that is
// not stale rests on only goes when it is forgotten, and so is the question then.
func (r *run) backed(e, old *qabank.Entry, there bool) bool {
	ids := slices.Clone(e.Sources)
	if there && !old.Stale {
		for _, ev := range old.Evidence {
			ids = append(ids, ev.Chunk)
		}
	}
	now, err := r.Knowledge.Chunks(r.q.Space, ids)
	return err == nil && len(now) == len(ids)
}

// failed names the first test that failed.
func failed(tests []qabank.Test) string {
	for _, t := range tests {
		if !t.Passed {
			if t.Detail != "" {
				return t.Name + " (" + t.Detail + ")"
			}
			return t.Name
		}
	}
	return "unknown"
}
