package supervise

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

// Remake closes the engine, although it did not fail, and opens it as open does now. Other
// requests wait meanwhile. Foreground requests in progress get patience to end; those that do
// not, and background work, are repeated. If the engine is opening, Remake waits for that first,
// because that opening may have begun before what open does changed.
func (r *Engine) Remake(ctx context.Context, patience time.Duration) error {
	r.mu.Lock()
	old := r.current
	for !old.isOpened() {
		r.mu.Unlock()
		if err := old.wait(ctx); ctx.Err() != nil {
			return err
		}
		r.mu.Lock()
		old = r.current
	}
	return r.remake(ctx, old, patience)
}

// RemakeIfIdle is Remake if no foreground request is in progress and the engine is not opening;
// otherwise it returns false.
func (r *Engine) RemakeIfIdle(ctx context.Context) (bool, error) {
	r.mu.Lock()
	if old := r.current; old.isOpened() && old.foreground == 0 {
		return true, r.remake(ctx, old, 0)
	}
	r.mu.Unlock()
	return false, nil
}

// remake replaces the current engine. The caller holds mu, which it releases.
func (r *Engine) remake(ctx context.Context, old *life, patience time.Duration) error {
	if r.closed {
		r.mu.Unlock()
		return llm.ErrClosed
	}
	old.remade = true
	next := r.begin(ctx, old, patience, "the model was closed to be opened anew", func(error) {})
	r.mu.Unlock()
	return next.wait(ctx)
}

// enter counts a request that an engine is about to run. It returns false if Remake replaced
// the engine meanwhile.
func (r *Engine) enter(l *life, p percached.Priority) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.remade {
		return false
	}
	if p == percached.Foreground {
		l.foreground++
	}
	return true
}

// leave counts that a request ended.
func (r *Engine) leave(l *life, p percached.Priority) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != percached.Foreground {
		return
	}
	if l.foreground--; l.foreground == 0 && l.unused != nil {
		close(l.unused)
		l.unused = nil
	}
}

// drain waits until no foreground request uses an engine that was replaced, at most for patience.
func (r *Engine) drain(ctx context.Context, l *life, patience time.Duration) {
	r.mu.Lock()
	if l.foreground == 0 || patience <= 0 {
		r.mu.Unlock()
		return
	}
	unused := make(chan struct{})
	l.unused = unused
	r.mu.Unlock()
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case <-unused:
	case <-enough.C:
	case <-ctx.Done():
	}
}
