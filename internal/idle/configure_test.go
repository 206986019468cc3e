package idle_test

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/scheduler"
)

// What is found and done follows the configuration of the moment.
func TestConfigure(t *testing.T) {
	b := newBench(t, nil)
	worker, err := idle.New(b.Parts, b.config)
	b.ok(err)
	b.letter("Heron")
	finds := func(k scheduler.Kind) int {
		t.Helper()
		due, err := worker.Due(t.Context(), space, k, 10)
		b.ok(err)
		return len(due)
	}
	if finds(scheduler.Abstract) == 0 {
		t.Error("nothing is to be summed up")
	}
	c := b.config
	c.Prediction = percached.PredictNothing
	b.ok(worker.Configure(c))
	if n := finds(scheduler.Abstract); n != 0 {
		t.Errorf("%d to be summed up without prediction", n)
	}
	c.Prediction, c.Stride = percached.PredictBoth, 0
	if err := worker.Configure(c); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if n := finds(scheduler.Abstract); n != 0 {
		t.Error("a wrong configuration holds in part")
	}
}
