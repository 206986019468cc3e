package openai

import (
	"sync"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	breakAfter = 3                // failures in a row before requests are refused
	breakFirst = 2 * time.Second  // how long they are refused the first time
	breakMost  = 60 * time.Second // and at most
)

// A breaker refuses requests to a server that failed several times in a row, so that a client
// learns at once what it would learn after all tries. After a pause one request tries again.
type breaker struct {
	now    func() time.Time
	mu     sync.Mutex
	failed int       // in a row
	until  time.Time // requests are refused; zero: they are not
	trial  bool      // one request tries
}

// enter admits a request, or says why not. An admitted one reports with leave.
func (b *breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < breakAfter {
		return nil
	}
	rest := b.until.Sub(b.now())
	if rest > 0 || b.trial {
		return fault.New(fault.Unavailable, op, "the server failed %d times in a row; percached tries it again in %v", b.failed, max(rest, time.Second).Round(time.Second))
	}
	b.trial = true
	return nil
}

// leave reports how a request ended. A request that ended for a reason of the caller counts as
// neither.
func (b *breaker) leave(worked, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
	switch {
	case worked:
		b.failed = 0
	case failed:
		b.failed++
		if over := b.failed - breakAfter; over >= 0 {
			b.until = b.now().Add(min(breakFirst<<min(over, 5), breakMost))
		}
	}
}
