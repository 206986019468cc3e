package supervise

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Limit is how often a failed engine is opened again within a time.
type Limit struct {
	Most   int
	Within time.Duration
}

// Engine closes and reopens another engine when that fails. It repeats the request that
// failed once, and those that the closing cut short. It repeats requests that Remake cut short
// as often as that happens.
type Engine struct {
	Limit
	open   func(ctx context.Context) (llm.Engine, error)
	now    func() time.Time
	failed func(cause, err error) // observes a failure; err is why the engine could not reopen

	opening sync.WaitGroup
	mu      sync.Mutex
	info    percached.ModelInfo
	current *life
	times   []time.Time // when it reopened
	cancel  func()      // ends the opening in progress
	closed  bool
}

// life is one engine, from the moment it begins to open.
type life struct {
	opened chan struct{} // closed when engine or err is set
	engine llm.Engine
	err    error // why it could not open

	// Guarded by Engine.mu.
	remade     bool          // Remake replaced it
	foreground int           // requests in progress
	unused     chan struct{} // closed when there are none; nil: nobody waits for that
}

var (
	_ llm.Engine = (*Engine)(nil)
	_ llm.Typist = (*Engine)(nil)
	_ llm.Packer = (*Engine)(nil)
)

// Open opens an engine and supervises it.
func Open(ctx context.Context, v Limit, now func() time.Time, failed func(cause, err error), open func(context.Context) (llm.Engine, error)) (*Engine, error) {
	e, err := open(ctx)
	if err != nil {
		return nil, err
	}
	first := &life{opened: make(chan struct{}), engine: e}
	close(first.opened)
	return &Engine{Limit: v, open: open, now: now, failed: failed, info: e.Info(), current: first, cancel: func() {}}, nil
}

// Generate implements llm.Engine.
func (r *Engine) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (res percached.Result, err error) {
	t := &emitter{emit: emit}
	if emit != nil {
		emit = t.piece
	}
	err = r.try(ctx, p.Priority, func(e llm.Engine) (err error) {
		t.at = 0
		res, err = e.Generate(ctx, p, emit)
		return err
	}, func() bool { return t.err != nil })
	return res, err
}

// Prefill implements llm.Engine.
func (r *Engine) Prefill(ctx context.Context, p percached.Prompt) (res percached.Result, err error) {
	err = r.try(ctx, p.Priority, func(e llm.Engine) (err error) {
		res, err = e.Prefill(ctx, p)
		return err
	}, nil)
	return res, err
}

// Complete implements llm.Typist if the engine does.
func (r *Engine) Complete(ctx context.Context, t percached.Typing, emit func(string) error) (typed percached.Typed, err error) {
	out := &emitter{emit: emit}
	if emit != nil {
		emit = out.piece
	}
	err = r.try(ctx, percached.Foreground, func(e llm.Engine) (err error) {
		typist, ok := e.(llm.Typist)
		if !ok {
			return fault.New(fault.Unsupported, "percached: engine", "this engine does not complete texts")
		}
		out.at = 0
		typed, err = typist.Complete(ctx, t, emit)
		return err
	}, func() bool { return out.err != nil })
	return typed, err
}

// ForgetTyped implements llm.Typist. An engine that is not open keeps no texts.
func (r *Engine) ForgetTyped() {
	if typist := r.typist(); typist != nil {
		typist.ForgetTyped()
	}
}

// TypedBytes implements llm.Typist.
func (r *Engine) TypedBytes() int64 {
	if typist := r.typist(); typist != nil {
		return typist.TypedBytes()
	}
	return 0
}

// typist is the engine if it is open and completes texts, else nil.
func (r *Engine) typist() llm.Typist {
	r.mu.Lock()
	l := r.current
	r.mu.Unlock()
	select {
	case <-l.opened:
		typist, _ := l.engine.(llm.Typist)
		return typist
	default:
		return nil
	}
}

// Pack implements llm.Packer if the engine does.
func (r *Engine) Pack(s *percached.Slice, to percached.Form) (packed *percached.Slice, err error) {
	err = r.try(context.Background(), percached.Background, func(e llm.Engine) (err error) {
		packer, ok := e.(llm.Packer)
		if !ok {
			return fault.New(fault.Unsupported, "percached: engine", "this engine does not pack slices")
		}
		packed, err = packer.Pack(s, to)
		return err
	}, nil)
	return packed, err
}

// Tokenize implements llm.Engine.
func (r *Engine) Tokenize(segments []percached.Segment) (tokens [][]int32, err error) {
	err = r.try(context.Background(), percached.Background, func(e llm.Engine) (err error) {
		tokens, err = e.Tokenize(segments)
		return err
	}, nil)
	return tokens, err
}

// Info implements llm.Engine.
func (r *Engine) Info() percached.ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// Stop cancels an opening in progress, so that Close does not wait for a whole model to
// load.
func (r *Engine) Stop() *life {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.cancel()
	return r.current
}

// Close implements llm.Engine.
func (r *Engine) Close() error {
	l := r.Stop()
	r.opening.Wait()
	if l.engine == nil {
		return nil
	}
	return l.engine.Close()
}

// try runs a request. It repeats the request once if the engine failed and reopened, and
// whenever Remake closed it. others says that the failure came from elsewhere.
func (r *Engine) try(ctx context.Context, p percached.Priority, run func(llm.Engine) error, others func() bool) error {
	l, err := r.alive(ctx)
	if err != nil {
		return err
	}
	for failed := false; ; {
		if !r.enter(l, p) {
			if l, err = r.alive(ctx); err != nil {
				return err
			}
			continue
		}
		err = run(l.engine)
		if r.leave(l, p); !broken(ctx, err) || others != nil && others() {
			return err
		}
		if !r.wasRemade(l) {
			if failed {
				return err
			}
			failed = true
		}
		next := r.reopen(ctx, l, err)
		if next == l || next.wait(ctx) != nil {
			return err
		}
		l = next
	}
}

// wasRemade reports whether Remake replaced an engine.
func (r *Engine) wasRemade(l *life) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return l.remade
}

// broken says that the engine failed or was closed during the request. NaNs come from
// weights or tensors and would come again, so they do not count.
func broken(ctx context.Context, err error) bool {
	var refused *percached.SliceError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &refused), errors.Is(err, percached.ErrPreempted), errors.Is(err, llm.ErrNotFinite):
		return false
	}
	return errors.Is(err, llm.ErrClosed) || fault.KindOf(err) == fault.Internal
}

// alive waits for the engine. It tries again to open an engine that could not open.
func (r *Engine) alive(ctx context.Context) (*life, error) {
	r.mu.Lock()
	l, closed := r.current, r.closed
	r.mu.Unlock()
	if closed {
		return nil, llm.ErrClosed
	}
	err := l.wait(ctx)
	if err != nil && ctx.Err() == nil {
		l = r.reopen(ctx, l, err)
		err = l.wait(ctx)
	}
	return l, err
}

// isOpened reports whether the engine was opened, or could not be.
func (l *life) isOpened() bool {
	select {
	case <-l.opened:
		return true
	default:
		return false
	}
}

// wait waits until the engine is open.
func (l *life) wait(ctx context.Context) error {
	select {
	case <-l.opened:
		return l.err
	case <-ctx.Done():
		return fault.Wrap("percached: engine", ctx.Err())
	}
}

// reopen returns the engine after one that failed; it may still be opening. It returns
// the failed one if the limit is reached.
func (r *Engine) reopen(ctx context.Context, failed *life, cause error) *life {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != failed || r.closed {
		return r.current
	}
	now := r.now()
	for len(r.times) > 0 && now.Sub(r.times[0]) >= r.Within {
		r.times = r.times[1:]
	}
	if len(r.times) >= r.Most {
		return failed
	}
	r.times = append(r.times, now)
	return r.begin(ctx, failed, 0, "the model failed", func(err error) { r.failed(cause, err) })
}

// begin starts to replace an engine; r.mu is held. Other requests wait for the opening, so it
// outlives ctx. Foreground requests get patience to end first. why begins the error.
func (r *Engine) begin(ctx context.Context, old *life, patience time.Duration, why string, done func(error)) *life {
	next := &life{opened: make(chan struct{})}
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.current = next
	r.opening.Go(func() {
		defer close(next.opened)
		r.drain(ctx, old, patience)
		next.engine, next.err = r.replace(ctx, old.engine, why)
		if next.err == nil {
			r.mu.Lock()
			r.info = next.engine.Info()
			r.mu.Unlock()
		}
		done(next.err)
	})
	return next
}

const opEngine = "percached: engine"

// replace closes the old engine, if any, and opens the next.
func (r *Engine) replace(ctx context.Context, old llm.Engine, why string) (llm.Engine, error) {
	if old != nil {
		if err := old.Close(); err != nil {
			return nil, fault.New(fault.Unavailable, opEngine, "%s, and it does not close: %w", why, err)
		}
	}
	e, err := r.open(ctx)
	if err != nil {
		return nil, fault.New(fault.Unavailable, opEngine, "%s, and loading it again failed: %w", why, err)
	}
	if e.Info().Fingerprint != r.Info().Fingerprint {
		return nil, errors.Join(fault.New(fault.Unavailable, opEngine, "%s, and its file has changed since", why), e.Close())
	}
	return e, nil
}

// emitter passes an answer on, without the part that an earlier try emitted. The answer
// is the same each time.
type emitter struct {
	emit func(piece string) error
	sent string // in all tries
	at   int    // bytes of sent that this try has repeated
	err  error  // of emit
}

func (t *emitter) piece(p string) error {
	known := min(len(p), len(t.sent)-t.at)
	if t.sent[t.at:t.at+known] != p[:known] {
		return fault.New(fault.Internal, "percached: engine", "the repeated answer differs from its beginning before the failure")
	}
	t.at += known
	if p = p[known:]; p == "" {
		return nil
	}
	t.sent += p
	t.at += len(p)
	t.err = t.emit(p)
	return t.err
}
