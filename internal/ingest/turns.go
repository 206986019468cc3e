package ingest

import (
	"context"
	"errors"
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
	yields map[*context.CancelCauseFunc]struct{} // end the attempts of yielding
	// waiting holds the callers of shared that wait; each closes its channel afterwards.
	waiting map[chan struct{}]struct{}
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
	return &turns{all: semaphore.NewWeighted(allTurns), spaces: map[string]*spaceTurn{}, yields: map[*context.CancelCauseFunc]struct{}{}, waiting: map[chan struct{}]struct{}{}}
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
func (t *turns) shared(ctx context.Context) (done func(), err error) {
	if t.all.TryAcquire(1) {
		return func() { t.all.Release(1) }, nil
	}
	defer t.wait()()
	return t.acquire(ctx, 1)
}

// wait registers a caller that waits, and ends the attempts of yielding. Call done when it
// waits no longer.
func (t *turns) wait() (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := make(chan struct{})
	t.waiting[over] = struct{}{}
	for end := range t.yields {
		(*end)(errYield)
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, over)
		close(over)
	}
}

// errYield ends an attempt because another caller waits.
var errYield = errors.New("another change waits")

// maxYields is how often yielding makes room. Then the others wait, so that it ends.
const maxYields = 8

// yielding calls do while no other caller changes anything. If others wait, it ends the
// attempt, lets them go first, and calls do again.
func (t *turns) yielding(ctx context.Context, do func(ctx context.Context) error) error {
	for yields := 0; yields < maxYields; {
		attempt, end := context.WithCancelCause(ctx)
		others, left := t.registerYield(&end)
		if len(others) > 0 { // they wait for an attempt that has ended
			end(nil)
			if err := awaitAll(ctx, others); err != nil {
				return err
			}
			continue
		}
		err := t.alone(attempt, do)
		left()
		yielded := errors.Is(context.Cause(attempt), errYield)
		end(nil)
		if err == nil || !yielded || ctx.Err() != nil {
			return err
		}
		yields++
	}
	return t.alone(ctx, do)
}

func awaitAll(ctx context.Context, others []chan struct{}) error {
	for _, o := range others {
		select {
		case <-o:
		case <-ctx.Done():
			return fault.Wrap("ingest: another change is under way", ctx.Err())
		}
	}
	return nil
}

// registerYield registers an attempt, so that callers that wait end it, or returns those
// that wait already. A caller sees the attempt, or the attempt sees the caller.
func (t *turns) registerYield(end *context.CancelCauseFunc) (others []chan struct{}, left func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for o := range t.waiting {
		others = append(others, o)
	}
	if len(others) == 0 {
		t.yields[end] = struct{}{}
	}
	return others, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.yields, end)
	}
}

func (t *turns) alone(ctx context.Context, do func(ctx context.Context) error) error {
	done, err := t.exclusive(ctx)
	if err != nil {
		return err
	}
	defer done()
	return do(ctx)
}

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
