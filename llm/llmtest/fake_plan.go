package llmtest

import (
	"bytes"
	"math"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
)

// part is a segment as it will be run.
type part struct {
	index   int // in the prompt
	tokens  []int32
	branch  bool // right behind the root, under Parallel
	joined  bool // behind branches
	path    percached.Path
	start   int
	slice   *percached.Slice
	capture bool
}

// plan is a prompt in the order in which it is run.
type plan struct {
	parts []part
	total int
	end   int // the position behind the prompt
	// grammar is what the answer must be a text of; nil: any.
	grammar *grammar.Grammar
}

func (f *Fake) plan(op string, p percached.Prompt, answer bool) (*plan, error) {
	tokens := tokenize(p.Segments, f.opts.Begin)
	if err := f.validate(op, p, tokens, answer); err != nil {
		return nil, err
	}
	pl := &plan{}
	if p.Grammar != "" {
		var err error
		if pl.grammar, err = grammar.Parse(p.Grammar); err != nil {
			return nil, err
		}
	}
	for i, s := range p.Segments {
		pl.parts = append(pl.parts, part{
			index: i, tokens: tokens[i], slice: s.Slice, capture: s.Capture,
			branch: s.Kind == percached.KindChunk && i > 0 && p.Placement == percached.Parallel,
		})
		pl.total += len(tokens[i])
	}
	if a, b, ok := pl.twins(); ok {
		return nil, fault.New(fault.Invalid, op, "segments %d and %d are the same chunk, it would count twice", a, b)
	}
	if pl.total+p.MaxTokens > f.opts.Context {
		return nil, fault.New(fault.Invalid, op, "%d tokens, and %d for the answer, exceed the context of %d", pl.total, p.MaxTokens, f.opts.Context)
	}
	pl.place()
	return pl, nil
}

// twins finds two branches of the same tokens.
func (pl *plan) twins() (a, b int, ok bool) {
	for i, x := range pl.parts {
		for _, y := range pl.parts[:i] {
			if x.branch && y.branch && len(x.tokens) > 0 && slices.Equal(x.tokens, y.tokens) {
				return y.index, x.index, true
			}
		}
	}
	return 0, 0, false
}

// place gives each part its path and position, and sorts branches by path.
func (pl *plan) place() {
	var root, path percached.Path
	rootEnd, end := 0, 0
	joined := false
	for i := range pl.parts {
		pt := &pl.parts[i]
		if pt.branch {
			pt.path, pt.start = root.Child(pt.tokens), rootEnd
			end, joined = max(end, rootEnd+len(pt.tokens)), true
			continue
		}
		path = path.Child(pt.tokens)
		pt.path, pt.start, pt.joined = path, end, joined
		end += len(pt.tokens)
		if i == 0 {
			root, rootEnd = path, end
		}
	}
	pl.end = end
	pl.captureExact()
	slices.SortStableFunc(pl.parts, func(a, b part) int {
		if a.branch && b.branch {
			return bytes.Compare(a.path[:], b.path[:])
		}
		return a.index - b.index
	})
}

// captureExact forbids to capture what depends on a packed slice.
func (pl *plan) captureExact() {
	inexact := false
	for i := range pl.parts {
		pt := &pl.parts[i]
		pt.capture = pt.capture && !inexact
		// Nothing that is captured depends on a branch.
		inexact = inexact || !pt.branch && pt.slice != nil && pt.slice.Form != percached.Exact
	}
}

func (f *Fake) validate(op string, p percached.Prompt, tokens [][]int32, answer bool) error {
	invalid := func(format string, args ...any) error { return fault.New(fault.Invalid, op, format, args...) }
	last := len(p.Segments) - 1
	switch s := p.Sampling; {
	case last < 0:
		return invalid("the prompt has no segments")
	case p.Placement > percached.Parallel:
		return invalid("unknown placement %d", p.Placement)
	case p.Priority > percached.Background:
		return invalid("unknown priority %d", p.Priority)
	case p.Planes > percached.QKV:
		return invalid("unknown planes %d", p.Planes)
	case p.MaxTokens < 0, answer && p.MaxTokens == 0:
		return invalid("MaxTokens is %d: an answer needs room", p.MaxTokens)
	case !(s.Temperature >= 0) || math.IsInf(float64(s.Temperature), 0) || s.TopK < 0 || !(s.TopP >= 0 && s.TopP <= 1):
		return invalid("sampling %+v makes no sense", s)
	case slices.Contains(p.Stop, ""):
		return invalid("a stop string is empty")
	}
	for i, s := range p.Segments {
		switch {
		case s.Kind > percached.KindQuestion:
			return invalid("segment %d has the unknown kind %d", i, s.Kind)
		case s.Kind == percached.KindSystem && i > 0:
			return invalid("segment %d: instructions stand first", i)
		case s.Kind == percached.KindTurn && i > 1 && p.Segments[i-1].Kind == percached.KindChunk:
			return invalid("segment %d: turns stand before chunks", i)
		case s.Kind == percached.KindQuestion && i < last:
			return invalid("segment %d: the question stands last", i)
		}
		for _, t := range tokens[i] {
			if t < 0 || t >= vocabulary {
				return invalid("segment %d: token %d is not in the vocabulary of %d", i, t, vocabulary)
			}
		}
	}
	if !answer {
		return nil
	}
	switch q := p.Segments[last]; {
	case q.Kind != percached.KindQuestion:
		return invalid("the prompt ends without a question")
	case len(tokens[last]) == 0:
		return invalid("the question has no tokens")
	case q.Slice != nil:
		return invalid("the question carries a slice: it is always computed")
	case q.Capture:
		return invalid("the question cannot be captured while it is answered")
	}
	return nil
}
