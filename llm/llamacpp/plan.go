package llamacpp

import (
	"bytes"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// A plan is a checked prompt with its tokens, in the order of the context's cells.
// Nothing is fitted here: a prompt that exceeds the context is refused.
type plan struct {
	prompt percached.Prompt
	steps  []step // in the order in which they enter the context
	tokens int    // of all steps
}

// A step is one segment at its place in the context.
type step struct {
	segment int // its index in the prompt
	kind    percached.Kind
	tokens  []int32
	path    percached.Path
	start   int              // position of the first token
	slice   *percached.Slice // restored; nil: the segment is computed
	capture bool
}

const opPrompt = "llamacpp: prompt"

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, opPrompt, format, args...)
}

// checkShape refuses a prompt that no engine can run.
func checkShape(p percached.Prompt, answering bool) error {
	if len(p.Segments) == 0 {
		return invalid("it has no segments")
	}
	if p.Placement > percached.Parallel {
		return invalid("unknown placement %d", p.Placement)
	}
	if p.Planes > percached.QKV {
		return invalid("unknown planes %d", p.Planes)
	}
	if p.MaxTokens < 0 {
		return invalid("MaxTokens must be 0 or more, not %d", p.MaxTokens)
	}
	for i, s := range p.Segments {
		last := i == len(p.Segments)-1
		switch {
		case s.Kind > percached.KindQuestion:
			return invalid("segment %d is of unknown kind %d", i, s.Kind)
		case s.Kind == percached.KindSystem && i > 0:
			return invalid("segment %d: the instructions must come first", i)
		case s.Kind == percached.KindTurn && i > 1 && p.Segments[i-1].Kind == percached.KindChunk:
			return invalid("segment %d: the turns must come before the chunks", i)
		case s.Kind == percached.KindQuestion && !last:
			return invalid("segment %d: the question must come last", i)
		}
	}
	if !answering {
		return nil
	}
	last := p.Segments[len(p.Segments)-1]
	switch {
	case last.Kind != percached.KindQuestion:
		return invalid("the last segment must be the question")
	case last.Slice != nil:
		return invalid("the question is always computed, never restored")
	case last.Capture:
		return invalid("the question of an answer cannot be captured")
	case p.MaxTokens == 0:
		return invalid("MaxTokens must be more than 0")
	}
	return checkSampling(p.Sampling)
}

// newPlan puts the segments of a checked prompt in their places. The context has room
// for so many tokens.
func newPlan(p percached.Prompt, tokens [][]int32, room int) (*plan, error) {
	pl := &plan{prompt: p}
	for i := range tokens {
		pl.tokens += len(tokens[i])
	}
	if pl.tokens+p.MaxTokens > room {
		return nil, invalid("it has %d tokens and its answer up to %d; the context holds %d", pl.tokens, p.MaxTokens, room)
	}
	for i, s := range p.Segments {
		if len(tokens[i]) == 0 && s.Slice != nil {
			return nil, &percached.SliceError{Segment: i, Reason: "its segment has no tokens"}
		}
		pl.steps = append(pl.steps, step{
			segment: i, kind: s.Kind, tokens: tokens[i], slice: s.Slice,
			capture: s.Capture && s.Slice == nil && len(tokens[i]) > 0,
		})
	}
	if p.Placement == percached.Parallel {
		if err := pl.placeParallel(); err != nil {
			return nil, err
		}
		inexact := captureExact(pl.steps[:1], false)
		captureExact(pl.turns(), inexact)
		for i := range pl.branches() {
			captureExact(pl.branches()[i:i+1], inexact)
		}
		return pl, nil
	}
	pl.placeSequential()
	captureExact(pl.steps, false)
	return pl, nil
}

// captureExact forbids to capture what is computed behind a packed slice: it would not be exact.
// The steps follow each other. It reports whether what follows them is inexact, too.
func captureExact(steps []step, inexact bool) bool {
	for i := range steps {
		s := &steps[i]
		s.capture = s.capture && !inexact
		inexact = inexact || s.slice != nil && s.slice.Form != percached.Exact
	}
	return inexact
}

// placeSequential chains the paths of the segments.
func (pl *plan) placeSequential() {
	var path percached.Path
	pos := 0
	for i := range pl.steps {
		s := &pl.steps[i]
		path = path.Child(s.tokens)
		s.path, s.start = path, pos
		pos += len(s.tokens)
	}
}

// placeParallel puts every chunk right behind the root, in the order of their paths. The
// turns are a chain behind the root.
func (pl *plan) placeParallel() error {
	root := &pl.steps[0]
	root.path = percached.Path{}.Child(root.tokens)
	end := len(root.tokens)
	longest, path := end, root.path
	turns := pl.turns()
	for i := range turns {
		s := &turns[i]
		path = path.Child(s.tokens)
		s.path, s.start = path, longest
		longest += len(s.tokens)
	}
	branches := pl.branches()
	for i := range branches {
		s := &branches[i]
		s.path, s.start = root.path.Child(s.tokens), end
		longest = max(longest, end+len(s.tokens))
	}
	slices.SortFunc(branches, func(a, b step) int { return bytes.Compare(a.path[:], b.path[:]) })
	for i := 1; i < len(branches); i++ {
		if branches[i].path == branches[i-1].path {
			return invalid("segments %d and %d are the same chunk; in parallel it would count twice",
				branches[i-1].segment, branches[i].segment)
		}
	}
	if q := pl.question(); q != nil {
		if q.slice != nil {
			return &percached.SliceError{Segment: q.segment, Reason: "a question behind parallel chunks has no path of its own"}
		}
		q.start, q.capture = longest, false
	}
	return nil
}

// turns returns the steps of the conversation behind the root.
func (pl *plan) turns() []step {
	n := 1
	for n < len(pl.steps) && pl.steps[n].kind == percached.KindTurn {
		n++
	}
	return pl.steps[1:n]
}

// branches returns the parallel steps behind the root, except the turns.
func (pl *plan) branches() []step {
	rest := pl.steps[1+len(pl.turns()):]
	if pl.question() != nil {
		return rest[:len(rest)-1]
	}
	return rest
}

// question returns the last step if it is the question behind the chunks, otherwise nil.
func (pl *plan) question() *step {
	if n := len(pl.steps); n > 1 && pl.steps[n-1].kind == percached.KindQuestion {
		return &pl.steps[n-1]
	}
	return nil
}

// checkSlices checks every slice that is to be restored.
func (pl *plan) checkSlices(k *sliceChecker) error {
	for i := range pl.steps {
		s := &pl.steps[i]
		if s.slice == nil {
			continue
		}
		if err := k.check(s); err != nil {
			return &percached.SliceError{Segment: s.segment, Reason: err.Error()}
		}
	}
	return nil
}
