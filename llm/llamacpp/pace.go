package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"time"
)

// llama.cpp's threads busy-wait for each other. If another program uses a processor, the
// thread on it delays all others, and a batch takes many times as long as with one thread
// fewer. So the number of threads is the number of processors that others leave free. It
// changes no bit of the result.

const (
	paceEvery = 200 * time.Millisecond // sampling interval; the kernel counts in 10 ms
	paceStale = 2 * time.Second        // a sample over a longer time says little about now
	paceSpare = 0.25                   // share of a processor that others may use without costing a thread
)

// load is what the processors on which the threads may run did since the machine's start. Programs of lower priority
// do not count.
type load struct {
	processors int
	runnable   int // runnable threads now, including ours and those of lower priority
	busy, own  time.Duration
}

// pace chooses the number of threads.
type pace struct {
	most    int
	now     func() time.Time
	look    func() (load, bool) // false: this system does not provide it
	threads int
	seen    load
	at      time.Time
}

func newPace(most int, on cores) *pace {
	p := &pace{most: most, threads: most, now: time.Now, look: func() (load, bool) { return lookAtLoad(on.cpus) }}
	p.seen, _ = p.look()
	p.at = p.now()
	return p
}

// choose is called before each batch, while no thread of ours computes.
func (p *pace) choose() int {
	now := p.now()
	since := now.Sub(p.at)
	if p.most == 1 || since < paceEvery {
		return p.threads
	}
	l, ok := p.look()
	if !ok {
		return p.threads
	}
	others := (l.busy - p.seen.busy - (l.own - p.seen.own)).Seconds() / since.Seconds()
	if since > paceStale && others >= paceSpare { // another program ran: if it still does, it uses a whole processor
		others = float64(l.runnable - 1)
	}
	p.seen, p.at = l, now
	free := int(math.Floor(float64(l.processors) - others + paceSpare))
	p.threads = min(max(free, 1), p.most)
	return p.threads
}

// set sets a context's number of threads for its next batch.
func (p *pace) set(c *C.pc_context) {
	before := p.threads
	if n := p.choose(); n != before {
		C.llama_set_n_threads(C.pc_llama(c), C.int32_t(n), C.int32_t(n))
	}
}
