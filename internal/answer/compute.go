package answer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qkvtree"
)

// compute answers from chunks, as many as there is room for. Where some went while
// others had the engine, and nobody is sure that they did not, it is errGone: what
// is forgotten is not told any more.
func (r *run) compute(ctx context.Context, chunks []percached.Chunk, sure bool) error {
	p, err := r.layOut(chunks)
	if err != nil {
		return err
	}
	r.cite(p.used())
	if len(r.rests) == 0 { // a model would make something up
		return fault.New(fault.Invalid, "answer.compute", "no document fits into the model's context beside the instructions and the question")
	}
	prefill := r.work != nil && r.work.Prefill
	tensors := r.set.Tensors && r.Engine.Info().NoSlices == ""
	if prefill && !tensors {
		return nil // nothing would be left of it
	}
	if err := r.turn(ctx); err != nil {
		return err
	}
	if !sure && !r.stands() {
		return errGone
	}
	defer r.place.pass()
	if !tensors {
		res, err := r.generate(ctx, p, nil)
		return r.take(res, err)
	}
	req := r.request(p)
	var res percached.Result
	ran, err := r.lend(req, func(stored []*percached.Slice) (err error) {
		res, err = r.generate(ctx, p, stored)
		for range p.nodes { // a slice that the engine refuses is computed instead
			var refused *percached.SliceError
			if !errors.As(err, &refused) || refused.Segment >= len(stored) {
				break
			}
			r.without("a stored tensor", err)
			stored = slices.Clone(stored)
			stored[refused.Segment] = nil
			res, err = r.generate(ctx, p, stored)
		}
		return err
	})
	if !ran {
		r.without("the tensor tree", err)
		res, err = r.generate(ctx, p, make([]*percached.Slice, len(p.nodes)))
	}
	fresh := make([]*percached.Slice, len(p.nodes))
	copy(fresh, res.Slices)
	r.insert = func() error { return r.stow(req, fresh) }
	return r.take(res, err)
}

// stow puts new tensors into the tree, and notes what of them it keeps: there is
// not always room.
func (r *run) stow(req qkvtree.Request, fresh []*percached.Slice) error {
	had := r.Tree.Has(req)
	err := r.Tree.Insert(req, fresh)
	for i, kept := range r.Tree.Has(req) {
		switch {
		case fresh[i] == nil || had[i]:
		case !kept:
			r.crowded = true
		default:
			r.answer.Written += fresh[i].Bytes()
			if i > 0 {
				r.answer.Made = append(r.answer.Made, req.Segments[i].Chunk)
			}
		}
	}
	return err
}

// turn waits until all who came before have had the engine.
func (r *run) turn(ctx context.Context) error {
	defer lap(r.Now, &r.at)
	began := r.Now()
	defer func() { r.queued = r.Now().Sub(began) }()
	return r.place.turn(ctx)
}

// request names the segments of a prompt for the tree.
func (r *run) request(p *laid) qkvtree.Request {
	return qkvtree.Request{
		Space: r.q.Space, Model: r.Engine.Info().Fingerprint, Placement: r.set.Placement, Segments: p.nodes, Idle: r.work != nil,
	}
}

// lend runs fn with what the tree has stored. A tree that fails or takes too long
// is left out: fn has not run then.
func (r *run) lend(req qkvtree.Request, fn func([]*percached.Slice) error) (ran bool, err error) {
	lent, free, late := make(chan []*percached.Slice), make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	r.running.Go(func() {
		ended <- r.Tree.View(req, func(stored []*percached.Slice, _ qkvtree.Match) error {
			select {
			case lent <- stored:
				<-free
			case <-late:
			}
			return nil
		})
	})
	patience := time.NewTimer(r.Patience)
	defer patience.Stop()
	select {
	case stored := <-lent:
		err = fn(stored)
		close(free)
		<-ended
		return true, err
	case err := <-ended:
		return false, err
	case <-patience.C:
		close(late)
		return false, fault.New(fault.Timeout, "answer.lend", "no stored tensor was lent within %v", r.Patience)
	}
}

// generate runs the prompt with what is stored of it, and captures what is not.
// With stored nil nothing is captured.
func (r *run) generate(ctx context.Context, p *laid, stored []*percached.Slice) (percached.Result, error) {
	prompt := p.prompt
	prompt.Segments = slices.Clone(prompt.Segments)
	for i, s := range stored {
		prompt.Segments[i].Slice = s
		prompt.Segments[i].Capture = s == nil
	}
	r.ended("match_tensors", &r.answer.Times.MatchTensors)
	res, err := r.run(ctx, prompt)
	if err == nil {
		r.answer.Loaded = nil
		r.answer.Chunks = Reuse{All: len(p.chunks)}
		for i, s := range stored {
			if s != nil && i > 0 {
				r.answer.Chunks.Stored++
				r.answer.Loaded = append(r.answer.Loaded, p.nodes[i].Chunk)
			}
		}
	}
	return res, err
}

// run has the engine answer, or prefill all before the question. Room is kept for
// the question then, too, so that the same chunks fit in.
func (r *run) run(ctx context.Context, prompt percached.Prompt) (percached.Result, error) {
	if r.work == nil || !r.work.Prefill {
		prompt.MaxTokens = r.most
		t := trimmer{to: func(piece string) { r.f.tell(event{piece: piece}) }}
		res, err := r.Engine.Generate(ctx, prompt, t.piece)
		if err == nil {
			r.answer.Tokens.Attended = attended(prompt, res.Usage.Generated)
		}
		if err != nil && errors.Is(context.Cause(ctx), errNobody) && r.Observer.Stopped != nil {
			r.Observer.Stopped()
		}
		return res, err
	}
	last := len(prompt.Segments) - 1
	prompt.MaxTokens += len(prompt.Segments[last].Tokens)
	prompt.Segments = prompt.Segments[:last]
	if !slices.ContainsFunc(prompt.Segments, func(s percached.Segment) bool { return s.Slice == nil }) {
		return percached.Result{}, nil // all is there
	}
	res, err := r.Engine.Prefill(ctx, prompt)
	if err == nil {
		r.answer.Tokens.Attended = attended(prompt, 0)
	}
	return res, err
}

// take reads off a result what the answer tells of it.
func (r *run) take(res percached.Result, err error) error {
	r.at = r.Now()
	a, t := &r.answer, &r.answer.Times
	a.Tokens = Tokens{
		Prompt: res.Usage.Prompt, Reused: res.Usage.Reused, Computed: res.Usage.Computed, Generated: res.Usage.Generated, Attended: a.Tokens.Attended,
	}
	if err == nil && len(res.Dropped) > 0 { // the prompt fits, and the citations are told
		err = fault.New(fault.Internal, "answer.take", "the engine left out chunks")
	}
	if err != nil {
		t.Prefill = res.Times.Prefill // what it made is worth that
		return err
	}
	a.Text, a.Finish = strings.TrimSpace(res.Text), res.Finish
	if a.Finish == percached.FinishThought {
		a.Notes = append(a.Notes, "the model was still thinking when it ended: set more max-tokens, or take a model that can be asked not to think")
	}
	a.Outcome = Miss
	if a.Chunks.Stored > 0 {
		a.Outcome = TensorHit
	}
	for _, s := range []struct {
		name string
		to   *time.Duration
		took time.Duration
	}{
		{"queue", &t.Queue, r.queued + res.Times.Queue},
		{"load_tensors", &t.LoadTensors, res.Times.Restore},
		{"prefill", &t.Prefill, res.Times.Prefill},
		{"first_token", &t.FirstToken, res.Times.FirstToken},
		{"decode", &t.Decode, res.Times.Decode},
		{"capture", &t.Capture, res.Times.Capture},
	} {
		*s.to = s.took
		r.f.stage(s.name, s.took)
	}
	return nil
}
