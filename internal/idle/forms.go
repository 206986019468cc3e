package idle

import (
	"context"
	"fmt"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/scheduler"
)

const (
	packFrom  = 0.9 // share of the tensor limit from which slices are packed
	packTo    = 0.8 // share at which that ends
	packBatch = 64  // slices of one job
	formWork  = "form question "
)

// packer makes slices smaller.
type packer interface {
	Pack(s *percached.Slice, to percached.Form) (*percached.Slice, error)
}

// canPack reports whether the space's slices may be packed at all.
func (w *Worker) canPack(r rules) bool {
	_, ok := w.Engine.(packer)
	return ok && r.Tensors && r.MaxChanged > 0 && w.Placements != nil && !w.unpackable.Load()
}

// openForms returns the measurements of forms for the space in its placement, and how many questions must
// be compared before the next decision. It measures only if the tree is nearly full.
func (w *Worker) openForms(space string, r rules) (rec calibrate.Record, chunks, open int, err error) {
	if !w.canPack(r) || w.Tree.Filled(space) < packFrom {
		return rec, 0, 0, nil
	}
	sp, err := w.Knowledge.Space(space)
	if err != nil {
		return rec, 0, 0, err
	}
	st, err := w.Knowledge.Stats(space)
	if err != nil {
		return rec, 0, 0, err
	}
	rec = w.Placements.Get(Subject(w.Engine.Info(), sp.Kind, r.Settings))
	forms := rec.Forms[r.Placement]
	if st.Chunks < minChunks || forms.Lacking > 0 && st.Chunks < 2*forms.Lacking {
		return rec, st.Chunks, 0, nil
	}
	return rec, st.Chunks, forms.Open(), nil
}

// dueForms names a job for each question while a form is undecided.
func (w *Worker) dueForms(space string, r rules, limit int) (due []scheduler.Due, err error) {
	rec, _, open, err := w.openForms(space, r)
	for n := range min(open, limit) {
		due = append(due, scheduler.Due{Subject: fmt.Sprint(formWork, len(rec.Forms[r.Placement].Trials)+n+1)})
	}
	return due, err
}

// compareForms answers a question from exact tensors and from packed ones.
func (w *Worker) compareForms(ctx context.Context, space string, r rules) (scheduler.Done, error) {
	rec, chunks, open, err := w.openForms(space, r)
	if err != nil || open == 0 {
		return scheduler.Done{Nothing: true}, err
	}
	next, ok, err := w.nextTest(ctx, space, rec.Forms[r.Placement].Cursor)
	if err != nil {
		return scheduler.Done{}, err
	}
	if !ok {
		_, err := w.Placements.EndForms(rec.Subject, r.Placement, chunks)
		return scheduler.Done{Nothing: true}, err
	}
	got, losses, err := w.Asker.CompareForms(ctx, answer.Work{Space: space, Question: next.question, MaxTokens: answerTokens}, next.chunk)
	done := cost(got)
	switch fault.KindOf(err) {
	case fault.Unsupported:
		w.unpackable.Store(true)
		return done, nil
	case fault.Invalid, fault.NotFound: // it exceeds the context, or its chunk is gone
		losses, err = nil, nil
	}
	if err == nil {
		var trial calibrate.FormTrial
		for form, loss := range losses {
			if trial == nil {
				trial = calibrate.FormTrial{}
			}
			trial[form] = calibrate.FormLoss(loss)
		}
		_, err = w.Placements.AddForm(rec.Subject, r.Placement, trial, next.cursor, w.Now())
	}
	return done, err
}

// duePack names a job if the tree is nearly full and slices may be packed.
func (w *Worker) duePack(_ context.Context, space string, r rules, _ int) ([]scheduler.Due, error) {
	if r.Form == percached.Exact || !w.canPack(r) || w.Tree.Filled(space) < packFrom {
		return nil, nil
	}
	if w.Tree.Packable(space, w.Engine.Info().Fingerprint, r.Placement, r.Form) {
		return []scheduler.Due{{Subject: "slices"}}, nil
	}
	return nil, nil
}

// pack makes room: it packs the least valuable slices, so that fewer are evicted.
func (w *Worker) pack(ctx context.Context, space string, r rules, _ string) (scheduler.Done, error) {
	if r.Form == percached.Exact || !w.canPack(r) {
		return nothing()
	}
	p, done := w.Engine.(packer), scheduler.Done{Nothing: true}
	pack := func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
		if ctx.Err() != nil { // the tree tries one slice after the other until one becomes smaller
			return nil, context.Cause(ctx)
		}
		return p.Pack(s, to)
	}
	for range packBatch {
		if ctx.Err() != nil || w.Tree.Filled(space) < packTo {
			break
		}
		freed, written, err := w.Tree.Pack(space, w.Engine.Info().Fingerprint, r.Placement, r.Form, pack)
		if fault.KindOf(err) == fault.Unsupported {
			w.unpackable.Store(true)
			return done, nil
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil || freed == 0 {
			return done, err
		}
		done.Nothing, done.Written = false, done.Written+written
	}
	return done, context.Cause(ctx)
}

func isFormWork(subject string) bool { return strings.HasPrefix(subject, formWork) }
