package percached

import (
	"errors"
	"fmt"
)

// Kind says what a segment is for.
type Kind uint8

// The kinds of segment, in the order in which they stand in a prompt.
const (
	KindSystem   Kind = iota // instructions; the root of every path
	KindChunk                // a piece of a document
	KindQuestion             // the question and the opening of the answer; always computed
)

// Placement decides what a chunk's tensors depend on.
type Placement uint8

const (
	// Sequential puts chunk behind chunk: a slice is valid only behind the
	// same earlier chunks.
	Sequential Placement = iota
	// Parallel makes every chunk a branch of its own right behind the first
	// segment, all at the same positions; the question stands behind the
	// longest branch and sees them all.
	Parallel
)

func (p Placement) String() string {
	return nameOf([]string{"sequential", "parallel"}, int(p))
}

// MarshalText writes the placement's name.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the placement's name.
func (p *Placement) UnmarshalText(b []byte) error {
	for _, known := range []Placement{Sequential, Parallel} {
		if string(b) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("a placement is sequential or parallel, not %q", b)
}

// nameOf is the name of a value that its type lists, or its number.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// Priority orders work: foreground work makes background work stop.
type Priority uint8

// The two priorities.
const (
	Foreground Priority = iota // somebody waits for this
	Background                 // idle work; stops with ErrPreempted when somebody asks
)

// Text is a piece of a segment, tokenised on its own.
type Text struct {
	Text string
	// Special lets control tokens in Text act as such. It is for the frame
	// that a chat format puts around documents and questions, never for them.
	Special bool
}

// Segment is a piece of a prompt that is tokenised on its own.
type Segment struct {
	Kind  Kind
	Texts []Text
	// Tokens, when not nil, are this segment's tokens as Engine.Tokenize gave
	// them for this prompt; Texts is then not read again.
	Tokens []int32
	// Slice, when set, is restored instead of computing the segment.
	Slice *Slice
	// Capture asks for the segment's slice in the result. A question behind
	// chunks side by side has none: no path names all that it depends on.
	Capture bool
}

// Sampling says how the next token is chosen. The zero value is greedy.
type Sampling struct {
	Temperature float32 // 0 = greedy
	TopK        int     // 0 = all
	TopP        float32 // 0 = all
	Seed        uint64
}

// Prompt is one piece of work for an engine.
type Prompt struct {
	Segments  []Segment
	Placement Placement
	Priority  Priority
	Planes    Planes // what captured slices hold
	// MaxTokens bounds the answer; room for it is kept in the context.
	MaxTokens int
	Stop      []string // the answer ends before any of these
	EndLoops  bool     // the answer ends where it begins to repeat itself
	Sampling  Sampling
	// Logits asks for the scores behind the last token of the prompt.
	Logits bool
}

// ErrPreempted ends background work because somebody asked something.
var ErrPreempted = errors.New("background work gave way to a foreground request")
