package kv

import (
	"context"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// gate counts the users of badger. It can be closed at a moment without users. A user may enter
// again, so that a transaction within a transaction never waits for itself.
type gate struct {
	mu        sync.Mutex
	users     int
	longUsers int           // users that stay so long that close does not wait for them
	unused    chan struct{} // made by close, closed when there are no users
	shut      chan struct{} // non-nil while the gate is closed; closed when it opens
}

func (g *gate) acquire() {
	g.mu.Lock()
	for g.shut != nil {
		opens := g.shut
		g.mu.Unlock()
		<-opens
		g.mu.Lock()
	}
	g.users++
	g.mu.Unlock()
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.users == 0 {
		g.notify()
	}
}

// pin marks a current user as one that stays long; unpin ends that.
func (g *gate) pin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longUsers++
	g.notify()
}

func (g *gate) unpin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longUsers--
}

// notify wakes close. The caller holds mu.
func (g *gate) notify() {
	if g.unused != nil {
		close(g.unused)
		g.unused = nil
	}
}

// checkUnpinned returns a Conflict while a user stays long.
func (g *gate) checkUnpinned() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checkUnpinnedLocked()
}

// checkUnpinnedLocked is checkUnpinned for a caller that holds mu.
func (g *gate) checkUnpinnedLocked() error {
	if g.longUsers == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "kv.gate", "a snapshot is being read, for example by a backup")
}

// close closes the gate as soon as there are no users. It fails if a user stays long. Only one
// caller at a time may call it.
func (g *gate) close(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.users == 0 {
			g.shut = make(chan struct{})
			g.mu.Unlock()
			return nil
		}
		if err := g.checkUnpinnedLocked(); err != nil {
			g.mu.Unlock()
			return err
		}
		left := make(chan struct{})
		g.unused = left
		g.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
			g.mu.Lock()
			g.unused = nil
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

// Snapshot is the database at one moment, for long reads. Unlike View, it can be taken under a
// lock and read outside of it.
type Snapshot struct{ tx *Tx }

// Snapshot takes a snapshot. Until it is closed, space is reclaimed late, and Rewrite returns a
// Conflict.
func (db *DB) Snapshot() (*Snapshot, error) {
	tx, err := db.begin(false)
	if err != nil {
		return nil, wrap("kv.Snapshot", err)
	}
	db.gate.pin()
	return &Snapshot{tx}, nil
}

// Each calls fn with all keys and values, like Tx.Each.
func (s *Snapshot) Each(fn func(key, value []byte) error) error { return s.tx.Each(nil, fn) }

// Within calls fn with the keys that begin with prefix and their values, like Tx.Each.
func (s *Snapshot) Within(prefix []byte, fn func(key, value []byte) error) error {
	return s.tx.Each(prefix, fn)
}

// Close ends the snapshot.
func (s *Snapshot) Close() {
	s.tx.db.gate.unpin()
	s.tx.end()
}
