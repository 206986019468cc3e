package llamacpp

import (
	"cmp"
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
	"github.com/percached/percached/llm/reply"
)

// Generate answers a prompt. The engine waits for emit, which must be quick.
func (e *Engine) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	return e.do(ctx, p, true, emit)
}

// Prefill computes a prompt without answering.
func (e *Engine) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	return e.do(ctx, p, false, nil)
}

// do plans the prompt on the caller's goroutine, so that a bad prompt or slice costs other
// callers nothing. The worker runs the plan.
func (e *Engine) do(ctx context.Context, p percached.Prompt, answering bool, emit func(string) error) (percached.Result, error) {
	if err := checkShape(p, answering); err != nil {
		return percached.Result{}, err
	}
	if p.Planes == percached.QKV && e.info.NoSlices == "" && e.cache.queryWidth == 0 {
		return percached.Result{}, fault.New(fault.Unsupported, opPrompt, "the queries of a %s model cannot be captured", e.info.Architecture)
	}
	p.Drafting = p.Drafting && e.info.NoDrafts == "" && p.Grammar == ""
	r := run{cache: e.cache, vocab: e.model.vocab, marks: e.marks, fingerprint: e.info.Fingerprint, emit: emit, answering: answering, tempo: &e.tempo}
	r.result.Slices = make([]*percached.Slice, len(p.Segments))
	if p.Grammar != "" {
		g, err := grammar.Parse(p.Grammar)
		if err != nil {
			return percached.Result{}, err
		}
		r.grammar = g.Matcher()
	}
	begin := time.Now()
	tokens, err := e.Tokenize(p.Segments)
	if err != nil {
		return percached.Result{}, err
	}
	r.result.Times.Tokenize = time.Since(begin)
	pl, err := newPlan(p, tokens, e.info.Context)
	if err != nil {
		return percached.Result{}, err
	}
	if why := cmp.Or(e.info.NoSlices, e.info.NoParallel); p.Placement == percached.Parallel && len(pl.branches()) > 0 && why != "" {
		return percached.Result{}, fault.New(fault.Unsupported, opPrompt, "parallel placement needs slices of single chunks, and %s", why)
	}
	if answering && len(tokens[len(tokens)-1]) == 0 {
		return percached.Result{}, invalid("the question has no tokens")
	}
	begin = time.Now()
	if err := pl.checkSlices(&e.checker); err != nil {
		return percached.Result{}, err
	}
	r.result.Times.Restore = time.Since(begin)
	r.plan = pl
	queued := time.Now()
	err = e.worker.do(ctx, p.Priority, func(ctx context.Context) error {
		r.begin = time.Now()
		r.result.Times.Queue = r.begin.Sub(queued)
		return r.run(ctx)
	})
	return r.result, err
}

// A run takes one plan through the context, on the worker's goroutine.
type run struct {
	cache       *cache
	vocab       *vocabulary
	marks       []reply.Mark
	fingerprint string
	plan        *plan
	answering   bool
	grammar     *grammar.Matcher // nil: any text
	tempo       *tempo           // of the engine
	emit        func(string) error
	begin       time.Time
	result      percached.Result
}

func (r *run) run(ctx context.Context) error {
	r.cache.clear(false)
	if err := r.prefill(ctx); err != nil {
		return err
	}
	if r.plan.prompt.Logits && r.lastComputed() {
		var err error
		if r.result.Logits, err = r.cache.logits(); err != nil {
			return err
		}
	}
	if r.answering {
		return r.answer(ctx)
	}
	if r.cache.layout == nil {
		r.cache.clear(true) // nobody has checked that the cells are finite
	}
	return nil
}

// lastComputed reports whether the last segment was computed (not restored) on the main
// sequence.
func (r *run) lastComputed() bool {
	last := r.plan.steps[len(r.plan.steps)-1]
	branch := r.plan.prompt.Placement == percached.Parallel && len(r.plan.branches()) > 0 && r.plan.question() == nil
	return last.slice == nil && len(last.tokens) > 0 && !branch
}

func (r *run) prefill(ctx context.Context) error {
	steps := r.plan.steps
	if r.plan.prompt.Placement == percached.Parallel {
		branches := r.plan.branches()
		if err := r.place(ctx, &steps[0], len(steps) == 1); err != nil {
			return err
		}
		made, err := r.computeBranches(ctx, &steps[0], branches)
		if err != nil {
			return err
		}
		if err := r.placeAll(ctx, r.plan.turns()); err != nil {
			return err
		}
		if err := r.restoreBranches(branches, made); err != nil {
			return err
		}
		steps = steps[1+len(r.plan.turns())+len(branches):]
	}
	return r.placeAll(ctx, steps)
}

// placeAll restores or computes steps on the main sequence, one behind the other.
func (r *run) placeAll(ctx context.Context, steps []step) error {
	for i := range steps {
		if err := r.place(ctx, &steps[i], steps[i].segment == len(r.plan.steps)-1); err != nil {
			return err
		}
	}
	return nil
}

// place restores or computes one step on the main sequence.
func (r *run) place(ctx context.Context, s *step, last bool) error {
	if s.slice != nil {
		return r.restore(s, s.slice)
	}
	q, err := r.compute(ctx, s, mainSeq, last && (r.answering || r.plan.prompt.Logits))
	if err != nil {
		return err
	}
	if !s.capture {
		return r.checkFinite(s)
	}
	sl, err := r.capture(s, mainSeq, q)
	if err != nil {
		return err
	}
	r.result.Slices[s.segment] = sl
	return nil
}

func (r *run) compute(ctx context.Context, s *step, seq int, logits bool) (*queries, error) {
	begin := time.Now()
	defer func() { r.result.Times.Prefill += time.Since(begin) }()
	var q *queries
	if s.capture && r.plan.prompt.Planes == percached.QKV && r.cache.queryWidth > 0 {
		q = newQueries(r.cache.layers, len(s.tokens), r.cache.queryWidth)
	}
	if err := r.cache.compute(ctx, s, seq, logits, q); err != nil {
		return nil, err
	}
	r.result.Usage.Prompt += len(s.tokens)
	r.result.Usage.Computed += len(s.tokens)
	return q, nil
}

func (r *run) capture(s *step, seq int, q *queries) (*percached.Slice, error) {
	if r.cache.layout == nil {
		return nil, nil // the model has no slices; ModelInfo says why
	}
	begin := time.Now()
	defer func() { r.result.Times.Capture += time.Since(begin) }()
	return r.cache.copyOut(s, seq, r.fingerprint, q)
}

// checkFinite checks that a step that is not captured has finite values. If an answer
// follows, its scores show it.
func (r *run) checkFinite(s *step) error {
	if r.answering || r.cache.layout == nil {
		return nil
	}
	begin := time.Now()
	defer func() { r.result.Times.Capture += time.Since(begin) }()
	return r.cache.look(s, mainSeq)
}

func (r *run) restore(s *step, sl *percached.Slice) error {
	begin := time.Now()
	defer func() { r.result.Times.Restore += time.Since(begin) }()
	if err := r.cache.copyIn(sl); err != nil {
		return err
	}
	if s.slice != nil {
		r.result.Usage.Prompt += len(s.tokens)
		r.result.Usage.Reused += len(s.tokens)
	}
	return nil
}

// answer chooses tokens until the answer ends.
func (r *run) answer(ctx context.Context) (err error) {
	p := r.plan.prompt
	out := reply.New(r.emit, p.Stop, p.EndLoops, r.marks)
	defer func() { r.result.Text = out.Text() }()
	draw := r.chooser(ctx, p.Sampling)
	last := r.plan.steps[len(r.plan.steps)-1]
	pos := last.start + len(last.tokens)
	ahead, err := r.newAhead()
	if err != nil {
		return err
	}
	defer func() { r.result.Drafts = ahead.uses() }()
	for {
		if r.grammar != nil && r.grammar.MustEnd() {
			r.result.Finish, err = out.End(percached.FinishEnd)
			return err
		}
		token, known := ahead.next()
		if !known {
			if token, err = draw(); err != nil {
				return err
			}
		}
		if r.result.Times.FirstToken == 0 {
			r.result.Times.FirstToken = time.Since(r.begin)
			begin := time.Now()
			defer func() { r.result.Times.Decode = time.Since(begin) }()
		}
		if r.vocab.ends(token) {
			r.result.Finish, err = out.End(percached.FinishEnd)
			r.result.Verified = ahead.verified()
			return err
		}
		r.result.Usage.Generated++
		ended, err := out.Write(r.vocab.written(token))
		if err != nil {
			return err
		}
		if ended != "" {
			r.result.Finish = ended
			return nil
		}
		if r.result.Usage.Generated == p.MaxTokens {
			r.result.Finish, err = out.End(percached.FinishLength)
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := ahead.compute(ctx, token, pos); err != nil {
			return err
		}
		pos++
	}
}
