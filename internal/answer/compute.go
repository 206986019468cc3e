package answer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/qkvtree"
)

// laid is a prompt with the chunks that its segments came from.
type laid struct {
	prompt percached.Prompt
	chunks []percached.Chunk // of segments 1, 2, ...
	nodes  []qkvtree.Node    // of the instructions and of each chunk
}

// compute answers from chunks, and gives those that were in the prompt.
func (r *run) compute(ctx context.Context, chunks []percached.Chunk) ([]percached.Chunk, error) {
	p, err := r.layOut(chunks)
	if err != nil {
		return nil, err
	}
	req := r.request(p)
	if !r.set.Tensors || r.Engine.Info().NoSlices != "" {
		if r.work != nil && r.work.Prefill {
			return chunks, nil // nothing would be left of it
		}
		res, err := r.generate(ctx, p, nil)
		return r.take(p, res, err)
	}
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
	r.insert = func() error { return r.Tree.Insert(captured(req, res)) }
	for i, s := range res.Slices {
		if s != nil && i > 0 && i < len(req.Segments) {
			r.answer.Made = append(r.answer.Made, req.Segments[i].Chunk)
		}
		if s != nil {
			r.answer.Written += s.Bytes()
		}
	}
	return r.take(p, res, err)
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

// layOut makes the prompt. Chunks stand in the order of the settings; side by
// side they stand in the order of their paths, as the engine wants them.
func (r *run) layOut(chunks []percached.Chunk) (*laid, error) {
	chunks = slices.Clone(chunks)
	rank := map[percached.ChunkID]int{}
	for i, c := range chunks {
		rank[c.ID] = i
	}
	if r.set.Order == percached.Canonical {
		slices.SortStableFunc(chunks, func(a, b percached.Chunk) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	texts := make([]string, len(chunks))
	for i := range chunks {
		texts[i] = chunks[i].Rendered()
	}
	segments := r.Engine.Info().Chat.Ask(r.set.Instructions, texts, r.q.Text)
	tokens, err := r.Engine.Tokenize(segments)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		segments[i].Tokens = tokens[i]
	}
	p := &laid{nodes: []qkvtree.Node{{Tokens: tokens[0]}}}
	p.prompt = percached.Prompt{Priority: r.priority(), Placement: r.set.Placement, Planes: r.set.Planes, MaxTokens: r.set.MaxTokens, Segments: segments[:1:1]}
	root := percached.Path{}.Child(tokens[0])
	at := make([]int, len(chunks))
	for i := range at {
		at[i] = i
	}
	if r.set.Placement == percached.Parallel {
		path := func(i int) []byte { p := root.Child(tokens[i+1]); return p[:] }
		slices.SortStableFunc(at, func(i, j int) int { return cmp.Or(bytes.Compare(path(i), path(j)), cmp.Compare(i, j)) })
		// Two texts of the same tokens are one branch.
		at = slices.CompactFunc(at, func(i, j int) bool { return slices.Equal(tokens[i+1], tokens[j+1]) })
	}
	for _, i := range at {
		s := segments[i+1]
		s.Rank = rank[chunks[i].ID]
		p.prompt.Segments = append(p.prompt.Segments, s)
		p.chunks = append(p.chunks, chunks[i])
		p.nodes = append(p.nodes, qkvtree.Node{Tokens: s.Tokens, Chunk: chunks[i].ID})
	}
	p.prompt.Segments = append(p.prompt.Segments, segments[len(segments)-1])
	r.ended("match_tensors", &r.answer.Times.MatchTensors)
	return p, nil
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
		r.answer.Chunks = Reuse{All: len(p.chunks) - len(res.Dropped)}
		for i, s := range stored {
			if s != nil && i > 0 && !slices.Contains(res.Dropped, i) {
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
		t := trimmer{to: func(piece string) { r.f.tell(event{piece: piece}) }}
		return r.Engine.Generate(ctx, prompt, t.piece)
	}
	last := len(prompt.Segments) - 1
	prompt.MaxTokens += len(prompt.Segments[last].Tokens)
	prompt.Segments = prompt.Segments[:last]
	if !slices.ContainsFunc(prompt.Segments, func(s percached.Segment) bool { return s.Slice == nil }) {
		return percached.Result{}, nil // all is there
	}
	return r.Engine.Prefill(ctx, prompt)
}

// take reads off a result what the answer tells of it.
func (r *run) take(p *laid, res percached.Result, err error) ([]percached.Chunk, error) {
	r.at = r.Now()
	a, t := &r.answer, &r.answer.Times
	a.Tokens = Tokens{Prompt: res.Usage.Prompt, Reused: res.Usage.Reused, Computed: res.Usage.Computed, Generated: res.Usage.Generated}
	if err != nil {
		t.Prefill = res.Times.Prefill // what it made is worth that
		return nil, err
	}
	a.Text, a.Finish = strings.TrimSpace(res.Text), res.Finish
	a.Outcome = Miss
	if a.Chunks.Stored > 0 {
		a.Outcome = TensorHit
	}
	for _, s := range []struct {
		name string
		to   *time.Duration
		took time.Duration
	}{
		{"queue", &t.Queue, res.Times.Queue},
		{"load_tensors", &t.LoadTensors, res.Times.Restore},
		{"prefill", &t.Prefill, res.Times.Prefill},
		{"first_token", &t.FirstToken, res.Times.FirstToken},
		{"decode", &t.Decode, res.Times.Decode},
		{"capture", &t.Capture, res.Times.Capture},
	} {
		*s.to = s.took
		r.f.stage(s.name, s.took)
	}
	var used []percached.Chunk
	for i, c := range p.chunks {
		if !slices.Contains(res.Dropped, i+1) {
			used = append(used, c)
		}
	}
	rank := func(c percached.Chunk) int {
		return slices.IndexFunc(r.own, func(o percached.Chunk) bool { return o.ID == c.ID })
	}
	slices.SortFunc(used, func(a, b percached.Chunk) int { return cmp.Compare(rank(a), rank(b)) })
	return used, nil
}

// captured is what of a result goes into the tree: dropped chunks were no part
// of any path.
func captured(req qkvtree.Request, res percached.Result) (qkvtree.Request, []*percached.Slice) {
	var nodes []qkvtree.Node
	var found []*percached.Slice
	for i, n := range req.Segments {
		if slices.Contains(res.Dropped, i) {
			continue
		}
		var s *percached.Slice
		if i < len(res.Slices) {
			s = res.Slices[i]
		}
		nodes, found = append(nodes, n), append(found, s)
	}
	req.Segments = nodes
	return req, found
}
