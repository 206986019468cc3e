package idle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/answer/grounded"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/scheduler"
)

const (
	telling = 32 // chunks; of fewer documents nothing can be said
	brief   = 48 // tokens of an answer that is compared
)

// subject is what a space's placement is decided for.
func (w *Worker) subject(sp percached.Space, r rules) calibrate.Subject {
	return calibrate.Subject{Model: w.Engine.Info().Fingerprint, Prompt: r.Prompt(), Kind: sp.Kind}
}

// measuring gives what is known of the placement for the space's model, prompt and kind
// of documents, if it is to be found out: nobody chose one, the model allows both, it is not
// decided yet, and there are documents to ask about.
func (w *Worker) measuring(space string, r rules) (rec calibrate.Record, chunks int, ok bool, err error) {
	if w.Placements == nil || r.Fixed || r.Whole || !r.Tensors || w.Engine.Info().NoParallel != "" {
		return rec, 0, false, nil
	}
	sp, err := w.Knowledge.Space(space)
	if err != nil {
		return rec, 0, false, err
	}
	st, err := w.Knowledge.Stats(space)
	if err != nil {
		return rec, 0, false, err
	}
	rec = w.Placements.Get(w.subject(sp, r))
	open := rec.Verdict == calibrate.Pending && (rec.Lacking == 0 || st.Chunks >= 2*rec.Lacking)
	return rec, st.Chunks, open && st.Chunks >= telling, nil
}

// dueCalibrate: the placement is to be found out.
func (w *Worker) dueCalibrate(_ context.Context, space string, r rules, limit int) (due []scheduler.Due, err error) {
	rec, _, ok, err := w.measuring(space, r)
	if err != nil || !ok {
		return nil, err
	}
	for n := len(rec.Trials); n < rec.Next() && len(due) < limit; n++ {
		due = append(due, scheduler.Due{Subject: fmt.Sprintf("question %d", n+1)})
	}
	return due, nil
}

// waits says that nothing is read ahead in a space until it is known how: chunks stand
// one after the other for want of better knowledge, and it can be had.
func (w *Worker) waits(space string, r rules) (bool, error) {
	if r.Placement == percached.Parallel || w.Parked != nil && w.Parked(space, scheduler.Calibrate) > 0 {
		return false, nil
	}
	_, _, ok, err := w.measuring(space, r)
	return ok, err
}

// calibrate answers a question in both placements. The tensors of the space's own are
// kept: it is read ahead, too.
func (w *Worker) calibrate(ctx context.Context, space string, r rules, _ string) (scheduler.Done, error) {
	rec, chunks, ok, err := w.measuring(space, r)
	if err != nil || !ok {
		return scheduler.Done{Nothing: true}, err
	}
	if rec.Lacking > 0 {
		if err := w.Placements.Restart(rec.Subject); err != nil {
			return scheduler.Done{}, err
		}
		rec = w.Placements.Get(rec.Subject)
	}
	next, ok, err := w.test(ctx, space, rec.Cursor)
	if err != nil {
		return scheduler.Done{}, err
	}
	if !ok {
		_, err := w.Placements.End(rec.Subject, chunks, w.Now())
		return scheduler.Done{Nothing: true}, err
	}
	return w.compare(ctx, space, r, rec.Subject, next)
}

// compare answers one question in both placements, and notes how well.
func (w *Worker) compare(ctx context.Context, space string, r rules, of calibrate.Subject, next test) (done scheduler.Done, err error) {
	var trial calibrate.Trial
	useful := true
	for _, p := range []percached.Placement{percached.Sequential, percached.Parallel} {
		no, keep := false, p == r.Placement
		work := answer.Work{Space: space, Question: next.question, MaxTokens: brief}
		work.Settings = percached.Settings{Bank: &no, Tensors: &keep, Placement: &p}
		got, err := w.Asker.Work(ctx, work)
		d := cost(got)
		done.Computed, done.Generated, done.Written = done.Computed+d.Computed, done.Generated+d.Generated, done.Written+d.Written
		done.Credits = append(done.Credits, d.Credits...)
		if fault.KindOf(err) == fault.Invalid { // it does not fit into the context
			useful = false
			break
		}
		if err != nil {
			return done, err
		}
		agrees, ok := grounded.Agreement(next.question, got.Text, next.against(got))
		if useful = useful && ok; p == percached.Sequential {
			trial.Sequential = agrees
		} else {
			trial.Parallel = agrees
		}
	}
	if useful {
		_, err = w.Placements.Add(of, trial, next.cursor, w.Now())
	} else {
		_, err = w.Placements.Skip(of, next.cursor, w.Now())
	}
	return done, err
}

// test is a question to compare answers on.
type test struct {
	question string
	evidence string // what the answer must say; empty: the best sentence that was found
	cursor   string // that the search for the next one starts behind
}

// against is what an answer is held against.
func (t test) against(a answer.Answer) string {
	if t.evidence != "" {
		return t.evidence
	}
	passages := make([]grounded.Passage, len(a.Citations))
	for i, c := range a.Citations {
		passages[i] = grounded.Passage{About: c.About, Quote: c.Quote}
	}
	best, _ := grounded.Best(t.question, passages)
	return best.Text
}

// test finds the next question: of those that were asked, then of those that are
// predicted, then sentences of the documents with a gap.
func (w *Worker) test(ctx context.Context, space, cursor string) (test, bool, error) {
	var questions [2][]string
	records, err := w.History.Recent(space, asked)
	if err != nil {
		return test{}, false, err
	}
	for _, rec := range records {
		questions[0] = append(questions[0], rec.Question)
	}
	predictions, err := w.Predictor.Predictions(space)
	if err != nil {
		return test{}, false, err
	}
	for _, p := range predictions {
		questions[1] = append(questions[1], p.Question)
	}
	for stage, some := range questions {
		best := test{}
		for _, q := range some {
			if at := place(stage, []byte(q)); at > cursor && (best.cursor == "" || at < best.cursor) {
				best = test{question: q, cursor: at}
			}
		}
		if best.cursor != "" {
			return best, true, nil
		}
	}
	return w.gap(ctx, space, cursor)
}

// place orders questions, in no order that has to do with what they say.
func place(stage int, b []byte) string {
	sum := sha256.Sum256(append([]byte("placement "), b...))
	return fmt.Sprintf("%d %s", stage, hex.EncodeToString(sum[:8]))
}

// gap finds the next chunk with a sentence that can have a gap.
func (w *Worker) gap(ctx context.Context, space, cursor string) (test, bool, error) {
	type candidate struct {
		at string
		id percached.ChunkID
	}
	var all []candidate
	err := w.documents(ctx, space, func(d percached.Document) {
		for _, c := range d.Chunks {
			if at := place(2, c[:]); at > cursor {
				all = append(all, candidate{at, c})
			}
		}
	})
	if err != nil {
		return test{}, false, err
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.at, b.at) })
	for _, c := range all {
		chunks, err := w.Knowledge.Chunks(space, []percached.ChunkID{c.id})
		if absent(err) != nil {
			return test{}, false, err
		}
		if len(chunks) == 0 { // it went meanwhile
			continue
		}
		if q, a, ok := grounded.Gap(chunks[0].Body); ok {
			return test{question: q, evidence: a, cursor: c.at}, true, ctx.Err()
		}
	}
	return test{}, false, nil
}

// documents calls fn for each document of a space.
func (w *Worker) documents(ctx context.Context, space string, fn func(percached.Document)) error {
	var after percached.DocumentID
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		docs, err := w.Knowledge.Documents(space, after, 256)
		if len(docs) == 0 {
			return err
		}
		for _, d := range docs {
			fn(d)
		}
		after = docs[len(docs)-1].ID
	}
}
