package inbox

import (
	"context"
	"sync"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Run takes in what is queued until ctx ends: of each space one upload after the
// other, of several spaces at the same time. That ctx ends is no error; an upload
// that was running is queued then, to be begun again by the next Run.
func (in *Inbox) Run(ctx context.Context) error {
	const op = "inbox.Run"
	in.mu.Lock()
	busy := in.running
	in.running = true
	in.mu.Unlock()
	if busy {
		return fault.New(fault.Conflict, op, "it runs already")
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

// lane takes in an upload, and those of its space behind it, until its turn is over.
func (in *Inbox) lane(ctx context.Context, e *entry) {
	stop := in.o.Taking()
	turn := &turn{Inbox: in, began: in.o.Now()}
	for e != nil {
		taken, ended := e, in.take(ctx, e, turn)
		if e = in.more(ctx, taken.Space, turn); e == nil {
			stop()
		}
		if ended { // who waits for it knows no more than who watches
			close(taken.over)
		}
	}
	in.ring()
}

// rest returns after a while, or when there may be something to do, or when ctx
// ends.
func (in *Inbox) rest(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.wake:
	case <-ctx.Done():
	}
}

// next gives the upload that is to be taken in now, or how long it may take until
// there is one. Of several spaces it is that which waits longest for a turn. An
// upload that has to wait holds up its space: a later one may hold a newer edition
// of its documents.
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

// first gives the first upload of the space that waits longest for a turn. The
// caller holds mu.
func (in *Inbox) first(now time.Time) (best *entry, wait time.Duration) {
	wait = lastWait // the clock may be set: it is looked at now and then
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

// more gives the next upload of a space, unless its turn is over.
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

// turn is the time that a space has while others wait.
type turn struct {
	*Inbox
	began   time.Time
	resumed bool
}

// resume begins the turn of an upload that gave way before where it goes on: until
// then it was only passed over what was read.
func (t *turn) resume() {
	if !t.resumed {
		t.resumed, t.began = true, t.o.Now()
	}
}

// over says whether the space has had its turn, and another waits for one.
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
