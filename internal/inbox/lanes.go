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
	in.mu.Lock()
	busy := in.running
	in.running = true
	in.mu.Unlock()
	if busy {
		return fault.New(fault.Conflict, "inbox.Run", "Run was called twice")
	}
	var spaces sync.WaitGroup
	for ctx.Err() == nil {
		due, wait := in.due()
		for _, e := range due {
			spaces.Go(func() { in.work(ctx, e) })
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-in.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	spaces.Wait()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.running = false
	return nil
}

// due returns the first upload of each space that is not busy and has one to run, and
// how long to wait for the next. The caller must work on all of them.
func (in *Inbox) due() (uploads []*entry, wait time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.o.Now()
	wait = lastWait // not longer, as the clock may be set
	seen := map[string]bool{}
	for _, e := range in.queue {
		// A waiting upload blocks later ones of its space: they may contain newer
		// editions of its documents.
		first := !seen[e.Space]
		seen[e.Space] = true
		switch {
		case !first || in.busy[e.Space] || !e.ready:
		case e.again.After(now):
			wait = min(wait, max(e.again.Sub(now), time.Millisecond))
		default:
			in.busy[e.Space] = true
			uploads = append(uploads, e)
		}
	}
	return uploads, wait
}

// work runs an upload and those of its space behind it.
func (in *Inbox) work(ctx context.Context, e *entry) {
	space, l := e.Space, &lane{Inbox: in}
	for e != nil && l.enter(ctx) == nil {
		current, ended := e, in.take(ctx, e, l)
		if e = in.behind(ctx, space); e == nil {
			l.leave()
		}
		if ended { // after all observers have heard of it
			close(current.over)
		}
	}
	l.leave()
	in.mu.Lock()
	delete(in.busy, space)
	in.mu.Unlock()
	in.wakeRun()
}

// behind returns the first upload of a space if it is to run now.
func (in *Inbox) behind(ctx context.Context, space string) *entry {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.queue {
		if e.Space == space {
			if ctx.Err() != nil || !e.ready || e.again.After(in.o.Now()) {
				return nil
			}
			return e
		}
	}
	return nil
}

// lane is a space's share in Options.Lanes. One goroutine uses it at a time.
type lane struct {
	*Inbox
	stop  func() // from Options.Taking; nil: it waits, or has left
	began time.Time
}

// enter waits for a free lane; first it leaves its own if its turn is over.
func (l *lane) enter(ctx context.Context) error {
	if l.stop != nil && !l.over() {
		return nil
	}
	l.leave()
	l.count(1)
	defer l.count(-1)
	if err := l.lanes.Acquire(ctx, 1); err != nil {
		return fault.Wrap("inbox.Run", err)
	}
	l.began, l.stop = l.o.Now(), l.o.Taking()
	return nil
}

func (l *lane) leave() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
		l.lanes.Release(1)
	}
}

// over says that the turn has passed and another space waits.
func (l *lane) over() bool {
	passed := l.o.Now().Sub(l.began)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting > 0 && (passed < 0 || passed >= l.o.Turn)
}

func (l *lane) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += n
}
