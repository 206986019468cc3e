package kv

import (
	"context"
	"sync"
)

// gate counts who uses badger. It is shut in a moment at which nobody does: who
// is inside may go in once more, so that a transaction within a transaction
// never waits for itself.
type gate struct {
	mu     sync.Mutex
	inside int
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
	if g.inside == 0 && g.left != nil {
		close(g.left)
		g.left = nil
	}
}

// close shuts the gate as soon as nobody is inside. One caller at a time.
func (g *gate) close(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.inside == 0 {
			g.shut = make(chan struct{})
			g.mu.Unlock()
			return nil
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
