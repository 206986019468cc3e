package ingest

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/fault"
)

// turns control who may change what: one caller for each space, many spaces in parallel,
// and CleanUp and Recover alone. Waiting callers are served in order. Take a space's turn
// before the shared one.
type turns struct {
	all *semaphore.Weighted // allTurns: exclusive

	mu     sync.Mutex
	spaces map[string]*spaceTurn
}

// allTurns exceeds the number of concurrent changes.
const allTurns = 1 << 30

// spaceTurn is the turn of a space, and the Adds in progress there.
type spaceTurn struct {
	busy   chan struct{} // contains one element while the turn is taken
	users  int           // callers that hold the turn or wait for it
	adding map[*adding]context.CancelCauseFunc
	ending int // deletions of the whole space in progress; they block new Adds
}

func newTurns() *turns {
	return &turns{all: semaphore.NewWeighted(allTurns), spaces: map[string]*spaceTurn{}}
}

// turn returns the turn of a space; give it back with release. The caller holds mu.
func (t *turns) turn(space string) *spaceTurn {
	s := t.spaces[space]
	if s == nil {
		s = &spaceTurn{busy: make(chan struct{}, 1), adding: map[*adding]context.CancelCauseFunc{}}
		t.spaces[space] = s
	}
	s.users++
	return s
}

// release deletes a space's turn when nobody needs it.
func (t *turns) release(space string, s *spaceTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(t.spaces, space)
	}
}

// space waits until no other caller changes the space or all spaces. Call done at the
// end.
func (t *turns) space(ctx context.Context, space string) (done func(), err error) {
	t.mu.Lock()
	s := t.turn(space)
	t.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		t.release(space, s)
		return nil, fault.Wrap("ingest: another change is under way", ctx.Err())
	}
	beside, err := t.shared(ctx)
	if err != nil {
		<-s.busy
		t.release(space, s)
		return nil, err
	}
	return func() {
		beside()
		<-s.busy
		t.release(space, s)
	}, nil
}

// shared waits until nobody changes all spaces. Call done at the end.
func (t *turns) shared(ctx context.Context) (done func(), err error) { return t.acquire(ctx, 1) }

// exclusive waits until no other caller changes anything. Call done at the end.
func (t *turns) exclusive(ctx context.Context) (done func(), err error) {
	return t.acquire(ctx, allTurns)
}

func (t *turns) acquire(ctx context.Context, n int64) (done func(), err error) {
	if err := t.all.Acquire(ctx, n); err != nil {
		return nil, fault.Wrap("ingest: another change is under way", err)
	}
	return func() { t.all.Release(n) }, nil
}

// errForgotten ends the Adds of a space that is being deleted.
var errForgotten = fault.New(fault.Unavailable, "ingest.Add", "the space is being deleted")

// registerAdd registers an Add, so that it can be ended. Call left at the end.
func (t *turns) registerAdd(a *adding, end context.CancelCauseFunc) (left func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.spaces[a.space]; s != nil && s.ending > 0 {
		return nil, errForgotten
	}
	s := t.turn(a.space)
	s.adding[a] = end
	return func() {
		t.mu.Lock()
		delete(s.adding, a)
		t.mu.Unlock()
		t.release(a.space, s)
	}, nil
}

// endAdds ends the Adds of a space and refuses new ones until done is called.
func (t *turns) endAdds(space string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.turn(space)
	s.ending++
	for _, end := range s.adding {
		end(errForgotten)
	}
	return func() {
		t.mu.Lock()
		s.ending--
		t.mu.Unlock()
		t.release(space, s)
	}
}
