package idle

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

const (
	// predicted is the history cursor after which nothing was predicted yet.
	predicted = "predicted"
	// Each step of prediction waits for the next one, so that useful work is not delayed:
	// at most this many summaries may be unused, and this many times the stride of
	// predictions may be unpopulated.
	aheadParts   = 16
	aheadStrides = 2
)

// Asked returns what predictions from the history come from.
func Asked(h *answer.History) func(space string) ([]predictor.Asked, error) {
	const latest = 1024
	return func(space string) (asked []predictor.Asked, err error) {
		records, err := h.Recent(space, latest)
		for _, r := range records {
			asked = append(asked, predictor.Asked{Question: r.Question, Chunks: r.Chunks})
		}
		return asked, err
	}
}

// dueAbstract names chunks without a summary, after a quiet period.
func (w *Worker) dueAbstract(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.predicts() {
		return nil, nil
	}
	st, err := w.Predictor.Stats(space)
	if err != nil || st.Waiting >= aheadParts {
		return nil, err
	}
	ids, newest, err := w.Predictor.Unsummarised(ctx, space, min(limit, aheadParts-st.Waiting+w.parked(space, scheduler.Abstract)))
	var due []scheduler.Due
	for _, c := range ids {
		due = append(due, scheduler.Due{Subject: c.String(), From: w.quietSince(newest, r.QuietDocuments)})
	}
	return due, err
}

func (w *Worker) abstract(ctx context.Context, space string, _ rules, subject string) (scheduler.Done, error) {
	c, err := id(subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	u, err := w.Predictor.Summarise(ctx, space, c)
	d := usage(u)
	d.Nothing = err == nil && u == (predictor.Usage{})
	return d, err
}

func usage(u predictor.Usage) scheduler.Done {
	return scheduler.Done{Computed: u.Computed, Generated: u.Generated}
}

// duePredict names a job if there are unused summaries.
func (w *Worker) duePredict(_ context.Context, space string, r rules, _ int) ([]scheduler.Due, error) {
	if ahead, err := w.enoughPredicted(space, r); ahead || err != nil {
		return nil, err
	}
	st, err := w.Predictor.Stats(space)
	if err != nil || st.Waiting == 0 {
		return nil, err
	}
	// Each round uses some summaries, so the count gives each round its own name.
	return []scheduler.Due{{Subject: fmt.Sprintf("behind %d summaries", st.Parts-st.Waiting)}}, nil
}

// enoughPredicted reports whether to stop predicting for now.
func (w *Worker) enoughPredicted(space string, r rules) (bool, error) {
	if !r.predicts() {
		return true, nil
	}
	st, err := w.Predictor.Stats(space)
	return st.Predictions-st.Populated-w.parked(space, scheduler.Populate) >= aheadStrides*r.Stride, err
}

// parked counts the jobs that failed too often, which others need not wait for.
func (w *Worker) parked(space string, k scheduler.Kind) int {
	if w.Parked == nil {
		return 0
	}
	return w.Parked(space, k)
}

// quietSince is the end of a quiet period. A start in the future dates from before the
// clock was set back and counts as long ago.
func (w *Worker) quietSince(since time.Time, long time.Duration) time.Time {
	if since.After(w.Now()) {
		return time.Time{}
	}
	return since.Add(long)
}

func (w *Worker) predict(ctx context.Context, space string, r rules, _ string) (scheduler.Done, error) {
	round, err := w.Predictor.FromKnowledge(ctx, space, r.Stride)
	return roundCost(round), err
}

func roundCost(r predictor.Round) scheduler.Done {
	d := usage(r.Usage)
	d.Questions = len(r.New)
	return d
}

// dueHistory names a job if nothing was predicted from the latest questions yet, after a
// quiet period.
func (w *Worker) dueHistory(_ context.Context, space string, r rules, _ int) ([]scheduler.Due, error) {
	if ahead, err := w.enoughPredicted(space, r); ahead || err != nil {
		return nil, err
	}
	asked, upto, err := w.newQuestions(space)
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	last, err := w.History.Latest(space)
	return []scheduler.Due{{Subject: strconv.FormatUint(upto, 10), From: w.quietSince(last, r.QuietQuestions)}}, err
}

// newQuestions returns the questions after the cursor, and the number of the last one.
func (w *Worker) newQuestions(space string) ([]answer.Record, uint64, error) {
	const all = 1 << 20
	return w.History.Since(space, predicted, all)
}

func (w *Worker) fromHistory(ctx context.Context, space string, r rules, _ string) (scheduler.Done, error) {
	asked, upto, err := w.newQuestions(space)
	if err != nil {
		return scheduler.Done{}, err
	}
	if len(asked) == 0 {
		return nothing()
	}
	round, err := w.Predictor.FromHistory(ctx, space, r.Stride)
	if err != nil {
		return roundCost(round), err
	}
	return roundCost(round), w.History.Advance(space, predicted, upto)
}

// duePopulate names predictions without tensors, and then unused ones whose entry is
// stale or was made with another model or other settings. Keeping the latter current has
// low priority, because new documents would make it the largest part of idle work.
func (w *Worker) duePopulate(_ context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	if !r.predicts() {
		return nil, nil
	}
	var due []scheduler.Due
	for _, id := range w.Predictor.Unpopulated(space, limit) {
		due = append(due, scheduler.Due{Subject: hex.EncodeToString(id[:])})
	}
	if !r.Bank {
		return due, nil
	}
	again, err := w.entries(space, limit-len(due), func(i qabank.Info) bool { return !isUsed(i) && r.needsRefresh(i) })
	return append(due, again...), err
}

func (w *Worker) populate(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	i, err := id(subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	p, err := w.Predictor.Get(space, i)
	if fault.KindOf(err) == fault.NotFound {
		return w.refresh(ctx, space, r, subject) // it names an entry, or nothing
	}
	if err != nil {
		return scheduler.Done{}, err
	}
	if p.Populated {
		return nothing()
	}
	there, answered := w.Bank.Has(space, qabank.NewID(space, p.Question))
	if there && (answered || r.prefills()) { // asked meanwhile, or a crash came in between
		return scheduler.Done{Nothing: true}, w.Predictor.Populated(space, i)
	}
	work := answer.Work{Space: space, Question: p.Question, Prefill: r.prefills(), Origin: "predicted", Sources: p.Chunks}
	if r.Prediction == percached.PredictAnswers {
		no := false
		work.Settings.Tensors = &no
	}
	got, err := w.Asker.Work(ctx, work)
	d := cost(got)
	if err != nil {
		return d, err
	}
	d.Questions = countKept(got)
	return d, w.Predictor.Populated(space, i)
}
