package kv

import (
	"context"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// gate counts who uses badger. It is shut in a moment at which nobody does: who
// is inside may go in once more, so that a transaction within a transaction
// never waits for itself.
type gate struct {
	mu     sync.Mutex
	inside int
	held   int           // of those inside: who stay for so long that nobody waits for them
	left   chan struct{} // made by who waits to shut it, closed when nobody is inside
	shut   chan struct{} // not nil while it is shut, closed when it opens
}

func (g *gate) enter() {
	g.mu.Lock()
	for g.shut != nil {
		opens := g.shut
		g.mu.Unlock()
		<-opens
		g.mu.Lock()
	}
	g.inside++
	g.mu.Unlock()
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 {
		g.wake()
	}
}

// hold marks a caller who is inside as one who stays long, and release ends that.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held++
	g.wake()
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
}

// wake has close look again. The caller holds mu.
func (g *gate) wake() {
	if g.left != nil {
		close(g.left)
		g.left = nil
	}
}

// free is a Conflict while somebody stays long.
func (g *gate) free() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unheld()
}

// unheld is free for who holds mu.
func (g *gate) unheld() error {
	if g.held == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "kv.gate", "a snapshot is being read, for example by a backup")
}

// close shuts the gate as soon as nobody is inside, unless somebody stays long. One
// caller at a time.
func (g *gate) close(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.inside == 0 {
			g.shut = make(chan struct{})
			g.mu.Unlock()
			return nil
		}
		if err := g.unheld(); err != nil {
			g.mu.Unlock()
			return err
		}
		left := make(chan struct{})
		g.left = left
		g.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
			g.mu.Lock()
			g.left = nil
			g.mu.Unlock()
			return ctx.Err()
		}
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}
