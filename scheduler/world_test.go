package scheduler

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/kv"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// script is a worker made of funcs; missing ones find nothing.
type script struct {
	spaces func() ([]string, error)
	due    func(ctx context.Context, space string, kind Kind, limit int) ([]Due, error)
	do     func(ctx context.Context, j Job) (Done, error)
}

func (s *script) Spaces() ([]string, error) {
	if s.spaces == nil {
		return []string{"mail"}, nil
	}
	return s.spaces()
}

func (s *script) Due(ctx context.Context, space string, kind Kind, limit int) ([]Due, error) {
	if s.due == nil {
		return nil, nil
	}
	return s.due(ctx, space, kind, limit)
}

func (s *script) Do(ctx context.Context, j Job) (Done, error) {
	if s.do == nil {
		return Done{}, nil
	}
	return s.do(ctx, j)
}

// truth is the due work of a worker, in order.
type truth struct{ due []task }

type task struct {
	space string
	kind  Kind
	Due
}

func (t *truth) add(space string, kind Kind, d Due) {
	t.remove(space, kind, d.Subject)
	t.due = append(t.due, task{space, kind, d})
}

func (t *truth) remove(space string, kind Kind, subject string) bool {
	n := len(t.due)
	t.due = slices.DeleteFunc(t.due, func(w task) bool { return w.space == space && w.kind == kind && w.Subject == subject })
	return len(t.due) < n
}

func (t *truth) list(space string, kind Kind, limit int) (found []Due) {
	for _, w := range t.due {
		if w.space == space && w.kind == kind && len(found) < limit {
			found = append(found, w.Due)
		}
	}
	return found
}

func (t *truth) spaces() (names []string) {
	for _, w := range t.due {
		if !slices.Contains(names, w.space) {
			names = append(names, w.space)
		}
	}
	return names
}

func openDB(t testing.TB, dir string) *kv.DB {
	t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// atNoon is a configuration independent of device and time zone.
func atNoon() Config {
	c := Default()
	c.Device.ChargingOnly = false
	c.Zone = time.UTC
	return c
}

// desk is a scheduler with everything it needs.
type desk struct {
	t      testing.TB
	db     *kv.DB
	now    time.Time
	worker worker
	config Config
	alive  func(space string, id [16]byte) bool
	s      *Scheduler
	broken []error // records found damaged
	ended  []Step
}

// sit creates a desk with this worker.
func sit(t testing.TB, w worker) *desk {
	t.Helper()
	d := &desk{t: t, db: openDB(t, t.TempDir()), now: noon(), worker: w, config: atNoon()}
	t.Cleanup(func() {
		if err := d.db.Close(); err != nil {
			t.Error(err)
		}
	})
	d.open()
	return d
}

// open opens the scheduler, as after a kill.
func (d *desk) open() {
	d.t.Helper()
	s, err := Open(Options{
		DB: d.db, Worker: d.worker, Config: d.config, Alive: d.alive, Now: func() time.Time { return d.now },
		Observer: Observer{
			Damaged: func(err error) { d.broken = append(d.broken, err) },
			Ended:   func(st Step) { d.ended = append(d.ended, st) },
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	s.watch = func(time.Duration) (<-chan time.Time, func() bool) { return nil, func() bool { return true } }
	d.s = s
}

func (d *desk) step() Step {
	d.t.Helper()
	st, err := d.s.Step(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return st
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
