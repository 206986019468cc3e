package answer

import (
	"context"
	"slices"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// line is the queue of questions that need the engine. Callers take turns, and the
// questions of one caller are served in the order in which they came: a caller who
// floods the queue delays another by one question for each turn. A question looks
// for stored tensors when its turn comes, so that it finds what earlier ones left.
type line struct {
	mu     sync.Mutex
	most   int            // that may have a place; 0: no bound
	chance func() float64 // from 0 to 1; nil: see refuses
	taken  int
	by     map[string]int // places taken, by caller
	places []*place       // whose turn is yet to come or is now, in order
}

// place is one question's in the line. Nil is that of idle work, which stands in
// the engine's own line, behind all who wait.
type place struct {
	line   *line
	caller string
	round  int           // each caller has one place in each round
	first  chan struct{} // closed when it is its turn
}

// enter takes a place for a caller.
func (l *line) enter(caller string) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses(caller) { // what others do is not told
		return nil, fault.New(fault.Overloaded, "answer.Ask", "no place is free in the queue for the model; %d questions of yours have one", l.by[caller])
	}
	if l.by == nil {
		l.by = map[string]int{}
	}
	l.taken++
	l.by[caller]++
	p := &place{line: l, caller: caller, first: make(chan struct{})}
	at := len(l.places)
	if at == 0 {
		close(p.first)
	} else {
		p.round = l.places[0].round + 1
		for _, q := range l.places {
			if q.caller == caller {
				p.round = max(p.round, q.round+1)
			}
		}
		for at > 1 && l.behind(l.places[at-1], p) {
			at--
		}
	}
	l.places = slices.Insert(l.places, at, p)
	return p, nil
}

// behind says whether q has its turn after p, which comes later: it belongs to a
// later round, or to the same round and to a caller for whom more places wait.
func (l *line) behind(q, p *place) bool {
	return q.round > p.round || q.round == p.round && l.waiting(q.caller) > l.waiting(p.caller)+1
}

// waiting counts the places of a caller whose turn is yet to come or is now.
func (l *line) waiting(caller string) (n int) {
	for _, p := range l.places {
		if p.caller == caller {
			n++
		}
	}
	return n
}

// refuses says whether a caller gets no further place. A caller may have as many as
// are still free: alone half of them, beside another a third. So a newcomer finds
// one, whatever others do. In the last quarter of what a caller may have, chance
// decides, the more strictly the fewer are left: a client that was told to come back
// would otherwise find each place taken by one that was just answered and asks on.
// Without chance all places are given.
func (l *line) refuses(caller string) bool {
	if l.most == 0 {
		return false
	}
	own, free := l.by[caller], l.most-l.taken
	limit := own + (free-own+1)/2
	if own >= limit {
		return true
	}
	sure := limit * 3 / 4
	return l.chance != nil && own > sure && l.chance()*float64(limit-sure) < float64(own-sure)
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
	if p.line.by[p.caller]--; p.line.by[p.caller] == 0 {
		delete(p.line.by, p.caller)
	}
}

// count is how many places are taken.
func (l *line) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}
