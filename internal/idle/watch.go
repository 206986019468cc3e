package idle

import (
	"time"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/predictor"
)

// idler is told about requests and the use of idle work's results.
type idler interface {
	Foreground() (end func())
	Changed(space string)
	MeasureRequest() (end func(took time.Duration) *float64)
	ledger
}

// ledger records what idle work saved.
type ledger interface {
	RecordUse(space string, took time.Duration, entry *[16]byte, slices [][16]byte)
	RevokeCredits(space string, ids [][16]byte)
}

// predictions is told which predicted questions were asked.
type predictions interface {
	Hit(space string, id [16]byte)
}

// Watch observes every question: idle work yields to it, and is credited for what the
// answer used. While Scheduler is nil it does nothing.
type Watch struct {
	Scheduler idler
	Predictor predictions
}

// Asked serves as answer.Observer.
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
		w.Predictor.Hit(space, predictor.NewID(space, question)) // if exactly this question was predicted
		if a.Outcome == answer.AnswerHit {
			entry := [16]byte(a.Entry)
			w.Scheduler.RecordUse(space, a.Times.Total, &entry, nil)
			served := a.Gate.Considered[len(a.Gate.Considered)-1] // the last one considered
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

// Energy serves as answer.Parts.Energy.
func (w *Watch) Energy() (end func(took time.Duration) *float64) {
	if w.Scheduler == nil {
		return func(time.Duration) *float64 { return nil }
	}
	return w.Scheduler.MeasureRequest()
}

// ids converts IDs for the ledger.
func ids[T ~[16]byte](named []T) [][16]byte {
	all := make([][16]byte, len(named))
	for i, n := range named {
		all[i] = n
	}
	return all
}
