package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// revival says how often within a time an engine that failed is opened anew.
type revival struct {
	most   int
	within time.Duration
}

// reviver is an engine that is closed and opened anew when it fails inside. The
// question that met the failure is tried once more, and so are those that the
// closing cut short.
type reviver struct {
	revival
	open func(ctx context.Context) (llm.Engine, error)
	now  func() time.Time
	told func(cause, err error) // of a failure, and of what came of opening it anew
	info percached.ModelInfo

	opening sync.WaitGroup
	mu      sync.Mutex
	current *engineLife
	times   []time.Time // when it was opened anew
	end     func()      // of opening
	closed  bool
}

// engineLife is one engine, from when it begins to be opened.
type engineLife struct {
	opened chan struct{} // closed when what follows is set
	engine llm.Engine
	err    error // why there is none
}

var _ llm.Engine = (*reviver)(nil)

// revive opens an engine that can be opened anew.
func revive(ctx context.Context, v revival, now func() time.Time, told func(cause, err error), open func(context.Context) (llm.Engine, error)) (*reviver, error) {
	e, err := open(ctx)
	if err != nil {
		return nil, err
	}
	first := &engineLife{opened: make(chan struct{}), engine: e}
	close(first.opened)
	return &reviver{revival: v, open: open, now: now, told: told, info: e.Info(), current: first, end: func() {}}, nil
}

// Generate implements llm.Engine.
func (r *reviver) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (res percached.Result, err error) {
	t := &teller{emit: emit}
	if emit != nil {
		emit = t.piece
	}
	err = r.try(ctx, func(e llm.Engine) (err error) {
		t.at = 0
		res, err = e.Generate(ctx, p, emit)
		return err
	}, func() bool { return t.err != nil })
	return res, err
}

// Prefill implements llm.Engine.
func (r *reviver) Prefill(ctx context.Context, p percached.Prompt) (res percached.Result, err error) {
	err = r.try(ctx, func(e llm.Engine) (err error) {
		res, err = e.Prefill(ctx, p)
		return err
	}, nil)
	return res, err
}

// Tokenize implements llm.Engine.
func (r *reviver) Tokenize(segments []percached.Segment) (tokens [][]int32, err error) {
	err = r.try(context.Background(), func(e llm.Engine) (err error) {
		tokens, err = e.Tokenize(segments)
		return err
	}, nil)
	return tokens, err
}

// Info implements llm.Engine.
func (r *reviver) Info() percached.ModelInfo { return r.info }

// stop ends what opens the engine anew, and those who wait for that: so nobody
// waits for a whole model on the way to Close.
func (r *reviver) stop() *engineLife {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.end()
	return r.current
}

// Close implements llm.Engine.
func (r *reviver) Close() error {
	l := r.stop()
	r.opening.Wait()
	if l.engine == nil {
		return nil
	}
	return l.engine.Close()
}

// try runs a request, and once more where the engine failed and was opened anew.
// others says that the request failed by what is not the engine's.
func (r *reviver) try(ctx context.Context, run func(llm.Engine) error, others func() bool) error {
	l, err := r.alive(ctx)
	if err != nil {
		return err
	}
	if err = run(l.engine); !broken(ctx, err) || others != nil && others() {
		return err
	}
	next := r.anew(ctx, l, err)
	if next == l || next.wait(ctx) != nil {
		return err
	}
	return run(next.engine)
}

// broken: a request failed because the engine is, or was closed under it. What is
// not a number comes of weights or tensors, and would come of them again.
func broken(ctx context.Context, err error) bool {
	var refused *percached.SliceError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &refused), errors.Is(err, percached.ErrPreempted), errors.Is(err, llm.ErrNotFinite):
		return false
	}
	return errors.Is(err, llm.ErrClosed) || fault.KindOf(err) == fault.Internal
}

// alive waits for the engine. Where opening it had failed, it is tried again.
func (r *reviver) alive(ctx context.Context) (*engineLife, error) {
	r.mu.Lock()
	l, closed := r.current, r.closed
	r.mu.Unlock()
	if closed {
		return nil, llm.ErrClosed
	}
	err := l.wait(ctx)
	if err != nil && ctx.Err() == nil {
		l = r.anew(ctx, l, err)
		err = l.wait(ctx)
	}
	return l, err
}

// wait is for an engine to be open.
func (l *engineLife) wait(ctx context.Context) error {
	select {
	case <-l.opened:
		return l.err
	case <-ctx.Done():
		return fault.Wrap("percached: engine", ctx.Err())
	}
}

// anew gives the engine behind one that failed, which may be opening still; that
// one itself where it must not be opened any more.
func (r *reviver) anew(ctx context.Context, failed *engineLife, cause error) *engineLife {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != failed || r.closed {
		return r.current
	}
	now := r.now()
	for len(r.times) > 0 && now.Sub(r.times[0]) >= r.within {
		r.times = r.times[1:]
	}
	if len(r.times) >= r.most {
		return failed
	}
	r.times = append(r.times, now)
	next := &engineLife{opened: make(chan struct{})}
	// Others wait for it, too: it outlives this request.
	ctx, r.end = context.WithCancel(context.WithoutCancel(ctx))
	r.current = next
	r.opening.Go(func() {
		defer close(next.opened)
		next.engine, next.err = r.again(ctx, failed.engine)
		r.told(cause, next.err)
	})
	return next
}

// again closes an engine, if there is one, and opens the next.
func (r *reviver) again(ctx context.Context, old llm.Engine) (llm.Engine, error) {
	const op = "percached: engine"
	if old != nil {
		if err := old.Close(); err != nil {
			return nil, fault.New(fault.Unavailable, op, "the model failed and cannot be closed: %w", err)
		}
	}
	e, err := r.open(ctx)
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "the model failed and cannot be opened anew: %w", err)
	}
	if e.Info().Fingerprint != r.info.Fingerprint {
		return nil, errors.Join(fault.New(fault.Unavailable, op, "the model failed, and its file is another one now"), e.Close())
	}
	return e, nil
}

// teller passes an answer on, without what an earlier try has told: the answer is
// the same each time.
type teller struct {
	emit func(piece string) error
	said string // in all tries
	at   int    // what this try has said of it
	err  error  // of emit
}

func (t *teller) piece(p string) error {
	known := min(len(p), len(t.said)-t.at)
	if t.said[t.at:t.at+known] != p[:known] {
		return fault.New(fault.Internal, "percached: engine", "an answer differs from what the model had said of it before it failed")
	}
	t.at += known
	if p = p[known:]; p == "" {
		return nil
	}
	t.said += p
	t.at += len(p)
	t.err = t.emit(p)
	return t.err
}
