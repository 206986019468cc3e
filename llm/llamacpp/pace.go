package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"time"
)

// llama.cpp's threads wait for each other by spinning: where another program has a
// processor, the thread that would be there holds all others up, and a batch takes
// many times as long as with one thread less. So as many threads compute as there are
// processors that others leave free. Their number changes no bit of what comes out.

const (
	paceEvery = 200 * time.Millisecond // how often it is looked, as the kernel counts in 10 ms
	paceStale = 2 * time.Second        // what others did in a longer time says little of now
	paceSpare = 0.25                   // of a processor others may take without a thread less
)

// load is what the machine's processors have done since it was started. Programs that
// give way to us do not count.
type load struct {
	processors int
	runnable   int // threads that run or could run just now, ours and those that give way with them
	busy, own  time.Duration
}

// pace chooses how many threads compute.
type pace struct {
	most    int
	now     func() time.Time
	look    func() (load, bool) // false: this system does not say
	threads int
	seen    load
	at      time.Time
}

func newPace(most int) *pace {
	p := &pace{most: most, threads: most, now: time.Now, look: lookAtLoad}
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
	if since > paceStale && others >= paceSpare { // somebody was there: who still is takes a whole processor
		others = float64(l.runnable - 1)
	}
	p.seen, p.at = l, now
	free := int(math.Floor(float64(l.processors) - others + paceSpare))
	p.threads = min(max(free, 1), p.most)
	return p.threads
}

// set tells a context how many threads compute its next batch.
func (p *pace) set(c *C.pc_context) {
	before := p.threads
	if n := p.choose(); n != before {
		C.llama_set_n_threads(C.pc_llama(c), C.int32_t(n), C.int32_t(n))
	}
}
