package idle_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/scheduler"
)

// anew gives the bench a worker that knows what is parked. Ended is told of each
// job, too.
func (b *bench) anew(ended func()) {
	b.Helper()
	b.ok(b.scheduler.Close())
	worker, err := idle.New(b.Parts, b.config)
	b.ok(err)
	o := scheduler.Options{DB: b.meta, Worker: worker, Config: b.config.Policy, Now: b.now, Logger: slog.New(slog.DiscardHandler)}
	o.Observer.Ended = func(st scheduler.Step) {
		b.ended = append(b.ended, st)
		ended()
	}
	b.scheduler, err = scheduler.Open(o)
	b.ok(err)
	b.Library.Jobs, worker.Parked = b.scheduler, b.scheduler.Parked
}

// What failed too often is not waited for: prediction goes on with the rest.
func TestParkedHoldsUpNothing(t *testing.T) {
	b := newBench(t, nil)
	b.anew(func() {})
	for i := range 20 {
		b.letter(fmt.Sprintf("Heron%d", i))
	}
	b.broken.engine.Store(true)
	b.work()
	b.sleep(2 * time.Minute)
	for range 5 {
		b.work()
		b.sleep(7 * time.Hour)
	}
	n := b.scheduler.Parked(space, scheduler.Abstract)
	if n == 0 || n == 20 {
		t.Fatalf("%d are parked", n)
	}
	b.broken.engine.Store(false)
	if got := kinds(b.rest()); got["abstract done"] != 20-n {
		t.Errorf("%d summaries failed, of the others: %v", n, got)
	}
}

// Predictions that cannot be populated do not end prediction.
func TestFailedPredictionsHoldUpNothing(t *testing.T) {
	b := newBench(t, nil)
	b.anew(func() { b.broken.engine.Store(false) })
	b.searched = func() {
		st, err := b.scheduler.Status()
		b.ok(err)
		b.broken.engine.Store(st.Running != nil && st.Running.Kind == scheduler.Populate)
	}
	for i := range 6 {
		name := fmt.Sprintf("Heron%d", i)
		b.letter(name)
		b.predicts = append(b.predicts, []string{fmt.Sprintf("Where is the office of %s?", name), fmt.Sprintf("What is the budget of %s?", name)})
		b.rest()
	}
	if n := b.scheduler.Parked(space, scheduler.Populate); n != 12 {
		t.Errorf("%d predictions were tried, want 12", n)
	}
}

// A clock that was set back keeps nothing waiting until the time before.
func TestClockSetBack(t *testing.T) {
	b := newBench(t, nil)
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	b.ask(budget)
	b.letter("Kite")
	b.back = 1000 * time.Hour
	b.stand()
	b.sleep(time.Hour)
	got := kinds(b.work())
	for _, want := range []string{"abstract done", "check done", "history done"} {
		if got[want] == 0 {
			t.Errorf("no %s: %v", want, got)
		}
	}
}

// What was found to be due under other settings is not done any more.
func TestSettingsChangeMeanwhile(t *testing.T) {
	off, high := percached.PredictNothing, 0.95
	b := newBench(t, nil)
	b.want(func(s *percached.Settings) { s.Threshold = &high })
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	b.rest()
	entries := b.entries()
	worker, err := idle.New(b.Parts, b.config)
	b.ok(err)
	ctx := context.Background()
	low := 0.85
	b.want(func(s *percached.Settings) { s.Threshold = &low })
	due, err := worker.Due(ctx, space, scheduler.Decode, 10)
	b.ok(err)
	if len(due) != 1 {
		t.Fatalf("%v are due", due)
	}
	b.want(func(s *percached.Settings) { s.Threshold, s.Prediction = &high, &off })
	b.letter("Kite")
	d, err := worker.Do(ctx, scheduler.Job{Kind: scheduler.Decode, Space: space, Subject: due[0].Subject})
	if !d.Nothing || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	kite, err := b.Knowledge.Document(space, b.document("Kite"))
	b.ok(err)
	d, err = worker.Do(ctx, scheduler.Job{Kind: scheduler.Abstract, Space: space, Subject: kite.Chunks[0].String()})
	if !d.Nothing || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if d := cmp.Diff(entries, b.entries()); d != "" {
		t.Error(d)
	}
}

// A question that was served is answered although the settings changed before
// there was time for it.
func TestServedUnderOtherSettings(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	b.ask(again)
	worker, err := idle.New(b.Parts, b.config)
	b.ok(err)
	if due, err := worker.Due(context.Background(), space, scheduler.Answer, 10); len(due) != 1 || err != nil {
		t.Fatal(due, err)
	}
	b.want(func(s *percached.Settings) { k := 2; s.K = &k })
	b.rest()
	if got := b.entries()[again]; got != "answered, asked" {
		t.Errorf("the entry is %q", got)
	}
}

// Whoever asks, adds and forgets while idle work is done, and in what order: in
// the end nothing is left of what was forgotten.
func TestAllAtOnce(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		b := newBench(t, func(b *bench) { b.set.Placement = placement })
		b.garbage = "1. Where is the office of Heron?\n2. What is the budget of Heron?\n3. Where does the Kite committee meet?"
		names := []string{"Heron", "Kite", "Otter"}
		for _, n := range names {
			b.letter(n)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var people, works sync.WaitGroup
		works.Go(func() {
			for ctx.Err() == nil {
				b.sleep(time.Minute)
				if _, err := b.scheduler.Step(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		people.Go(func() {
			for i := range 40 {
				q := answer.Question{Space: space, Text: fmt.Sprintf("What is the budget of %s %d?", names[i%3], i%5)}
				if _, err := b.Asker.Ask(ctx, q, answer.Listener{}); err != nil {
					t.Error(err)
				}
				b.sleep(time.Hour)
			}
		})
		people.Go(func() {
			for i := range 12 {
				b.forget(names[i%3])
				if _, err := b.scheduler.Status(); err != nil {
					t.Error(err)
				}
				b.letter(names[i%3])
				b.sleep(time.Hour)
			}
		})
		people.Wait()
		for _, n := range names {
			b.forget(n)
		}
		cancel()
		works.Wait()
		if d := cmp.Diff(map[string]int{}, b.holds()); d != "" {
			t.Errorf("%s: left: %s", placement, d)
		}
		b.rest()
		if d := cmp.Diff(map[string]int{}, b.holds()); d != "" {
			t.Errorf("%s: left in the end: %s", placement, d)
		}
	}
}
