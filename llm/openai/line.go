package openai

import (
	"context"
	"slices"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// A line lets one request at a time at the server: foreground before background, first come
// first served. Callers and spaces take turns before, in the queue of questions.
type line struct {
	limit   int // requests of each priority that wait
	mu      sync.Mutex
	closed  bool
	running *turn // nil only while both lines are empty
	waiting [2][]*turn
	calls   sync.WaitGroup
}

// turn is one request in the line.
type turn struct {
	priority percached.Priority
	due      chan struct{} // closed when its turn has come
	cancel   context.CancelCauseFunc
}

// enter waits for the request's turn. The returned context ends with ctx, when a foreground
// request preempts this one, and when the line closes.
func (l *line) enter(ctx context.Context, p percached.Priority) (context.Context, func(), error) {
	inner, cancel := context.WithCancelCause(ctx)
	t := &turn{priority: p, due: make(chan struct{}), cancel: cancel}
	if err := l.join(ctx, t); err != nil {
		cancel(nil)
		return nil, nil, err
	}
	leave := func() {
		cancel(nil)
		l.leave(t)
	}
	select {
	case <-t.due:
	case <-inner.Done():
	}
	if err := context.Cause(inner); err != nil {
		leave()
		return nil, nil, err
	}
	return inner, leave, nil
}

// join puts a request into the line.
func (l *line) join(ctx context.Context, t *turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return llm.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case l.running == nil:
		l.running = t
		close(t.due)
	case len(l.waiting[t.priority]) >= l.limit:
		return fault.New(fault.Overloaded, op, "%d requests are waiting already", l.limit)
	default:
		l.waiting[t.priority] = append(l.waiting[t.priority], t)
		if t.priority == percached.Foreground && l.running.priority == percached.Background {
			l.running.cancel(llm.ErrPreempted)
		}
	}
	l.calls.Add(1)
	return nil
}

// leave ends a request, or takes it out of the line.
func (l *line) leave(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.calls.Done()
	if l.running != t {
		l.waiting[t.priority] = slices.DeleteFunc(l.waiting[t.priority], func(o *turn) bool { return o == t })
		return
	}
	l.running = nil
	for p := range l.waiting {
		if len(l.waiting[p]) > 0 {
			l.running, l.waiting[p] = l.waiting[p][0], l.waiting[p][1:]
			close(l.running.due)
			return
		}
	}
}

// close ends what runs and what waits, and waits for it.
func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	for _, t := range slices.Concat([]*turn{l.running}, l.waiting[0], l.waiting[1]) {
		if t != nil {
			t.cancel(llm.ErrClosed)
		}
	}
	l.mu.Unlock()
	l.calls.Wait()
}

// isClosed says that the line was closed.
func (l *line) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
