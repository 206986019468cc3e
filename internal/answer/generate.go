package answer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

// lentSlices are the stored slices of a prompt. The tree lends them until release.
type lentSlices struct {
	slices  []*percached.Slice // of each node of the plan; nil: tensors are not used
	release func()
}

// madeSlices are the slices that the engine captured, for the tree. Without any there is
// nothing to store.
type madeSlices struct {
	request qkvtree.Request
	slices  []*percached.Slice
	before  int // of the slices are not those of chunks
}

// treeRequest names the segments of a prompt to the tree.
func (a *Asker) treeRequest(r request, plan promptPlan) qkvtree.Request {
	return qkvtree.Request{
		Space: r.Space, Model: a.Engine.Info().Fingerprint, Placement: r.settings.Placement, Segments: plan.nodes, Idle: r.work != nil, Form: r.form(),
	}
}

// form is the least exact form of tensors that may serve the request. What idle work
// answers is kept and served later, so it is exact; what it prefills is not computed again
// only because it was packed.
func (r *request) form() percached.Form {
	switch {
	case r.work == nil:
		return r.settings.Form
	case r.prefills():
		return percached.Q4
	}
	return percached.Exact
}

// matchTensors borrows the stored slices of the prompt. If the tree fails or is too slow,
// all of the prompt is computed. The caller must release them before it stores anything.
func (a *Asker) matchTensors(r request, plan promptPlan, p *progress) lentSlices {
	if plan.empty() || !r.settings.Tensors || a.Engine.Info().NoSlices != "" {
		return lentSlices{release: func() {}}
	}
	stored, release, err := a.borrow(a.treeRequest(r, plan))
	if err != nil {
		p.without("the tensor tree", err)
		stored, release = make([]*percached.Slice, len(plan.nodes)), func() {}
	}
	return lentSlices{slices: stored, release: release}
}

// borrow holds the tree's view open until release is called. release waits for its end, so that
// the tree can reclaim space for what is stored next; the tree copies there what it keeps in memory.
func (a *Asker) borrow(req qkvtree.Request) (stored []*percached.Slice, release func(), err error) {
	lent, free, late := make(chan []*percached.Slice), make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	a.running.Go(func() {
		ended <- a.Tree.View(req, func(stored []*percached.Slice, _ qkvtree.Match) error {
			select {
			case lent <- stored:
				<-free
			case <-late:
			}
			return nil
		})
	})
	patience := time.NewTimer(a.Patience)
	defer patience.Stop()
	select {
	case stored := <-lent:
		return stored, func() { close(free); <-ended }, nil
	case err := <-ended:
		return nil, nil, cmp.Or(err, fault.New(fault.Internal, "answer.borrow", "the tensor tree lent nothing"))
	case <-patience.C:
		close(late)
		return nil, nil, fault.New(fault.Timeout, "answer.borrow", "the tensor tree lent nothing within %v", a.Patience)
	}
}

// generate has the engine answer, or prefill, and releases the lent slices. With an error
// it returns the tokens that were computed and the slices that were made until then.
func (a *Asker) generate(ctx context.Context, r request, plan promptPlan, lent lentSlices, drafts []percached.Draft, p *progress) (Answer, madeSlices, error) {
	defer lent.release()
	if plan.empty() { // a model would make something up
		p.stageEnded("match_tensors", &p.times.MatchTensors)
		text := strings.TrimSpace(refusal)
		if r.Grammar == "" { // else it is no text of the grammar, and not sent as one
			p.piece(text)
		}
		return Answer{Text: text, Refused: true, Outcome: Miss}, madeSlices{}, nil
	}
	if r.prefills() && lent.slices == nil && !a.Engine.Info().PrefixCache {
		return Answer{}, madeSlices{}, nil // nothing of it could be stored
	}
	stored := lent.slices
	plan.prompt.Drafting, plan.prompt.Drafts = r.settings.Drafts, drafts
	res, attended, err := a.runEngine(ctx, r, plan.prompt, stored, p)
	for range stored { // a slice that the engine refuses is computed instead
		var refused *percached.SliceError
		if !errors.As(err, &refused) || refused.Segment >= len(stored) {
			break
		}
		p.without("a stored tensor", err)
		stored = slices.Clone(stored)
		stored[refused.Segment] = nil
		res, attended, err = a.runEngine(ctx, r, plan.prompt, stored, p)
	}
	var made madeSlices
	if stored != nil {
		made = madeSlices{a.treeRequest(r, plan), make([]*percached.Slice, len(plan.nodes)), plan.before()}
		copy(made.slices, res.Slices)
	}
	answer := Answer{Tokens: Tokens{Prompt: res.Usage.Prompt, Reused: res.Usage.Reused, Computed: res.Usage.Computed, Generated: res.Usage.Generated}}
	p.times.Prefill = res.Times.Prefill
	if err != nil {
		return answer, made, err
	}
	answer.Tokens.Attended = attended
	answer.Chunks.All = len(plan.chunks)
	for i, s := range stored {
		if s != nil && i >= plan.before() {
			answer.Chunks.Stored++
			answer.Loaded = append(answer.Loaded, plan.nodes[i].Chunk)
		}
		if s != nil && s.Form != percached.Exact {
			answer.Chunks.Packed++
			answer.Chunks.Form = max(answer.Chunks.Form, s.Form)
		}
	}
	answer.Outcome = Miss
	if answer.Chunks.Stored > 0 {
		answer.Outcome = TensorHit
	}
	if res.Verified && answer.Chunks.Packed == 0 { // only exact tensors confirm anything
		answer.Outcome = VerifiedHit
	}
	answer.Drafts = res.Drafts
	answer.Text, answer.Finish = strings.TrimSpace(res.Text), res.Finish
	answer.Refused = refuses(answer.Text)
	if answer.Finish == percached.FinishThought {
		p.notes = append(p.notes, "the model was still thinking when it ended: set more max-tokens, or take a model that can be asked not to think")
	}
	p.engineEnded(res.Times)
	return answer, made, nil
}

// runEngine has the engine run the prompt with the slices that are stored, and capture the
// others; with stored nil it captures none. It also returns how many tokens were attended.
func (a *Asker) runEngine(ctx context.Context, r request, prompt percached.Prompt, stored []*percached.Slice, p *progress) (percached.Result, int64, error) {
	p.stageEnded("match_tensors", &p.times.MatchTensors)
	defer p.restartLap() // the engine reports its own times
	prompt.Segments = slices.Clone(prompt.Segments)
	for i, s := range stored {
		prompt.Segments[i].Slice = s
		prompt.Segments[i].Capture = s == nil
	}
	if r.prefills() {
		return a.prefill(ctx, prompt)
	}
	prompt.MaxTokens = r.maxTokens
	if r.Grammar != "" { // it alone ends the answer
		prompt.Grammar, prompt.Stop, prompt.EndLoops = r.Grammar, nil, false
	}
	t := trimmer{to: p.piece}
	res, err := a.Engine.Generate(ctx, prompt, t.piece)
	if err != nil && errors.Is(context.Cause(ctx), errNobody) && a.Observer.Stopped != nil {
		a.Observer.Stopped()
	}
	return res, attended(prompt, res.Usage.Generated), err
}

// prefill has the engine compute everything before the question. It keeps room for the
// question, so that the same chunks fit when the question is answered.
func (a *Asker) prefill(ctx context.Context, prompt percached.Prompt) (percached.Result, int64, error) {
	last := len(prompt.Segments) - 1
	prompt.MaxTokens += len(prompt.Segments[last].Tokens)
	prompt.Segments = prompt.Segments[:last]
	if !slices.ContainsFunc(prompt.Segments, func(s percached.Segment) bool { return s.Slice == nil }) {
		return percached.Result{}, 0, nil // all of it is stored
	}
	res, err := a.Engine.Prefill(ctx, prompt)
	return res, attended(prompt, 0), err
}

// attended adds up, over the prompt's computed tokens and the generated ones, how many
// tokens each could attend to, itself included.
func attended(p percached.Prompt, generated int) int64 {
	var sum, before int64 // before: all tokens before a segment, whether it attends to them or not
	for i, s := range p.Segments {
		seen := before
		if i > 0 && s.Kind == percached.KindChunk && p.Placement == percached.Parallel {
			seen = int64(len(p.Segments[0].Tokens))
		}
		n := int64(len(s.Tokens))
		if s.Slice == nil {
			sum += attendedByRun(seen, n)
		}
		before += n
	}
	return sum + attendedByRun(before, int64(generated))
}

// attendedByRun is what n tokens in a row attend to behind others that all of them see.
func attendedByRun(before, n int64) int64 { return n*before + n*(n+1)/2 }

// refuses says whether an answer is that the documents do not say.
func refuses(text string) bool {
	return qabank.Normalise(text) == qabank.Normalise(refusal)
}
