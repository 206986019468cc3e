package idle

import (
	"time"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/predictor"
)

// idler knows when somebody asks, and what idle work was worth.
type idler interface {
	Foreground() (end func())
	Changed(space string)
	ledger
}

// ledger books what idle work saved.
type ledger interface {
	RecordUse(space string, took time.Duration, entry *[16]byte, slices [][16]byte)
	RevokeCredits(space string, ids [][16]byte)
}

// predictions learn which of them were asked.
type predictions interface {
	Hit(space string, id [16]byte)
}

// Watch sees every question: idle work steps aside for it, and learns what of its
// own the answer used. Until Scheduler is set nothing is watched.
type Watch struct {
	Scheduler idler
	Predictor predictions
}

// Asked is for answer.Observer.
func (w *Watch) Asked(space, question string) func(answer.Answer, error) {
	if w.Scheduler == nil {
		return func(answer.Answer, error) {}
	}
	end := w.Scheduler.Foreground()
	return func(a answer.Answer, err error) {
		defer end()
		if err != nil {
			return
		}
		w.Predictor.Hit(space, predictor.NewID(space, question)) // if it was predicted as it was asked
		if a.Outcome == answer.AnswerHit {
			entry := [16]byte(a.Entry)
			w.Scheduler.RecordUse(space, a.Times.Total, &entry, nil)
			served := a.Gate.Considered[len(a.Gate.Considered)-1] // the last that was considered
			if id := predictor.NewID(space, served.Question); id != predictor.NewID(space, question) {
				w.Predictor.Hit(space, id)
			}
		} else {
			w.Scheduler.RecordUse(space, a.Times.Total, nil, ids(a.Loaded))
			w.Scheduler.RevokeCredits(space, append(ids(a.Made), a.Entry))
		}
		w.Scheduler.Changed(space)
	}
}

// ids are names of any kind as the ledger keeps them.
func ids[T ~[16]byte](named []T) [][16]byte {
	all := make([][16]byte, len(named))
	for i, n := range named {
		all[i] = n
	}
	return all
}
