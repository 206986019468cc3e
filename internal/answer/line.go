package answer

import (
	"context"
	"slices"
	"sync"

	"github.com/percached/percached/internal/fault"
)

// line is where questions stand that need the engine: first come, first served.
// Whoever stands in it looks for stored tensors when his turn comes, so that he
// finds what those before him have left.
type line struct {
	mu     sync.Mutex
	most   int            // that may have a place; 0: no bound
	chance func() float64 // from 0 to 1; nil: see refuses
	taken  int
	places []*place // whose turn is yet to come or is now, in order
}

// place is one question's in the line. Nil is that of idle work, which stands in
// the engine's own line, behind all who wait.
type place struct {
	line  *line
	first chan struct{} // closed when it is its turn
}

// enter takes the last place.
func (l *line) enter() (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses() {
		return nil, fault.New(fault.Overloaded, "answer.Ask", "the model has enough to do: %d under way or waiting", l.taken)
	}
	l.taken++
	p := &place{line: l, first: make(chan struct{})}
	if l.places = append(l.places, p); len(l.places) == 1 {
		close(p.first)
	}
	return p, nil
}

// refuses says whether one more is too many. In the last quarter of the places,
// chance decides, the more strictly the fewer are left: whoever was told to come
// back would else find each place taken by one who has just been answered and asks
// on. Without chance all places are given.
func (l *line) refuses() bool {
	if l.most == 0 || l.taken >= l.most {
		return l.most > 0
	}
	sure := l.most * 3 / 4
	return l.chance != nil && l.taken > sure && l.chance()*float64(l.most-sure) < float64(l.taken-sure)
}

// turn waits until all before have passed.
func (p *place) turn(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.first:
		return fault.Wrap("answer.Ask", ctx.Err())
	case <-ctx.Done():
		return fault.Wrap("answer.Ask", ctx.Err())
	}
}

// pass lets the next have its turn. The place stays taken: what was computed is
// yet to be stored.
func (p *place) pass() {
	if p == nil {
		return
	}
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	i := slices.Index(p.line.places, p)
	if i < 0 {
		return
	}
	p.line.places = slices.Delete(p.line.places, i, i+1)
	if i == 0 && len(p.line.places) > 0 {
		close(p.line.places[0].first)
	}
}

// leave gives the place up.
func (p *place) leave() {
	if p == nil {
		return
	}
	p.pass()
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.line.taken--
}

// count is how many places are taken.
func (l *line) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}
