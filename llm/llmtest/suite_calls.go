package llmtest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// call is a Generate on a goroutine of its own. res and err may be read once
// done is closed.
type call struct {
	cancel context.CancelFunc
	done   chan struct{}
	res    percached.Result
	err    error
	order  atomic.Int64 // of the first piece among all calls; 0 when none came
}

// log counts first pieces, in order.
type log struct{ n atomic.Int64 }

func (p *probe) start(e llm.Engine, pr percached.Prompt, l *log) *call {
	return p.startEmit(e, pr, l, func() {})
}

func (p *probe) startEmit(e llm.Engine, pr percached.Prompt, l *log, each func()) *call {
	ctx, cancel := context.WithCancel(p.context())
	c := &call{cancel: cancel, done: make(chan struct{})}
	pr = clonePrompt(pr)
	go func() {
		defer close(c.done)
		c.res, c.err = e.Generate(ctx, pr, func(string) error {
			if l != nil && c.order.Load() == 0 {
				c.order.Store(l.n.Add(1))
			}
			each()
			return nil
		})
	}()
	return c
}

// held is a running call that stands still in its first emit.
type held struct {
	*call
	free  chan struct{}
	once  sync.Once
	after atomic.Int64 // pieces emitted since it was let go
}

func (h *held) letGo() { h.once.Do(func() { close(h.free) }) }

// hold gives the engine something to do that takes until letGo.
func (p *probe) hold(e llm.Engine, pr percached.Prompt) *held {
	h := &held{free: make(chan struct{})}
	running := make(chan struct{})
	first := true
	h.call = p.startEmit(e, pr, nil, func() {
		if first {
			first = false
			close(running)
			<-h.free
			return
		}
		h.after.Add(1)
	})
	select {
	case <-running:
	case <-h.done:
		p.fatalf("the first request ended before it answered: %v", h.err)
	}
	return h
}

// fill puts as many calls in line as may wait while the engine is held, and
// one more. That one is refused, and its refusal is how it is known, without a
// clock, that all the others are in line.
func (p *probe) fill(e llm.Engine, pr percached.Prompt, l *log) []*call {
	over := make(chan *call, p.Queue+1)
	calls := make([]*call, p.Queue+1)
	for i := range calls {
		c := p.start(e, pr, l)
		calls[i] = c
		go func() {
			<-c.done
			over <- c
		}()
	}
	refused := await(p, over, "the refusal of one request more than %d in line", p.Queue)
	if fault.KindOf(refused.err) != fault.Overloaded {
		p.fatalf("a request more than %d in line: %v (%v), want overloaded", p.Queue, refused.err, fault.KindOf(refused.err))
	}
	waiting := calls[:0]
	for _, c := range calls {
		if c != refused {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// finish waits for calls that must succeed.
func (p *probe) finish(what string, calls []*call) {
	for _, c := range calls {
		await(p, c.done, "%s to end", what)
		p.must(c.err, "%s", what)
	}
}
