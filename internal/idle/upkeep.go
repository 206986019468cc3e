package idle

import (
	"context"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/scheduler"
)

// dueReembed: the vectors of a space are another embedding model's.
func (w *Worker) dueReembed(_ context.Context, space string, _ rules, _ int) ([]scheduler.Due, error) {
	st, err := w.Index.Standing(space)
	if err != nil || !st.EmbedderStale {
		return nil, err
	}
	return []scheduler.Due{{Subject: w.Embedder.Info().Fingerprint}}, nil
}

// reembed makes new vectors, of the questions first: the index tells that there
// is something left to do.
func (w *Worker) reembed(ctx context.Context, space string, _ rules, _ string) (scheduler.Done, error) {
	questions, err := w.Bank.Reembed(ctx, space, w.Embedder)
	if err != nil {
		return scheduler.Done{}, err
	}
	chunks, err := w.Index.Reembed(ctx, space, nil)
	return scheduler.Done{Nothing: err == nil && questions+chunks == 0}, err
}

// dueClean: bytes of what was forgotten are still on the disk.
func (w *Worker) dueClean(context.Context, string, rules, int) ([]scheduler.Due, error) {
	due, err := w.Library.Untidy()
	if err != nil || !due {
		return nil, err
	}
	return []scheduler.Due{{Subject: "forgotten"}}, nil
}

func (w *Worker) clean(ctx context.Context, _ string, _ rules, _ string) (scheduler.Done, error) {
	err := w.Library.CleanUp(ctx, nil)
	if fault.KindOf(err) == fault.Conflict { // a backup is being made: later
		return scheduler.Done{Nothing: true}, nil
	}
	return scheduler.Done{}, err
}
