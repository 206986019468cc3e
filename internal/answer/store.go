package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer/grounded"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/qabank"
)

// draft is an answer that is not yet stored.
type draft struct {
	Answer
	found retrieved
	rests []percached.Chunk // the chunks that it was made from, best first
	made  madeSlices
	talk  talk // in the prompt
	// considered is the stored answer that came nearest to being served instead.
	considered *qabank.Check
}

// finish grounds the answer and stores what came of the question. If idle work was cut
// short (err), the tensors that it made until then are stored. Idle work that cannot be
// stored has failed; a client gets its answer all the same.
func (a *Asker) finish(ctx context.Context, r request, d draft, err error, p *progress) (Answer, error) {
	if m := d.found.memory.Memory; m.Facts > 0 {
		d.Memory = &m
	}
	if err == nil {
		d.Grounds = a.ground(r, d)
	} else if r.work == nil {
		return d.Answer, err
	}
	answer, _, failed := a.store(ctx, r, d, err == nil, p)
	if err == nil && r.work != nil {
		err = failed
	}
	return answer, err
}

// ground looks for the answer's words in what it rests on: its citations, and what was said
// before.
func (a *Asker) ground(r request, d draft) Grounds {
	if d.Refused || a.Unchecked || r.prefills() {
		return Grounds{Grounded: true}
	}
	var passages []grounded.Passage
	for _, c := range d.Citations {
		passages = append(passages, grounded.Passage{About: c.About, Quote: c.Quote})
	}
	cited := len(passages)
	for _, said := range append(slices.Clone(d.talk.lead), d.talk.recalled) {
		passages = append(passages, grounded.Passage{Quote: said})
	}
	v := grounded.Check(r.wholeText(), r.claims(d.Text), passages)
	g := Grounds{Grounded: v.Grounded || d.Outcome == AnswerHit, Spans: v.Spans, Missing: v.Missing}
	g.Spans = slices.DeleteFunc(g.Spans, func(s grounded.Span) bool { return s.Passage >= cited })
	if g.Grounded {
		return g
	}
	if e, ok := grounded.Best(r.wholeText(), passages[:cited]); ok {
		g.Instead = &e
	}
	return g
}

// store puts slices into the tree and, if the answer is whole, the answer into the bank
// and the question into the history. It stores nothing if a chunk that the answer rests
// on went meanwhile: nothing forgotten may come back (see Settle). It stores also if ctx
// has ended. It says whether the tree lacked room for a slice.
func (a *Asker) store(ctx context.Context, r request, d draft, whole bool, p *progress) (answer Answer, crowded bool, err error) {
	a.storing.RLock()
	defer a.storing.RUnlock()
	defer p.stageEnded("store", &p.times.Store)
	answer = d.Answer
	if !a.unchanged(r.Space, d.found.seq, d.rests) || len(r.saidChunks()) > 0 && !a.unchanged(r.Space, r.read, r.alive) {
		return answer, false, errGone
	}
	if d.made.slices != nil && !a.sameTalk(r, d.found.seq) {
		d.made.drop()
	}
	if d.made.slices != nil {
		kept, failed := a.storeSlices(d.made)
		answer.Made, answer.Written, crowded = kept.chunks, kept.bytes, kept.crowded
		if err = failed; err != nil {
			p.without("storing tensors", err)
		}
	}
	if whole && answer.Outcome != AnswerHit && len(d.rests) > 0 {
		id, failed := a.storeEntry(context.WithoutCancel(ctx), r, d)
		if id != (qabank.ID{}) {
			answer.Entry = id
		}
		if failed != nil && d.found.vector() != nil {
			p.without("the bank", failed)
		}
		err = errors.Join(err, failed)
		a.learn(context.WithoutCancel(ctx), r, d, p)
	}
	if r.work == nil {
		a.remember(r, d, p)
	}
	return answer, crowded, err
}

// sameTalk says whether the conversation in the request's prompt is as it was: no document
// was deleted since, on which an answer in it may rest, and it was not deleted itself.
func (a *Asker) sameTalk(r request, seq uint64) bool {
	if len(r.Earlier) == 0 {
		return true
	}
	now, err := a.Knowledge.Seq(r.Space)
	if err != nil || r.Conversation == (percached.ChunkID{}) {
		return err == nil && now == seq
	}
	return now == r.read && a.Conversations.Has(r.Space, conversation.ID(r.Conversation))
}

// drop removes the slices that contain turns of a conversation: all that follow them.
func (m *madeSlices) drop() {
	turns := false
	for i, n := range m.request.Segments {
		turns = turns || n.Turn && n.Chunk != (percached.ChunkID{})
		if turns && (n.Turn || i < m.before || m.request.Placement == percached.Sequential) {
			m.slices[i] = nil
		}
	}
}

// keptSlices is what the tree kept of new slices.
type keptSlices struct {
	chunks  []percached.ChunkID
	bytes   int64
	crowded bool // there was no room for some of them
}

func (a *Asker) storeSlices(made madeSlices) (kept keptSlices, err error) {
	had := a.Tree.Has(made.request)
	err = a.Tree.Insert(made.request, made.slices)
	for i, has := range a.Tree.Has(made.request) {
		switch {
		case made.slices[i] == nil || had[i]:
		case !has:
			kept.crowded = true
		default:
			kept.bytes += made.slices[i].Bytes()
			if i >= made.before {
				kept.chunks = append(kept.chunks, made.request.Segments[i].Chunk)
			}
		}
	}
	return kept, err
}

// storeEntry puts a computed answer into the bank. It returns no ID if the bank is not to
// have it: if the model failed or made something up, or a client's own bound cut it. A space
// without a guard stores what the model makes up, too.
func (a *Asker) storeEntry(ctx context.Context, r request, d draft) (qabank.ID, error) {
	cut := d.Finish == percached.FinishLength
	if !r.banked || d.Finish.Failed() || r.settings.Guard && !d.Grounded || cut && r.maxTokens < r.settings.MaxTokens {
		return qabank.ID{}, nil
	}
	if d.found.vector() == nil {
		return qabank.ID{}, fault.New(fault.Unavailable, "answer.store", "an answer is stored with its question's vector, and there is none")
	}
	now := a.Now()
	e := qabank.Entry{
		Space: r.Space, Question: r.Text, Answer: d.Text, Answered: !r.prefills(), Refused: d.Refused, Cut: cut,
		Vector: d.found.vector(), Embedder: a.Embedder.Info().Fingerprint, Seen: d.found.seen, Origin: Asked, Settings: r.mark, Under: r.under, Made: now,
	}
	for _, c := range d.rests {
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: c.ID, Version: c.Version})
	}
	if r.work == nil {
		e.Sources = r.saidChunks() // the question was understood from what they say
		if len(e.Sources) > qabank.MaxEvidence {
			return qabank.ID{}, nil
		}
	}
	if qabank.RelativeTime(r.Text) {
		e.Expires = qabank.MidnightAfter(now)
	}
	var want func(qabank.Info, bool) bool
	if r.Bypass || r.work != nil {
		old, there, err := a.Bank.ExactUnder(r.Space, r.Text, r.under)
		switch {
		case err != nil:
			return qabank.ID{}, err
		case there && (r.Bypass || r.prefills() && old.Answered && !old.Stale && old.Settings == r.mark):
			return qabank.ID{}, nil
		case there:
			e.Origin, e.Sources = old.Origin, old.Sources
			e.Changed = r.work.Again && changes(&old, &e)
		case r.work != nil && r.work.Again:
			return qabank.ID{}, fault.New(fault.NotFound, "answer.store", "the question was forgotten while it was answered")
		case r.work != nil:
			e.Origin, e.Sources = r.work.Origin, r.work.Sources
		}
		if !a.sourcesExist(r.Space, e.Sources, &old, there) {
			return qabank.ID{}, errGone
		}
		want = func(now qabank.Info, still bool) bool {
			return still == there && now.Answered == old.Answered && now.Stale == old.Stale
		}
	}
	if d.Chunks.Packed > 0 && r.work == nil { // idle work answers it again, exactly
		e.Stale, e.StaleWhy = true, "it was made from packed tensors"
		if want == nil {
			want = func(now qabank.Info, there bool) bool { return !there || now.Stale || !now.Answered }
		}
	}
	id, put, err := a.Bank.PutIf(ctx, e, want)
	if put {
		if e.Changed && a.Observer.Changed != nil {
			a.Observer.Changed(r.Space, id)
		}
		return id, err
	}
	if err == nil && r.work != nil {
		kind := fault.Conflict
		if exists, _ := a.Bank.Has(r.Space, id); !exists {
			kind = fault.NotFound
		}
		err = fault.New(kind, "answer.store", "the question was changed or forgotten while it was answered")
	}
	return qabank.ID{}, err
}

// changes says whether background work gave the question of a user another answer than
// the user knows: new documents changed it.
func changes(old, now *qabank.Entry) bool {
	if old.Origin != Asked || !old.Answered || !now.Answered || old.Settings != now.Settings {
		return false
	}
	same, ok := grounded.Agreement(now.Question, now.Answer, old.Answer)
	return old.Changed || old.Refused != now.Refused || !now.Refused && ok && same < 1
}

// sourcesExist says whether the chunks that a question was made from still exist, and
// those of its old answer: a chunk of an entry that is not stale goes only if it is
// forgotten, and then the question is forgotten too.
func (a *Asker) sourcesExist(space string, sources []percached.ChunkID, old *qabank.Entry, there bool) bool {
	ids := slices.Clone(sources)
	if there && !old.Stale {
		for _, ev := range old.Evidence {
			ids = append(ids, ev.Chunk)
		}
	}
	now, err := a.Knowledge.Chunks(space, ids)
	return err == nil && len(now) == len(ids)
}

// maxRecordedAnswer bounds an answer in the history, in bytes.
const maxRecordedAnswer = 4 << 10

// remember puts the question into the space's history.
func (a *Asker) remember(r request, d draft, p *progress) {
	rec := Record{Asked: p.began, Question: r.Text, Outcome: d.Outcome, Took: a.Now().Sub(p.began)}
	if r.settings.Trajectories {
		rec.Answer = d.Text[:min(len(d.Text), maxRecordedAnswer)]
		if d.Memory != nil {
			rec.Memory = &d.Memory.Needed
		}
	}
	for _, c := range d.rests {
		rec.Chunks = append(rec.Chunks, c.ID)
	}
	rec.Chunks = unique(append(rec.Chunks, r.saidChunks()...))
	if err := a.History.Add(r.Space, rec, d.Outcome != AnswerHit); err != nil {
		p.without("the history", err)
	}
}
