package selftest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// words are n random words in lower case.
func words(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for range 2 + r.IntN(6) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// Exact makes segments of exactly so many tokens, of text that means nothing:
// the first is the system's, the last the question's, the others chunks.
func Exact(e llm.Engine, seed uint64, sizes ...int) ([]percached.Segment, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	segs := make([]percached.Segment, len(sizes))
	for i, n := range sizes {
		kind := percached.KindChunk
		switch i {
		case 0:
			kind = percached.KindSystem
		case len(sizes) - 1:
			kind = percached.KindQuestion
		}
		segs[i] = percached.Segment{Kind: kind, Texts: []percached.Text{{Text: words(r, n)}}}
	}
	tokens, err := e.Tokenize(segs)
	if err != nil {
		return nil, err
	}
	for i, n := range sizes {
		if len(tokens[i]) < n {
			return nil, fault.New(fault.Unsupported, "percached: prompt", "%d words make only %d tokens of this model", n, len(tokens[i]))
		}
		segs[i].Tokens, segs[i].Texts = tokens[i][:n:n], nil
	}
	return segs, nil
}

// Capturing asks for the slices of all segments but the last.
func Capturing(p percached.Prompt) percached.Prompt {
	p.Segments = append([]percached.Segment(nil), p.Segments...)
	for i := range p.Segments[:len(p.Segments)-1] {
		p.Segments[i].Capture = true
	}
	return p
}

// Restoring puts slices in the place of the segments before the last.
func Restoring(p percached.Prompt, slices []*percached.Slice) percached.Prompt {
	p.Segments = append([]percached.Segment(nil), p.Segments...)
	for i := range p.Segments[:len(p.Segments)-1] {
		p.Segments[i].Slice = slices[i]
	}
	return p
}

// SameBits tells floats apart that compare equal.
func SameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
