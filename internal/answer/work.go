package answer

import (
	"context"
	"errors"
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Work is a question that nobody waits for. It is answered in the background,
// past the bank, and is no part of the history.
type Work struct {
	Space    string
	Question string
	// Prefill stops before the answer: the tensors are kept, and an entry without
	// an answer, to be answered later.
	Prefill bool
	// Origin says who thought of the question, and Sources which chunks it was
	// made from. What an entry that is there already says of that stays.
	Origin  string
	Sources []percached.ChunkID
	// Again says that the bank has the question: if it was forgotten by the time
	// the answer is there, nothing is kept, and that is NotFound.
	Again bool
	// MaxTokens of the answer; 0: as the settings say.
	MaxTokens int
	// Settings are what this work wants otherwise than its space.
	Settings percached.Settings
}

// Work does idle work. It gives way with percached.ErrPreempted as soon as
// somebody asks, or when ctx ends with that cause; the tensors that were computed
// until then are kept. With an error the answer says what it took.
//
// Done means stored: what was computed but could not be kept is an error. An answer
// that the bank does not want, as it is not grounded or is a loop, has no Entry.
func (a *Asker) Work(ctx context.Context, w Work) (Answer, error) {
	const op = "answer.Work"
	q := Question{Space: w.Space, Text: w.Question, Refresh: true, MaxTokens: w.MaxTokens, Settings: w.Settings}
	if err := q.check(); err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	set, err := a.settingsOf(q)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	ctx, f, err := a.takeUp(ctx)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	defer a.layDown(f)
	got, err := a.answer(ctx, q, set, &w, f)
	return got, fault.Wrap(op, cause(ctx, err))
}

// Fill computes the tensors of these chunks that are not stored, in the order of
// a prompt, and keeps those for which there is room; Unavailable: there was none for
// some. A chunk that is gone is NotFound. It gives way like Work.
func (a *Asker) Fill(ctx context.Context, space string, chunks []percached.ChunkID) (Answer, error) {
	const op = "answer.Fill"
	ctx, f, err := a.takeUp(ctx)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	defer a.layDown(f)
	r, found, err := a.filling(space, chunks, f)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	err = r.compute(ctx, found, true)
	if stored := r.store(ctx, false); err == nil {
		err = stored
	}
	if err == nil && r.crowded {
		err = fault.New(fault.Unavailable, op, "there was no room for what was computed")
	}
	return r.answer, fault.Wrap(op, cause(ctx, err))
}

// Missing counts the tokens of a prompt of these chunks whose tensors are not
// stored. A chunk that is gone is NotFound.
func (a *Asker) Missing(space string, chunks []percached.ChunkID) (tokens int, err error) {
	const op = "answer.Missing"
	r, found, err := a.filling(space, chunks, newFlight("", nil))
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	p, err := r.layOut(found)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	for i, stored := range a.Tree.Has(r.request(p)) {
		if !stored {
			tokens += len(p.nodes[i].Tokens)
		}
	}
	return tokens, nil
}

// filling begins a prompt that nobody asks for.
func (a *Asker) filling(space string, ids []percached.ChunkID, f *flight) (*run, []percached.Chunk, error) {
	set, err := a.Settings(space)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.begin(Question{Space: space}, set, &Work{Prefill: true}, f)
	if err != nil {
		return nil, nil, err
	}
	found, err := a.Knowledge.Chunks(space, ids)
	if len(found) != len(ids) && (err == nil || fault.KindOf(err) == fault.Internal) {
		err = fault.New(fault.NotFound, "answer.filling", "a chunk is gone, or damaged")
	}
	return r, found, err
}

// takeUp enters work among the flights, so that Close ends it. Nobody joins it.
func (a *Asker) takeUp(ctx context.Context) (context.Context, *flight, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, errClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a.works++
	f := newFlight(fmt.Sprintf("work %d", a.works), cancel) // a question's key begins with a quote
	a.flights[f.key] = f
	a.running.Add(1)
	return ctx, f, nil
}

func (a *Asker) layDown(f *flight) {
	f.cancel(nil)
	a.mu.Lock()
	delete(a.flights, f.key)
	a.mu.Unlock()
	a.running.Done()
}

// cause is why work ended, if somebody ended it.
func cause(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, percached.ErrPreempted) {
		return err
	}
	if c := context.Cause(ctx); errors.Is(c, percached.ErrPreempted) || errors.Is(c, errClosed) {
		return c
	}
	return err
}
