package llmtest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Gate lets one request at a time at a device: foreground before background,
// first come first served. A Fake and a FakeEmbedder that share a Gate share a
// device. The zero Gate is ready.
type Gate struct {
	mu      sync.Mutex
	running *turn // nil only while both lines are empty
	lines   [2][]*turn
	unfair  bool // for broken engines: last come, first served
}

type turn struct {
	priority percached.Priority
	granted  chan struct{}
	yield    atomic.Bool // somebody in the foreground waits for this background turn
}

// enter waits for a turn. At most bound requests of each priority wait; queued
// is called once the request has its place.
func (g *Gate) enter(ctx context.Context, closed <-chan struct{}, p percached.Priority, bound int, queued func()) (*turn, error) {
	t := &turn{priority: p, granted: make(chan struct{})}
	g.mu.Lock()
	switch {
	case g.running == nil:
		g.running = t
		close(t.granted)
	case len(g.lines[p]) >= bound:
		g.mu.Unlock()
		return nil, fault.New(fault.Overloaded, "llmtest.enter", "%d requests wait in line", bound)
	default:
		g.lines[p] = append(g.lines[p], t)
		if p == percached.Foreground && g.running.priority == percached.Background {
			g.running.yield.Store(true)
		}
	}
	g.mu.Unlock()
	queued()
	var err error
	select {
	case <-t.granted:
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closed:
		err = llm.ErrClosed
	}
	g.abandon(t)
	return nil, err
}

// abandon gives up a place in line, or the turn if it was granted meanwhile.
func (g *Gate) abandon(t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.lines[t.priority], t); i >= 0 {
		g.lines[t.priority] = slices.Delete(g.lines[t.priority], i, i+1)
		return
	}
	g.next()
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next()
}

func (g *Gate) next() {
	g.running = nil
	for p := range g.lines {
		if len(g.lines[p]) > 0 {
			i := 0
			if g.unfair {
				i = len(g.lines[p]) - 1
			}
			g.running = g.lines[p][i]
			g.lines[p] = slices.Delete(g.lines[p], i, i+1)
			close(g.running.granted)
			return
		}
	}
}

// lifetime is the part of a fake that opens, counts calls, and closes.
type lifetime struct {
	mu     sync.Mutex
	closed chan struct{}
	over   bool
	calls  sync.WaitGroup
}

func newLifetime() *lifetime { return &lifetime{closed: make(chan struct{})} }

// begin counts a call in, unless the fake is closed.
func (l *lifetime) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return llm.ErrClosed
	}
	l.calls.Add(1)
	return nil
}

func (l *lifetime) close() error {
	l.mu.Lock()
	if !l.over {
		l.over = true
		close(l.closed)
	}
	l.mu.Unlock()
	l.calls.Wait()
	return nil
}

// stop says why a turn must end now; nil when it need not.
func (l *lifetime) stop(ctx context.Context, t *turn) error {
	select {
	case <-l.closed:
		return llm.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.yield.Load() {
		return llm.ErrPreempted
	}
	return nil
}
