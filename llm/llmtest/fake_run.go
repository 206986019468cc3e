package llmtest

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// run is one request that has its turn.
type run struct {
	*Fake
	op     string
	prompt percached.Prompt
	plan   *plan
	turn   *turn
	emit   func(string) error
	began  time.Time
	res    percached.Result
}

func (f *Fake) run(ctx context.Context, op string, p percached.Prompt, answer bool, emit func(string) error) (percached.Result, error) {
	if err := f.begin(); err != nil {
		return percached.Result{}, fault.Wrap(op, err)
	}
	defer f.calls.Done()
	if err := ctx.Err(); err != nil {
		return percached.Result{}, fault.Wrap(op, err)
	}
	pl, err := f.plan(op, p, answer)
	if err != nil {
		return percached.Result{}, err
	}
	came := f.opts.Clock.Now()
	t, err := f.opts.Gate.enter(ctx, f.closed, p.Priority, f.opts.Queue, func() { f.tell(Step{Op: OpQueue, Priority: p.Priority}) })
	if err != nil {
		return percached.Result{}, fault.Wrap(op, err)
	}
	defer f.opts.Gate.leave()
	r := &run{Fake: f, op: op, prompt: p, plan: pl, turn: t, emit: emit, began: f.opts.Clock.Now()}
	r.res.Slices = make([]*percached.Slice, len(p.Segments))
	r.res.Usage.Prompt = pl.total
	r.res.Times.Queue = r.began.Sub(came)
	err = r.all(ctx, answer)
	return r.res, err
}

func (f *Fake) tell(s Step) {
	if f.opts.Step != nil {
		f.opts.Step(s)
	}
}

// step announces what is next, and says why it must not be done.
func (r *run) step(ctx context.Context, op Op, segment, tokens int) error {
	r.tell(Step{Op: op, Priority: r.prompt.Priority, Segment: segment, Tokens: tokens})
	return r.stop(ctx, r.turn)
}

func (r *run) spend(on *time.Duration, cost time.Duration) {
	before := r.opts.Clock.Now()
	r.opts.Clock.Sleep(cost)
	*on += r.opts.Clock.Now().Sub(before)
}

func (r *run) all(ctx context.Context, answer bool) error {
	for i := range r.plan.parts {
		pt := &r.plan.parts[i]
		if pt.slice == nil {
			continue
		}
		if reason := r.refuse(pt); reason != "" {
			return fault.Wrap(r.op, &percached.SliceError{Segment: pt.index, Reason: reason})
		}
	}
	end, err := r.fill(ctx)
	if err != nil {
		return fault.Wrap(r.op, err)
	}
	last := r.plan.parts[len(r.plan.parts)-1]
	if r.prompt.Logits && !last.branch && last.slice == nil && len(last.tokens) > 0 {
		r.res.Logits = logits(end)
	}
	if answer {
		return fault.Wrap(r.op, r.answer(ctx, end, r.plan.end))
	}
	return nil
}

// fill restores and computes the prompt, and gives the state behind it.
func (r *run) fill(ctx context.Context) (state, error) {
	seed := mix(r.opts.drift, 0)
	for _, c := range []byte(r.info.Fingerprint) {
		seed = mix(seed, uint64(c))
	}
	cur := state(seed)
	var root state
	var branches []state
	for i := range r.plan.parts {
		pt := &r.plan.parts[i]
		from := cur
		switch {
		case pt.branch:
			from = root
		case len(branches) > 0:
			if cur != root { // the turns are one branch more
				branches = append(branches, cur)
			}
			from, branches = join(branches), nil
		}
		end, err := r.segment(ctx, pt, from)
		switch {
		case err != nil:
			return 0, err
		case !pt.branch:
			cur = end
		case len(pt.tokens) > 0:
			branches = append(branches, end)
		}
		if i == 0 {
			root = end
		}
	}
	return cur, nil
}

func (r *run) segment(ctx context.Context, pt *part, s state) (state, error) {
	if pt.slice != nil {
		return r.restore(ctx, pt, s)
	}
	var kv, q []byte
	for from := 0; from < len(pt.tokens); from += r.opts.Split {
		n := min(r.opts.Split, len(pt.tokens)-from)
		if err := r.step(ctx, OpPrefill, pt.index, n); err != nil {
			return 0, err
		}
		for i := from; i < from+n; i++ {
			s, kv, q = compute(s, pt.start+i, pt.tokens[i], kv, q, r.opts.BytesPerToken)
		}
		r.spend(&r.res.Times.Prefill, time.Duration(n)*r.opts.Costs.Compute)
		r.res.Usage.Computed += n
	}
	if pt.capture && len(pt.tokens) > 0 && !pt.joined && r.opts.NoSlices == "" {
		// What is computed is not thrown away, whoever waits.
		r.tell(Step{Op: OpCapture, Priority: r.prompt.Priority, Segment: pt.index, Tokens: len(pt.tokens)})
		c := r.slice(pt, r.prompt.Planes, kv, q)
		r.spend(&r.res.Times.Capture, perKiB(r.opts.Costs.Capture, c.Bytes()))
		r.res.Slices[pt.index] = c
	}
	return s, nil
}

func (r *run) restore(ctx context.Context, pt *part, s state) (state, error) {
	if err := r.step(ctx, OpRestore, pt.index, len(pt.tokens)); err != nil {
		return 0, err
	}
	for i := range pt.slice.Pieces {
		s = absorb(s, pt.slice.Pieces[i].KV)
	}
	r.spend(&r.res.Times.Restore, perKiB(r.opts.Costs.Restore, pt.slice.Bytes()))
	r.res.Usage.Reused += len(pt.tokens)
	return s, nil
}
