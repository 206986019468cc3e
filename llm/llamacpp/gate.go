package llamacpp

import (
	"context"
	"runtime"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Gate orders the work of the engines and embedders opened with it: none runs background
// work while any has foreground work. It admits nobody and knows no callers: that is
// for whoever uses the engine.
type Gate struct {
	mu         sync.Mutex
	foreground int // requests waiting or running
	workers    map[*worker]struct{}
}

// NewGate makes a gate for the engines and embedders of one process.
func NewGate() *Gate { return &Gate{workers: map[*worker]struct{}{}} }

// A job is one request in a worker's line.
type job struct {
	priority percached.Priority
	run      func() error
	ended    func() error // why the request ended early; nil while it has not
	cancel   context.CancelCauseFunc
	done     chan struct{}
	err      error
}

// A worker owns one llama.cpp context. It runs one job at a time, foreground first, each
// priority in order of arrival.
type worker struct {
	gate    *Gate
	cores   cores
	limit   int // maximum number of waiting jobs of each priority
	wake    *sync.Cond
	line    [2][]*job
	running *job
	stop    func(bool) // sets or clears the flag that C polls
	closed  bool
	gone    chan struct{}
}

func (g *Gate) newWorker(limit int, on cores, stop func(bool)) *worker {
	w := &worker{gate: g, limit: limit, cores: on, stop: stop, wake: sync.NewCond(&g.mu), gone: make(chan struct{})}
	g.mu.Lock()
	g.workers[w] = struct{}{}
	g.mu.Unlock()
	go w.run()
	return w
}

// do runs f on the worker's goroutine and waits for it. The context of f ends with the
// request's, on preemption and on Close. The flag that C polls is set by then, and
// context.Cause says why.
func (w *worker) do(ctx context.Context, p percached.Priority, f func(context.Context) error) error {
	if p > percached.Background {
		return fault.New(fault.Invalid, "llamacpp: queue", "unknown priority %d", p)
	}
	jctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{
		priority: p, cancel: cancel, done: make(chan struct{}),
		run:   func() error { return f(jctx) },
		ended: func() error { return context.Cause(jctx) },
	}
	if err := w.enter(j); err != nil {
		return err
	}
	// When the request ends early, it leaves the line or C stops.
	unhook := context.AfterFunc(jctx, func() { w.interrupt(j) })
	defer unhook()
	<-j.done
	return j.err
}

func (w *worker) enter(j *job) error {
	g := w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case w.closed:
		return llm.ErrClosed
	case j.ended() != nil:
		return j.ended()
	case len(w.line[j.priority]) >= w.room(j.priority):
		return fault.New(fault.Overloaded, "llamacpp: queue", "%d requests are waiting already", w.limit)
	}
	w.line[j.priority] = append(w.line[j.priority], j)
	if j.priority == percached.Foreground {
		g.foreground++
		for other := range g.workers {
			if r := other.running; r != nil && r.priority == percached.Background {
				r.cancel(llm.ErrPreempted)
				other.stop(true)
			}
		}
	}
	w.wake.Signal()
	return nil
}

// waits reports whether a foreground request waits in line.
func (w *worker) waits() bool {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	return len(w.line[percached.Foreground]) > 0
}

// room is the maximum length of a line. It is one more if the worker is idle and reads this
// line first, because it takes that job at once.
func (w *worker) room(p percached.Priority) int {
	if w.running == nil && (p == percached.Foreground || len(w.line[percached.Foreground]) == 0) {
		return w.limit + 1
	}
	return w.limit
}

// interrupt ends a job whose context has ended.
func (w *worker) interrupt(j *job) {
	g := w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.running == j {
		w.stop(true)
		return
	}
	line := w.line[j.priority]
	for i, other := range line {
		if other == j {
			w.line[j.priority] = append(line[:i:i], line[i+1:]...)
			w.finish(j, j.ended())
			return
		}
	}
}

// finish ends a job. The caller holds the gate's lock.
func (w *worker) finish(j *job, err error) {
	j.err = err
	close(j.done)
	if j.priority == percached.Foreground {
		w.gate.foreground--
		if w.gate.foreground == 0 {
			for other := range w.gate.workers {
				other.wake.Signal()
			}
		}
	}
}

// next waits for the next job. It returns nil when the worker is closed.
func (w *worker) next() *job {
	g := w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if w.closed {
			return nil
		}
		for p := range w.line {
			if len(w.line[p]) == 0 || (p == int(percached.Background) && g.foreground > 0) {
				continue
			}
			j := w.line[p][0]
			w.line[p][0] = nil // do not keep its prompt and slices in memory
			w.line[p] = w.line[p][1:]
			w.running = j
			w.stop(j.ended() != nil)
			return j
		}
		w.wake.Wait()
	}
}

func (w *worker) run() {
	defer close(w.gone)
	if installed || len(w.cores.cpus) > 0 {
		// An installed llama.cpp is usually built with OpenMP, which starts helper threads
		// for each calling thread. The thread stays locked, so that they end with this
		// goroutine; and so that no other goroutine runs on a bound thread.
		runtime.LockOSThread()
		w.cores.bind()
	}
	for j := w.next(); j != nil; j = w.next() {
		err := j.run()
		w.gate.mu.Lock()
		w.running = nil
		w.finish(j, err)
		w.gate.mu.Unlock()
	}
}

// close ends the running job, refuses the waiting ones, and waits for the worker.
func (w *worker) close() {
	g := w.gate
	g.mu.Lock()
	if !w.closed {
		w.closed = true
		delete(g.workers, w)
		for p := range w.line {
			for _, j := range w.line[p] {
				w.finish(j, llm.ErrClosed)
			}
			w.line[p] = nil
		}
		if w.running != nil {
			w.running.cancel(llm.ErrClosed)
			w.stop(true)
		}
		w.wake.Signal()
	}
	g.mu.Unlock()
	<-w.gone
}
