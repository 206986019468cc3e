package answer

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Work is a question that no client waits for. It is answered in the background, without
// the bank's answers, and does not enter the history.
type Work struct {
	Space    string
	Question string
	// Prefill stops before the answer. It keeps the tensors, and an entry without an
	// answer, to be answered later.
	Prefill bool
	// Origin says what proposed the question, and Sources from which chunks. An entry
	// that exists keeps its own.
	Origin  string
	Sources []percached.ChunkID
	// Again says that the bank has the question. If it is forgotten before the answer is
	// complete, nothing is stored, and Work returns NotFound.
	Again bool
	// MaxTokens of the answer; 0: as the settings say.
	MaxTokens int
	// Settings replace those of the space.
	Settings percached.Settings
}

// Work does idle work. When a client asks something, or ctx ends with that cause, it
// returns percached.ErrPreempted; the tensors computed until then are kept. With an error
// the answer says what the work took.
//
// No error means that the answer is stored, or that the bank is not to have it (it is not
// grounded, or a loop): then it has no Entry.
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
	ctx, f, err := a.beginWork(ctx)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	defer a.endWork(f)
	got, err := a.answer(ctx, a.newRequest(q, set, &w), a.newProgress(nil))
	return got, fault.Wrap(op, interruption(ctx, err))
}

// Fill computes the tensors of these chunks that are not stored, in the order of a
// prompt, and stores them. It returns Unavailable if there was no room for some, and
// NotFound if a chunk is gone. It gives way like Work.
func (a *Asker) Fill(ctx context.Context, space string, chunks []percached.ChunkID) (Answer, error) {
	const op = "answer.Fill"
	ctx, f, err := a.beginWork(ctx)
	if err != nil {
		return Answer{}, fault.Wrap(op, err)
	}
	defer a.endWork(f)
	p := a.newProgress(nil)
	answer, err := a.fill(ctx, space, chunks, p)
	return p.complete(answer, err), fault.Wrap(op, interruption(ctx, err))
}

func (a *Asker) fill(ctx context.Context, space string, ids []percached.ChunkID, p *progress) (Answer, error) {
	r, found, err := a.fillRequest(space, ids)
	if err != nil {
		return Answer{}, err
	}
	plan, err := a.plan(r, found.chunks, p)
	if err != nil {
		return Answer{}, err
	}
	answer, made, err := a.generate(ctx, r, plan, a.matchTensors(r, plan, p), nil, p)
	answer, crowded, failed := a.store(ctx, r, draft{Answer: answer, found: found, rests: plan.used(), made: made}, false, p)
	switch {
	case err != nil:
		return answer, err
	case failed != nil:
		return answer, failed
	case crowded:
		return answer, fault.New(fault.Unavailable, "answer.Fill", "the tensor tree has no room for what was computed")
	}
	return answer, nil
}

// Missing counts the tokens of a prompt of these chunks whose tensors are not stored. It
// returns NotFound if a chunk is gone.
func (a *Asker) Missing(space string, chunks []percached.ChunkID) (tokens int, err error) {
	const op = "answer.Missing"
	r, found, err := a.fillRequest(space, chunks)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	plan, err := planPrompt(a.Engine, r.Question, r.settings, r.priority(), found.chunks)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	for i, lacks := range a.Tree.Lacks(a.treeRequest(r, plan)) {
		if lacks {
			tokens += len(plan.nodes[i].Tokens)
		}
	}
	return tokens, nil
}

// fillRequest makes a request without a question, and reads its chunks.
func (a *Asker) fillRequest(space string, ids []percached.ChunkID) (request, retrieved, error) {
	set, err := a.Settings(space)
	if err != nil {
		return request{}, retrieved{}, err
	}
	r := a.newRequest(Question{Space: space}, set, &Work{Prefill: true})
	var found retrieved
	if found.seq, err = a.Knowledge.Seq(space); err != nil {
		return r, found, err
	}
	found.chunks, err = a.Knowledge.Chunks(space, ids)
	if len(found.chunks) != len(ids) && (err == nil || fault.KindOf(err) == fault.Internal) {
		err = fault.New(fault.NotFound, "answer.Fill", "a chunk is gone or damaged")
	}
	return r, found, err
}

// interruption returns why work ended, if it was preempted or closed; err otherwise.
func interruption(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, percached.ErrPreempted) {
		return err
	}
	if c := context.Cause(ctx); errors.Is(c, percached.ErrPreempted) || errors.Is(c, errClosed) {
		return c
	}
	return err
}
