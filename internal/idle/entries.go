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

// served is the cursor in the history behind which nobody has looked yet for
// questions that the bank answered with another question's answer.
const served = "served"

// settled is how long documents must have been quiet before all entries are held
// against them: each costs a search, and none is served unseen in any case.
const settled = time.Hour

// dueCheck: entries were last held against an earlier state of the documents.
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
	return []scheduler.Due{{Subject: strconv.FormatUint(seq, 10), From: w.quiet(newest, max(settled, r.QuietDocuments))}}, err
}

// seq is the count of changes of a space that a search knows.
func (w *Worker) seq(space string) (uint64, error) {
	seq, err := w.Knowledge.Seq(space)
	if err != nil {
		return 0, err
	}
	st, err := w.Index.Standing(space)
	return min(seq, st.Seq), err
}

// check is done when it is written down, or it would be done once more after a
// crash.
func (w *Worker) check(ctx context.Context, space string, _ rules, _ string) (scheduler.Done, error) {
	_, err := w.Asker.Freshen(ctx, space)
	if err == nil {
		err = w.Bank.Flush(ctx)
	}
	return scheduler.Done{}, err
}

// dueRefresh: stale entries that a person asked, or was served. Those that were
// predicted and never used are a cost of prediction: see duePopulate.
func (w *Worker) dueRefresh(_ context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.Bank { // nothing would be kept of it
		return nil, nil
	}
	return w.entries(space, limit, func(i qabank.Info) bool { return used(i) && r.worn(i) })
}

// used says whether an entry is of use to a person, or was.
func used(i qabank.Info) bool { return i.Origin == answer.Asked || i.Hits > 0 }

// worn says whether an entry is to be answered again when there is time: what is
// stale and, of what nobody used, what was made by another model or under other
// settings.
func (r rules) worn(i qabank.Info) bool { return i.Stale || i.Settings != r.mark && !used(i) }

// entries names entries that are wanted.
func (w *Worker) entries(space string, limit int, want func(qabank.Info) bool) ([]scheduler.Due, error) {
	var due []scheduler.Due
	err := w.Bank.Scan(space, func(i qabank.Info) error {
		if len(due) < limit && want(i) {
			due = append(due, scheduler.Due{Subject: i.ID.String()})
		}
		return nil
	})
	return due, err
}

// refresh answers an entry again that is not to be served as it stands, or only
// prefills it like any prediction that nobody used. One whose question came from a
// chunk that is gone goes with it.
func (w *Worker) refresh(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	e, err := w.entry(space, subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	i, there := w.Bank.Info(space, e.ID)
	if !there || !r.worn(i) {
		return nothing()
	}
	alive, err := w.Knowledge.Versions(space, e.Sources)
	if err != nil {
		return scheduler.Done{}, err
	}
	if len(alive) < len(e.Sources) {
		return scheduler.Done{}, w.Bank.Delete(ctx, space, e.ID)
	}
	return w.renew(ctx, space, e, r.prefills() && e.Origin != answer.Asked && (!e.Answered || !used(i)))
}

// renew computes an entry anew. Without a document to answer it from, or without an
// answer that can be kept, it goes.
func (w *Worker) renew(ctx context.Context, space string, e qabank.Entry, prefill bool) (scheduler.Done, error) {
	got, err := w.Asker.Work(ctx, answer.Work{Space: space, Question: e.Question, Prefill: prefill, Again: true})
	d := cost(got)
	if err != nil {
		return d, err
	}
	d.Questions = wanted(got)
	switch {
	case len(got.Citations) == 0:
		err = w.Bank.Delete(ctx, space, e.ID)
	case got.Entry != e.ID && d.Questions == 0: // and never will have
		err = w.Bank.Delete(ctx, space, e.ID)
	case got.Entry != e.ID: // or it would be done again and again
		err = fault.New(fault.Unavailable, "idle.renew", "the answer was not kept")
	}
	return d, err
}

// wanted counts an answer that the bank wants: one that is grounded and came to its end.
func wanted(got answer.Answer) int {
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

// dueAnswer: questions that a person asked and that have no answer of their own.
func (w *Worker) dueAnswer(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.Bank {
		return nil, nil
	}
	if err := w.absorb(ctx, space, r); err != nil {
		return nil, err
	}
	return w.unanswered(space, r, limit, true)
}

func (w *Worker) unanswered(space string, r rules, limit int, asked bool) ([]scheduler.Due, error) {
	return w.entries(space, limit, func(i qabank.Info) bool {
		return !i.Answered && !i.Stale && (i.Origin == answer.Asked) == asked && (asked || i.Settings == r.mark)
	})
}

// absorb makes an entry without an answer of each question that was served with
// another one's.
func (w *Worker) absorb(ctx context.Context, space string, r rules) error {
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
			if err := w.wish(ctx, space, rec, r); err != nil {
				return err
			}
		}
		if err := w.History.Advance(space, served, upto); err != nil {
			return err
		}
	}
}

// wish puts a question into the bank to be answered, unless it was taken out of the
// history meanwhile.
func (w *Worker) wish(ctx context.Context, space string, rec answer.Record, r rules) error {
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
			return absent(err) // what it rests on is gone: whoever forgot that forgets the question, too
		}
		for _, c := range rec.Chunks {
			e.Evidence = append(e.Evidence, percached.Evidence{Chunk: c, Version: alive[c]})
		}
		_, err = w.Bank.Put(ctx, e)
		return err
	})
}

// dueDecode: predicted questions that were prefilled only, now that the threshold
// lets their answers be served.
func (w *Worker) dueDecode(_ context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.decodes() {
		return nil, nil
	}
	return w.unanswered(space, r, limit, false)
}

// decode answers an entry that has no answer, from its stored tensors as far as
// they are there.
func (w *Worker) decode(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	e, err := w.entry(space, subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	if e.Answered || e.Origin != answer.Asked && !r.decodes() {
		return nothing()
	}
	return w.renew(ctx, space, e, false)
}
