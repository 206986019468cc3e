package ingest

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/fault"
)

// turns say who may change what: one caller a space, many spaces at once, and
// CleanUp and Recover alone. Who waits is served in the order of coming. A space's
// turn is taken before that beside CleanUp.
type turns struct {
	all *semaphore.Weighted // everyone: nobody else changes anything

	mu     sync.Mutex
	spaces map[string]*spaceTurn
}

// everyone is more than change something at the same time.
const everyone = 1 << 30

// spaceTurn is who may change a space, and what is being added to it.
type spaceTurn struct {
	busy   chan struct{} // holds one while somebody changes it
	users  int           // who hold this, or wait for it
	adding map[*adding]context.CancelCauseFunc
	ending int // who forget the whole space: nothing is added meanwhile
}

func newTurns() *turns {
	return &turns{all: semaphore.NewWeighted(everyone), spaces: map[string]*spaceTurn{}}
}

// of gives the turn of a space; give it back with leave. The caller holds mu.
func (t *turns) of(space string) *spaceTurn {
	s := t.spaces[space]
	if s == nil {
		s = &spaceTurn{busy: make(chan struct{}, 1), adding: map[*adding]context.CancelCauseFunc{}}
		t.spaces[space] = s
	}
	s.users++
	return s
}

// leave forgets a space's turn when nobody needs it.
func (t *turns) leave(space string, s *spaceTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(t.spaces, space)
	}
}

// change waits until nobody else changes the space, nor all of them; who called it
// calls done.
func (t *turns) change(ctx context.Context, space string) (done func(), err error) {
	t.mu.Lock()
	s := t.of(space)
	t.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		t.leave(space, s)
		return nil, fault.Wrap("ingest: another change is under way", ctx.Err())
	}
	beside, err := t.beside(ctx)
	if err != nil {
		<-s.busy
		t.leave(space, s)
		return nil, err
	}
	return func() {
		beside()
		<-s.busy
		t.leave(space, s)
	}, nil
}

// beside waits until nobody changes all spaces; who called it calls done.
func (t *turns) beside(ctx context.Context) (done func(), err error) { return t.take(ctx, 1) }

// changeAll waits until nobody else changes anything; who called it calls done.
func (t *turns) changeAll(ctx context.Context) (done func(), err error) { return t.take(ctx, everyone) }

func (t *turns) take(ctx context.Context, n int64) (done func(), err error) {
	if err := t.all.Acquire(ctx, n); err != nil {
		return nil, fault.Wrap("ingest: another change is under way", err)
	}
	return func() { t.all.Release(n) }, nil
}

// errForgotten is why an Add ends whose space is being forgotten.
var errForgotten = fault.New(fault.Unavailable, "ingest.Add", "the space is being forgotten")

// add enters an Add, so that it can be ended; who called it calls left.
func (t *turns) add(a *adding, end context.CancelCauseFunc) (left func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.spaces[a.space]; s != nil && s.ending > 0 {
		return nil, errForgotten
	}
	s := t.of(a.space)
	s.adding[a] = end
	return func() {
		t.mu.Lock()
		delete(s.adding, a)
		t.mu.Unlock()
		t.leave(a.space, s)
	}, nil
}

// end ends what is being added to a space, and lets nothing more be added until
// the caller calls done.
func (t *turns) end(space string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.of(space)
	s.ending++
	for _, end := range s.adding {
		end(errForgotten)
	}
	return func() {
		t.mu.Lock()
		s.ending--
		t.mu.Unlock()
		t.leave(space, s)
	}
}
