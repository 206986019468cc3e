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
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/scheduler"
)

const (
	minChunks    = 32 // chunks; fewer are too few to measure
	answerTokens = 48 // maximum tokens of a compared answer
)

// Subject is what a placement is decided for: a model, a kind of documents, and the
// prompt of these settings.
func Subject(m percached.ModelInfo, kind string, s answer.Settings) calibrate.Subject {
	return calibrate.Subject{Model: m.Fingerprint, Prompt: s.Prompt(), Kind: kind}
}

// openPlacement returns the measurements for the space's model, prompt and kind of
// documents. ok is true if the placement must still be decided: the user chose none, the
// model allows both, and there are documents to ask about.
func (w *Worker) openPlacement(space string, r rules) (rec calibrate.Record, chunks int, ok bool, err error) {
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
	rec = w.Placements.Get(Subject(w.Engine.Info(), sp.Kind, r.Settings))
	open := rec.Verdict == calibrate.Pending && (rec.Lacking == 0 || st.Chunks >= 2*rec.Lacking)
	return rec, st.Chunks, open && st.Chunks >= minChunks, nil
}

// dueCalibrate names a job while the placement is undecided, then while the use of packed
// tensors is.
func (w *Worker) dueCalibrate(_ context.Context, space string, r rules, limit int) (due []scheduler.Due, err error) {
	rec, _, ok, err := w.openPlacement(space, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return w.dueForms(space, r, limit)
	}
	for n := len(rec.Trials); n < rec.NextDecision() && len(due) < limit; n++ {
		due = append(due, scheduler.Due{Subject: fmt.Sprintf("question %d", n+1)})
	}
	return due, nil
}

// waitsForPlacement reports whether prefilling must wait for a decision: the current
// placement is sequential by default, and a measurement is possible.
func (w *Worker) waitsForPlacement(space string, r rules) (bool, error) {
	if r.Placement == percached.Parallel || w.Parked != nil && w.Parked(space, scheduler.Calibrate) > 0 {
		return false, nil
	}
	_, _, ok, err := w.openPlacement(space, r)
	return ok, err
}

// calibrate answers a question in both placements. It keeps the tensors of the space's
// own placement, which also prefills those chunks.
func (w *Worker) calibrate(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	if isFormWork(subject) {
		return w.compareForms(ctx, space, r)
	}
	rec, chunks, ok, err := w.openPlacement(space, r)
	if err != nil || !ok {
		return scheduler.Done{Nothing: true}, err
	}
	if rec.Lacking > 0 {
		if err := w.Placements.Restart(rec.Subject); err != nil {
			return scheduler.Done{}, err
		}
		rec = w.Placements.Get(rec.Subject)
	}
	next, ok, err := w.nextTest(ctx, space, rec.Cursor)
	if err != nil {
		return scheduler.Done{}, err
	}
	if !ok {
		_, err := w.Placements.End(rec.Subject, chunks, w.Now())
		return scheduler.Done{Nothing: true}, err
	}
	return w.compare(ctx, space, r, rec.Subject, next)
}

// compare answers one question in both placements and records the quality.
func (w *Worker) compare(ctx context.Context, space string, r rules, of calibrate.Subject, next test) (done scheduler.Done, err error) {
	var trial calibrate.Trial
	useful := true
	for _, p := range []percached.Placement{percached.Sequential, percached.Parallel} {
		no, keep := false, p == r.Placement
		work := answer.Work{Space: space, Question: next.question, MaxTokens: answerTokens}
		work.Settings = percached.Settings{Bank: &no, Tensors: &keep, Placement: &p}
		got, err := w.Asker.Work(ctx, work)
		d := cost(got)
		done.Computed, done.Generated, done.Written = done.Computed+d.Computed, done.Generated+d.Generated, done.Written+d.Written
		done.Credits = append(done.Credits, d.Credits...)
		if fault.KindOf(err) == fault.Invalid { // the question exceeds the context
			useful = false
			break
		}
		if err != nil {
			return done, err
		}
		agrees, ok := grounded.Agreement(next.question, got.Text, next.answer)
		if useful = useful && ok; p == percached.Sequential {
			trial.Sequential = agrees
		} else {
			trial.Parallel = agrees
		}
	}
	if useful {
		_, err = w.Placements.Add(of, trial, next.cursor, r.Placement == percached.Parallel, w.Now())
	} else {
		_, err = w.Placements.Skip(of, next.cursor, w.Now())
	}
	return done, err
}

// test is a question with a known answer.
type test struct {
	question string
	answer   string
	chunk    percached.ChunkID
	cursor   string // where the search for the next question continues
}

// nextTest finds the next question: a sentence with a gap. It searches the chunks that
// answered questions first, then those behind predicted questions, then all. Questions
// that users asked are not used, because their right answers are unknown.
func (w *Worker) nextTest(ctx context.Context, space, cursor string) (next test, ok bool, err error) {
	seen := map[percached.ChunkID]bool{}
	for stage, chunks := range []func() ([]percached.ChunkID, error){
		func() (ids []percached.ChunkID, err error) {
			records, err := w.History.Recent(space, asked)
			for _, rec := range records {
				ids = append(ids, rec.Chunks...)
			}
			return ids, err
		},
		func() (ids []percached.ChunkID, err error) {
			predictions, err := w.Predictor.Predictions(space)
			for _, p := range predictions {
				ids = append(ids, p.Chunks...)
			}
			return ids, err
		},
		func() (ids []percached.ChunkID, err error) {
			err = w.documents(ctx, space, func(d percached.Document) { ids = append(ids, d.Chunks...) })
			return ids, err
		},
	} {
		ids, err := chunks()
		if err != nil {
			return test{}, false, err
		}
		var fresh []percached.ChunkID
		for _, c := range ids {
			if !seen[c] {
				seen[c] = true
				fresh = append(fresh, c)
			}
		}
		if next, ok, err = w.findGap(ctx, space, stage, fresh, cursor); ok || err != nil {
			return next, ok, err
		}
	}
	return test{}, false, nil
}

// chunkCursor sorts chunks independently of their content.
func chunkCursor(stage int, c percached.ChunkID) string {
	sum := sha256.Sum256(append([]byte("placement "), c[:]...))
	return fmt.Sprintf("%d %s", stage, hex.EncodeToString(sum[:8]))
}

// findGap finds the next of these chunks with a sentence that can have a gap.
func (w *Worker) findGap(ctx context.Context, space string, stage int, ids []percached.ChunkID, cursor string) (test, bool, error) {
	at := map[percached.ChunkID]string{}
	for _, c := range ids {
		at[c] = chunkCursor(stage, c)
	}
	ids = slices.DeleteFunc(ids, func(c percached.ChunkID) bool { return at[c] <= cursor })
	slices.SortFunc(ids, func(a, b percached.ChunkID) int { return strings.Compare(at[a], at[b]) })
	for _, c := range ids {
		chunks, err := w.Knowledge.Chunks(space, []percached.ChunkID{c})
		if ignoreGone(err) != nil {
			return test{}, false, err
		}
		if len(chunks) == 0 { // deleted meanwhile
			continue
		}
		if q, a, ok := grounded.Gap(chunks[0].Body); ok {
			return test{question: q, answer: a, chunk: c, cursor: at[c]}, true, ctx.Err()
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
