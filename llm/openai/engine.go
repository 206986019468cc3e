package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Engine implements llm.Engine on a server.
type Engine struct {
	*client
	named string // the model by the configuration; empty: the server's only one
	now   atomic.Pointer[served]
	line  line
	known knownModels // of the server

	// warmed counts tokens that the server computed for idle work alone, reused those that it
	// had for questions.
	warmed, reused atomic.Int64
}

// served is what the server serves.
type served struct {
	server server
	info   percached.ModelInfo
}

var _ llm.Engine = (*Engine)(nil)

// Open connects to a server. It waits for one that is just starting, and sends it two short
// prompts to see whether it keeps their beginnings.
func Open(ctx context.Context, c Config) (*Engine, error) {
	e := &Engine{client: newClient(c), named: c.Model, line: line{limit: c.Queue}}
	if err := e.open(ctx); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) error {
	return e.await(ctx, func() error {
		s, err := e.ask(ctx, e.named)
		if err != nil {
			return err
		}
		e.Model = s.model
		now := &served{s, s.info(e.Context)}
		now.info.PrefixCache, err = e.keepsPrefixes(ctx, now)
		e.now.Store(now)
		return err
	})
}

// Check asks the server again what it is. It fails if the server has another model than
// before: stored answers of that one are not served from then on. A server that does not
// answer is asked at the next Check.
func (e *Engine) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := e.ask(ctx, e.named)
	if err != nil {
		return nil
	}
	next, old := &served{s, s.info(e.Context)}, e.now.Load()
	next.info.PrefixCache = old.info.PrefixCache
	e.now.Store(next)
	if next.info.Fingerprint != old.info.Fingerprint {
		return fault.New(fault.Unavailable, op, "%s serves another model now: ask again", e.host())
	}
	return nil
}

// ModelName is the model's name on the server.
func (e *Engine) ModelName() string { return e.now.Load().server.model }

// keepsPrefixes sends a prompt twice, and reports whether the server had its beginning the
// second time by its own counters.
func (e *Engine) keepsPrefixes(ctx context.Context, now *served) (bool, error) {
	text := "This is a check of the prefix cache, and not a question."
	for range 4 {
		text += "\n" + text[:min(len(text), 200)]
	}
	var last percached.Usage
	for range 2 {
		r := run{Engine: e, served: now, begin: e.Now(), maxTokens: 1, messages: []message{{"system", text}, {"user", "-"}}}
		if err := r.send(ctx); err != nil {
			return false, err
		}
		last = r.result.Usage
	}
	return last.Reused > 0, nil
}

// Info implements llm.Engine.
func (e *Engine) Info() percached.ModelInfo { return e.now.Load().info }

// Tokenize implements llm.Engine. The tokens are estimates.
func (e *Engine) Tokenize(segments []percached.Segment) ([][]int32, error) {
	if e.line.isClosed() {
		return nil, fault.Wrap("percached: tokenize", llm.ErrClosed)
	}
	all := make([][]int32, len(segments))
	for i, s := range segments {
		all[i] = tokensOf(s)
	}
	return all, nil
}

// Generate implements llm.Engine.
func (e *Engine) Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error) {
	return e.run(ctx, "percached: answer", p, true, emit)
}

// Prefill implements llm.Engine: it has the server keep the prompt, in a request of one token.
// In the background it stops when that does not pay.
func (e *Engine) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	if p.Priority == percached.Background && !e.pays() {
		return percached.Result{Slices: make([]*percached.Slice, len(p.Segments))}, nil
	}
	return e.run(ctx, "percached: prefill", p, false, nil)
}

const (
	warmTrial = 50_000 // tokens that idle work may warm before questions must have used some
	warmWorth = 20     // of so many warmed tokens, questions must have used one
)

// pays reports whether prompts that idle work had the server keep are used, by the server's
// own counters.
func (e *Engine) pays() bool {
	warmed := e.warmed.Load()
	return warmed < warmTrial || e.reused.Load() >= warmed/warmWorth
}

func (e *Engine) run(ctx context.Context, op string, p percached.Prompt, answer bool, emit func(string) error) (percached.Result, error) {
	res := percached.Result{Slices: make([]*percached.Slice, len(p.Segments))}
	r := run{Engine: e, served: e.now.Load(), answer: answer, prompt: p, emit: emit, maxTokens: 1}
	if answer {
		r.maxTokens = p.MaxTokens
	}
	if err := r.plan(op); err != nil {
		return res, err
	}
	came := e.Now()
	ctx, leave, err := e.line.enter(ctx, p.Priority)
	if err != nil {
		return res, fault.Wrap(op, err)
	}
	defer leave()
	r.begin = e.Now()
	err = r.send(ctx)
	if err == nil && e.mayHaveChanged() {
		err = e.Check(ctx)
	}
	r.result.Slices = res.Slices
	r.result.Times.Queue = r.begin.Sub(came)
	if err == nil {
		e.count(p.Priority, answer, r.result.Usage)
	}
	return r.result, fault.Wrap(op, err)
}

// count counts what warming costs and saves.
func (e *Engine) count(p percached.Priority, answer bool, u percached.Usage) {
	switch {
	case p == percached.Foreground:
		e.reused.Add(int64(u.Reused))
	case !answer:
		e.warmed.Add(int64(u.Computed))
	}
}

// Close implements llm.Engine.
func (e *Engine) Close() error {
	e.line.close()
	e.close()
	return nil
}

// prefixOf names what stands before the question, for a router that sends equal beginnings to
// the same server.
func prefixOf(all []message) string {
	sum := sha256.Sum256([]byte(all[0].Content))
	return hex.EncodeToString(sum[:8])
}
