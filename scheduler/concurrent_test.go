package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// All methods run concurrently with Run, for the race detector. At the end disk and
// memory agree.
func TestConcurrent(t *testing.T) {
	var mu sync.Mutex
	var all truth
	var d *desk
	n := 0
	d = sit(t, &script{
		spaces: func() ([]string, error) { return []string{"mail", "notes"}, nil },
		due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
			mu.Lock()
			defer mu.Unlock()
			return all.list(space, kind, limit), nil
		},
		do: func(ctx context.Context, j Job) (Done, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n%5 == 0 {
				return Done{}, fault.New(fault.Unavailable, "worker.Do", "no power")
			}
			if _, err := d.s.Prune(j.Space, func(id [16]byte) bool { return id[0]%3 > 0 }); err != nil {
				return Done{}, err
			}
			all.remove(j.Space, j.Kind, j.Subject)
			return Done{Questions: 1, Credits: []Credit{{ID: [16]byte{byte(n)}, Saves: time.Second}}}, ctx.Err()
		},
	})
	d.config.IdleAfter, d.config.Retry.First = 0, time.Millisecond
	var clock sync.Mutex
	o := Options{DB: d.db, Worker: d.worker, Config: d.config, Now: func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		d.now = d.now.Add(time.Millisecond)
		return d.now
	}}
	s, err := Open(o)
	must(t, err)
	d.s = s
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	var users sync.WaitGroup
	for g := range 4 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 9))
			for range 150 {
				space, kind := []string{"mail", "notes"}[r.IntN(2)], kinds[r.IntN(len(kinds))]
				if err := meddle(ctx, s, r, space, kind, func(subject string) {
					mu.Lock()
					defer mu.Unlock()
					all.add(space, kind, Due{Subject: subject})
				}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	must(t, s.Resume())
	if _, err := s.Drain(ctx, DrainRequest{}, func(Step) { s.Queue() }); err != nil {
		t.Error(err)
	}
	stop()
	must(t, <-ran)
	must(t, s.Close())
	again, err := Open(o)
	must(t, err)
	same(t, s, again)
}

// meddle calls one random method.
func meddle(ctx context.Context, s *Scheduler, r *rand.Rand, space string, kind Kind, add func(subject string)) (err error) {
	battery := 0.9
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		add(fmt.Sprint(r.IntN(30)))
		s.Changed(space)
	case 4:
		s.Foreground()()
	case 5:
		id := [16]byte{byte(r.IntN(100))}
		s.RecordUse(space, time.Millisecond, &id, [][16]byte{{byte(r.IntN(100))}})
		s.RevokeCredits(space, [][16]byte{id})
	case 6:
		err = s.Flush()
	case 7:
		err = s.Pause()
		if err == nil {
			err = s.Resume()
		}
	case 8:
		if r.IntN(5) == 0 {
			err = s.DropSpace(space)
		} else {
			err = s.Forget(space)
		}
	case 9:
		if q := s.Queue(); len(q) > 0 {
			if err = s.Retry(q[r.IntN(len(q))].ID()); fault.KindOf(err) == fault.NotFound {
				err = nil // it was done meanwhile
			}
		}
	case 10:
		_, err = s.Status()
	case 11:
		_, err = s.Ledger(space, time.Time{})
		s.Pace(space)
	case 12:
		err = s.Post(Device{Battery: &battery, At: noon()})
	case 13:
		_, err = s.Step(ctx)
	}
	return err
}

// same reports differences between two schedulers over one database.
func same(t *testing.T, a, b *Scheduler) {
	t.Helper()
	sorted := cmpopts.SortSlices(func(a, b Job) bool { return a.ID() < b.ID() })
	if d := cmp.Diff(a.Queue(), b.Queue(), sorted); d != "" {
		t.Errorf("the queue in memory (-) and on disk (+): %s", d)
	}
	for _, space := range []string{"mail", "notes"} {
		x, y := a.states[kv.NewSpaceID(space)], b.states[kv.NewSpaceID(space)]
		if x == nil {
			x = newSpaceState(space)
		}
		if y == nil {
			y = newSpaceState(space)
		}
		if len(x.days) != len(y.days) || len(x.credits) != len(y.credits) || x.served != y.served {
			t.Errorf("%s: on disk %d days, %d credits, turn %d; in memory %d, %d, %d", space,
				len(y.days), len(y.credits), y.served, len(x.days), len(x.credits), x.served)
		}
		for d, p := range x.days {
			if y.days[d] == nil || *y.days[d] != *p {
				t.Errorf("%s: day %d is on disk %+v, not %+v", space, d, y.days[d], p)
			}
		}
		for id, c := range x.credits {
			if y.credits[id] == nil || *y.credits[id] != *c {
				t.Errorf("%s: credit %d is on disk %+v, not %+v", space, id[0], y.credits[id], c)
			}
		}
	}
	if fmt.Sprint(a.usage) != fmt.Sprint(b.usage) {
		t.Errorf("the budget on disk is %+v, not %+v", b.usage, a.usage)
	}
}
