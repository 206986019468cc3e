package idle

import (
	"context"
	"strconv"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

// served is the history cursor after which questions answered by another question's entry
// are still to be processed.
const served = "served"

// quietBeforeCheck is how long documents must be unchanged before all entries are checked
// against them. Each check costs a search, and an unchecked entry is never served blindly
// anyway.
const quietBeforeCheck = time.Hour

// dueCheck names a job if entries were last checked against an earlier state of the
// documents.
func (w *Worker) dueCheck(ctx context.Context, space string, r rules, _ int) ([]scheduler.Due, error) {
	if !r.Bank {
		return nil, nil
	}
	seq, err := w.seq(space)
	if err != nil {
		return nil, err
	}
	behind := false
	if err := w.Bank.Scan(space, func(e qabank.Info) error {
		behind = behind || !e.Stale && e.Seen < seq
		return nil
	}); err != nil || !behind {
		return nil, err
	}
	_, newest, err := w.Predictor.Unsummarised(ctx, space, 0)
	return []scheduler.Due{{Subject: strconv.FormatUint(seq, 10), From: w.quietSince(newest, max(quietBeforeCheck, r.QuietDocuments))}}, err
}

// seq is the space's count of changes.
func (w *Worker) seq(space string) (uint64, error) {
	seq, err := w.Knowledge.Seq(space)
	if err != nil {
		return 0, err
	}
	st, err := w.Index.Standing(space)
	return min(seq, st.Seq), err
}

// check flushes its result, so that a crash does not repeat it.
func (w *Worker) check(ctx context.Context, space string, _ rules, _ string) (scheduler.Done, error) {
	_, err := w.Asker.Freshen(ctx, space)
	if err == nil {
		err = w.Bank.Flush(ctx)
	}
	return scheduler.Done{}, err
}

// dueRefresh names stale entries that a user asked or was served. Predicted entries
// without use count as prediction; see duePopulate.
func (w *Worker) dueRefresh(_ context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.Bank { // the result would not be kept
		return nil, nil
	}
	return w.entries(space, limit, func(i qabank.Info) bool { return isUsed(i) && r.needsRefresh(i) })
}

// isUsed reports whether a user asked an entry's question or was served by it.
func isUsed(i qabank.Info) bool { return i.Origin == answer.Asked || i.Hits > 0 }

// needsRefresh reports whether to answer an entry again: it is stale, or nobody used it
// and it was made with another model or other settings.
func (r rules) needsRefresh(i qabank.Info) bool { return i.Stale || i.Settings != r.mark && !isUsed(i) }

// entries lists the entries that want selects.
func (w *Worker) entries(space string, limit int, want func(qabank.Info) bool) ([]scheduler.Due, error) {
	var due []scheduler.Due
	err := w.Bank.Scan(space, func(i qabank.Info) error {
		if len(due) < limit && i.Under == "" && want(i) {
			due = append(due, scheduler.Due{Subject: i.ID.String()})
		}
		return nil
	})
	return due, err
}

// refresh answers again an entry that must not be served, or only prefills it like other
// unused predictions. If the question came from a deleted chunk it deletes the entry.
func (w *Worker) refresh(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	e, err := w.entry(space, subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	i, there := w.Bank.Info(space, e.ID)
	if !there || !r.needsRefresh(i) {
		return nothing()
	}
	alive, err := w.Knowledge.Versions(space, e.Sources)
	if err != nil {
		return scheduler.Done{}, err
	}
	if len(alive) < len(e.Sources) {
		return scheduler.Done{}, w.Bank.Delete(ctx, space, e.ID)
	}
	return w.recompute(ctx, space, e, r.prefills() && e.Origin != answer.Asked && (!e.Answered || !isUsed(i)))
}

// recompute answers an entry again. It deletes the entry if there is no document for it
// or no answer worth keeping.
func (w *Worker) recompute(ctx context.Context, space string, e qabank.Entry, prefill bool) (scheduler.Done, error) {
	got, err := w.Asker.Work(ctx, answer.Work{Space: space, Question: e.Question, Prefill: prefill, Again: true})
	d := cost(got)
	if err != nil {
		return d, err
	}
	d.Questions = countKept(got)
	switch {
	case len(got.Citations) == 0:
		err = w.Bank.Delete(ctx, space, e.ID)
	case got.Entry != e.ID && d.Questions == 0: // and never will
		err = w.Bank.Delete(ctx, space, e.ID)
	case got.Entry != e.ID: // otherwise it would be repeated forever
		err = fault.New(fault.Unavailable, "idle.renew", "the answer was not kept")
	}
	return d, err
}

// countKept counts an answer that the bank keeps: grounded and complete.
func countKept(got answer.Answer) int {
	if !got.Grounded || got.Finish.Failed() {
		return 0
	}
	return 1
}

func (w *Worker) entry(space, subject string) (qabank.Entry, error) {
	i, err := id(subject)
	if err != nil {
		return qabank.Entry{}, err
	}
	return w.Bank.Get(space, i)
}

// dueAnswer names questions that a user asked and that have no answer of their own.
func (w *Worker) dueAnswer(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.Bank {
		return nil, nil
	}
	if err := w.addServedQuestions(ctx, space, r); err != nil {
		return nil, err
	}
	return w.unanswered(space, r, limit, true)
}

func (w *Worker) unanswered(space string, r rules, limit int, asked bool) ([]scheduler.Due, error) {
	return w.entries(space, limit, func(i qabank.Info) bool {
		return !i.Answered && !i.Stale && (i.Origin == answer.Asked) == asked && (asked || i.Settings == r.mark)
	})
}

// addServedQuestions creates an entry without an answer for each question that was served
// by another question's entry.
func (w *Worker) addServedQuestions(ctx context.Context, space string, r rules) error {
	for {
		asked, upto, err := w.History.Since(space, served, 64)
		if err != nil || len(asked) == 0 {
			return err
		}
		for _, rec := range asked {
			if ctx.Err() != nil {
				return fault.Wrap("idle.absorb", ctx.Err())
			}
			if rec.Outcome != answer.AnswerHit {
				continue
			}
			if err := w.addQuestion(ctx, space, rec, r); err != nil {
				return err
			}
		}
		if err := w.History.Advance(space, served, upto); err != nil {
			return err
		}
	}
}

// addQuestion puts a question into the bank for answering, unless it was removed from the
// history meanwhile.
func (w *Worker) addQuestion(ctx context.Context, space string, rec answer.Record, r rules) error {
	if there, _ := w.Bank.Has(space, qabank.NewID(space, rec.Question)); there {
		return nil
	}
	vs, err := w.Embedder.Embed(ctx, percached.Background, []string{rec.Question})
	if err != nil {
		return err
	}
	e := qabank.Entry{
		Space: space, Question: rec.Question, Vector: vs[0], Embedder: w.Embedder.Info().Fingerprint,
		Origin: answer.Asked, Settings: r.mark, Made: w.Now(),
	}
	if e.Seen, err = w.seq(space); err != nil {
		return err
	}
	return w.Asker.Keep(func() error {
		if there, err := w.History.Has(space, rec.Number); !there || err != nil {
			return err
		}
		alive, err := w.Knowledge.Versions(space, rec.Chunks)
		if len(alive) < len(rec.Chunks) {
			return ignoreGone(err) // its chunks are gone; forgetting them also forgets the question
		}
		for _, c := range rec.Chunks {
			e.Evidence = append(e.Evidence, percached.Evidence{Chunk: c, Version: alive[c]})
		}
		_, err = w.Bank.Put(ctx, e)
		return err
	})
}

// dueDecode names prefilled predictions whose answers the current threshold would serve.
func (w *Worker) dueDecode(_ context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.decodes() {
		return nil, nil
	}
	return w.unanswered(space, r, limit, false)
}

// decode answers an entry that has no answer, using its stored tensors as far as
// available.
func (w *Worker) decode(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	e, err := w.entry(space, subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	if e.Answered || e.Origin != answer.Asked && !r.decodes() {
		return nothing()
	}
	return w.recompute(ctx, space, e, false)
}
