package answer

import (
	"context"
	"slices"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// queue is the one admission queue: an Asker has one for the engine and one for the
// embedder. Callers take turns, and the questions of one caller are served in the order
// in which they came. So a caller that floods the queue delays another caller by one
// question a turn. A question looks for stored tensors when its turn comes, so that it
// finds those of the questions before it.
type queue struct {
	mu     sync.Mutex
	limit  int            // of places; 0: no bound
	chance func() float64 // from 0 to 1; nil: see refuses
	taken  int
	by     map[string]int // places taken, by caller
	places []*place       // those that wait for their turn or have it, in order
}

// place is one question's in the queue. A nil place is that of idle work, which waits in
// the engine's own line, behind all questions.
type place struct {
	queue  *queue
	caller string
	round  int           // each caller has one place in each round
	due    chan struct{} // closed when its turn comes
}

// enter takes a place for a caller.
func (q *queue) enter(caller string) (*place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refuses(caller) { // the message must not reveal what other callers do
		return nil, fault.New(fault.Overloaded, "answer.Ask", "the queue for the model has no free place; %d of your questions are in it, wait for one of them", q.by[caller])
	}
	if q.by == nil {
		q.by = map[string]int{}
	}
	q.taken++
	q.by[caller]++
	p := &place{queue: q, caller: caller, due: make(chan struct{})}
	at := len(q.places)
	if at == 0 {
		close(p.due)
	} else {
		p.round = q.places[0].round + 1
		for _, other := range q.places {
			if other.caller == caller {
				p.round = max(p.round, other.round+1)
			}
		}
		for at > 1 && q.behind(q.places[at-1], p) {
			at--
		}
	}
	q.places = slices.Insert(q.places, at, p)
	return p, nil
}

// behind says whether a waiting place has its turn after a new one: because it belongs
// to a later round, or to the same round and to a caller with more waiting places.
func (q *queue) behind(waiting, p *place) bool {
	return waiting.round > p.round || waiting.round == p.round && q.waiting(waiting.caller) > q.waiting(p.caller)+1
}

// waiting counts the places of a caller that wait for their turn or have it.
func (q *queue) waiting(caller string) (n int) {
	for _, p := range q.places {
		if p.caller == caller {
			n++
		}
	}
	return n
}

// refuses says whether a caller gets no further place. A caller may take as many places
// as are still free: alone half of them, beside another a third. So a new caller always
// finds one. In the last quarter of a caller's places chance decides, more strictly the
// fewer are left. Otherwise a client that was told to retry would always find the place
// taken by a client that was just answered. Without chance all places are given.
func (q *queue) refuses(caller string) bool {
	if q.limit == 0 {
		return false
	}
	own, free := q.by[caller], q.limit-q.taken
	limit := own + (free-own+1)/2
	if own >= limit {
		return true
	}
	sure := limit * 3 / 4
	return q.chance != nil && own > sure && q.chance()*float64(limit-sure) < float64(own-sure)
}

// turn waits until the place's turn comes.
func (p *place) turn(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.due:
	case <-ctx.Done():
	}
	return fault.Wrap("answer.Ask", ctx.Err())
}

// pass gives the turn to the next place. This place stays taken until leave: its answer
// is yet to be stored.
func (p *place) pass() {
	if p == nil {
		return
	}
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	i := slices.Index(p.queue.places, p)
	if i < 0 {
		return
	}
	p.queue.places = slices.Delete(p.queue.places, i, i+1)
	if i == 0 && len(p.queue.places) > 0 {
		close(p.queue.places[0].due)
	}
}

// leave gives the place up.
func (p *place) leave() {
	if p == nil {
		return
	}
	p.pass()
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.taken--
	if p.queue.by[p.caller]--; p.queue.by[p.caller] == 0 {
		delete(p.queue.by, p.caller)
	}
}

// count returns how many places are taken.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}
