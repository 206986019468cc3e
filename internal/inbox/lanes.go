package inbox

import (
	"context"
	"sync"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Run stores the documents of queued uploads until ctx ends: one upload of a space
// after the other, several spaces at the same time. It returns nil when ctx ends;
// the next Run starts interrupted uploads again.
func (in *Inbox) Run(ctx context.Context) error {
	const op = "inbox.Run"
	in.mu.Lock()
	busy := in.running
	in.running = true
	in.mu.Unlock()
	if busy {
		return fault.New(fault.Conflict, op, "Run was called twice")
	}
	var lanes sync.WaitGroup
	defer func() {
		lanes.Wait()
		in.mu.Lock()
		in.running = false
		in.mu.Unlock()
	}()
	for ctx.Err() == nil {
		if e, wait := in.next(); e != nil {
			lanes.Go(func() { in.lane(ctx, e) })
		} else {
			in.rest(ctx, wait)
		}
	}
	return nil
}

// lane runs the uploads of a space until its turn is over.
func (in *Inbox) lane(ctx context.Context, e *entry) {
	stop := in.o.Taking()
	turn := &turn{Inbox: in, began: in.o.Now()}
	for e != nil {
		taken, ended := e, in.take(ctx, e, turn)
		if e = in.more(ctx, taken.Space, turn); e == nil {
			stop()
		}
		if ended { // after the observers have heard of it
			close(taken.over)
		}
	}
	in.wakeRun()
}

// rest waits for work, for a while at most.
func (in *Inbox) rest(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.wake:
	case <-ctx.Done():
	}
}

// next returns the upload to run now, or how long to wait for one. The space that
// waited longest comes first. A waiting upload blocks later ones of its space, as
// they may contain newer editions of its documents.
func (in *Inbox) next() (*entry, time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.busy) >= in.o.Lanes {
		return nil, lastWait
	}
	e, wait := in.first(in.o.Now())
	if e != nil {
		in.busy[e.Space] = true
	}
	return e, wait
}

// first returns the first upload of the space that waited longest. The caller holds
// mu.
func (in *Inbox) first(now time.Time) (best *entry, wait time.Duration) {
	wait = lastWait // not longer, as the clock may be set
	seen := map[string]bool{}
	for _, e := range in.queue {
		if seen[e.Space] {
			continue
		}
		seen[e.Space] = true
		switch {
		case in.busy[e.Space], !e.ready:
		case e.again.After(now):
			wait = min(wait, max(e.again.Sub(now), time.Millisecond))
		case best == nil || in.served[e.Space] < in.served[best.Space]:
			best = e
		}
	}
	return best, wait
}

// more returns the next upload of a space unless its turn is over.
func (in *Inbox) more(ctx context.Context, space string, t *turn) *entry {
	over := t.over()
	in.mu.Lock()
	defer in.mu.Unlock()
	left := false
	for _, e := range in.queue {
		if e.Space != space {
			continue
		}
		if !over && ctx.Err() == nil && e.ready && !e.again.After(in.o.Now()) {
			return e
		}
		left = true
		break
	}
	delete(in.busy, space)
	if delete(in.served, space); left {
		in.turns++
		in.served[space] = in.turns
	}
	return nil
}

// turn is the time of a space while others wait.
type turn struct {
	*Inbox
	began   time.Time
	resumed bool
}

// resume starts the turn when an upload that yielded before reaches its place again.
func (t *turn) resume() {
	if !t.resumed {
		t.resumed, t.began = true, t.o.Now()
	}
}

// over says whether the turn has passed and another space waits.
func (t *turn) over() bool {
	now := t.o.Now()
	if passed := now.Sub(t.began); passed >= 0 && passed < t.o.Turn {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	waits := false
	if len(t.busy) >= t.o.Lanes {
		e, _ := t.first(now)
		waits = e != nil
	}
	if !waits {
		t.began = now
	}
	return waits
}
