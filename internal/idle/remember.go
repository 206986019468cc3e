package idle

import (
	"context"
	"strconv"

	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/scheduler"
)

const (
	// remembered is the history cursor after which no facts were found yet.
	remembered = "remembered"
	// statements is how many questions one job reads.
	statements = 64
)

// dueRemember names a job if there are questions in which no facts were looked for yet.
func (w *Worker) dueRemember(_ context.Context, space string, r rules, _ int) ([]scheduler.Due, error) {
	if w.Memory == nil || !r.Memory {
		return nil, nil
	}
	asked, upto, err := w.History.Since(space, remembered, statements)
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	return []scheduler.Due{{Subject: strconv.FormatUint(upto, 10)}}, nil
}

// remember adds the facts in the next questions. The cursor moves last: facts that were added
// before an interruption are known then.
func (w *Worker) remember(ctx context.Context, space string, r rules, _ string) (scheduler.Done, error) {
	if w.Memory == nil || !r.Memory { // it was on when the job was found
		return nothing()
	}
	asked, upto, err := w.History.Since(space, remembered, statements)
	if err != nil || len(asked) == 0 {
		return scheduler.Done{Nothing: true}, err
	}
	said := make([]memory.Statement, len(asked))
	for i, a := range asked {
		said[i] = memory.Statement{Text: a.Question, Said: a.Asked}
	}
	added, err := w.Memory.Learn(ctx, space, said)
	if err == nil {
		err = w.History.Advance(space, remembered, upto)
	}
	return scheduler.Done{Nothing: err == nil && added == 0}, err
}
