package percached

import (
	"errors"
	"fmt"
)

// Kind is what a segment contains.
type Kind uint8

// The kinds of segment, in prompt order.
const (
	KindSystem   Kind = iota // the instructions; the root of every path
	KindTurn                 // earlier turns of the conversation, or a summary of turns
	KindChunk                // a piece of a document
	KindQuestion             // the question and the start of the answer; always computed
)

// Placement is what a chunk's tensors depend on.
type Placement uint8

const (
	// Sequential chains the chunks: a slice is valid only after the same earlier chunks.
	Sequential Placement = iota
	// Parallel makes every chunk a separate branch after the first segment, all at the
	// same positions. The turns of a conversation are one more branch, in which each turn
	// follows the one before. The question follows the longest branch and sees all of them.
	Parallel
)

func (p Placement) String() string {
	return nameOf([]string{"sequential", "parallel"}, int(p))
}

// MarshalText returns the placement's name.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the placement's name.
func (p *Placement) UnmarshalText(b []byte) error {
	for _, known := range []Placement{Sequential, Parallel} {
		if string(b) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("a placement is sequential or parallel, not %q", b)
}

// nameOf is the name of a value in its type's list, or its number.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// Priority orders work: foreground work interrupts background work.
type Priority uint8

// The two priorities.
const (
	Foreground Priority = iota // a user waits for the result
	Background                 // idle work; a foreground request ends it with ErrPreempted
)

// Text is a part of a segment, tokenised on its own.
type Text struct {
	Text string
	// Special enables control tokens in Text. It is for the chat format around documents
	// and questions, never for them.
	Special bool
}

// Segment is a part of a prompt that is tokenised on its own.
type Segment struct {
	Kind  Kind
	Texts []Text
	// Tokens, if not nil, are this segment's tokens from Engine.Tokenize for this prompt;
	// Texts is then ignored.
	Tokens []int32
	// Slice, if set, is restored instead of computing the segment.
	Slice *Slice
	// Capture requests the segment's slice in the result. A question after parallel
	// chunks has none, because no path names everything it depends on.
	Capture bool
}

// Sampling is how the next token is chosen. The zero value is greedy.
type Sampling struct {
	Temperature float32 // 0 = greedy
	TopK        int     // 0 = all
	TopP        float32 // 0 = all
	Seed        uint64
}

// DraftSource is where a draft comes from.
type DraftSource string

// The sources of drafts.
const (
	DraftStored DraftSource = "stored" // a stored answer that may be the whole answer
	DraftNear   DraftSource = "near"   // an answer over some of the same chunks
	DraftPrompt DraftSource = "prompt" // the prompt itself: answers quote their chunks
)

// Draft is a text that the answer may begin with or repeat parts of.
type Draft struct {
	Source DraftSource // DraftStored or DraftNear
	Text   string
}

// DraftUse counts what drafts of one source did in one run.
type DraftUse struct {
	Source   DraftSource
	Batches  int // in which tokens of the source were checked
	Proposed int // tokens
	Accepted int // tokens that the model itself would have chosen
}

// Prompt is one request to an engine.
type Prompt struct {
	Segments  []Segment
	Placement Placement
	Priority  Priority
	Planes    Planes // tensors in captured slices
	// MaxTokens limits the answer; the context reserves room for it.
	MaxTokens int
	Stop      []string // the answer ends before any of these texts
	EndLoops  bool     // end the answer when it begins to repeat itself
	Sampling  Sampling
	// Drafting lets a greedy run check tokens of Drafts and of the prompt in batches. The
	// answer is the same without it.
	Drafting bool
	Drafts   []Draft // best first
	// Grammar, in GBNF, is what the answer must be a text of; empty: any. With MaxTokens
	// reached the answer is the beginning of one. Nothing is drafted.
	Grammar string
	// Logits requests the scores after the last token of the prompt.
	Logits bool
}

// ErrPreempted ends background work because of a foreground request.
var ErrPreempted = errors.New("background work gave way to a foreground request")
