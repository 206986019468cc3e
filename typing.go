package percached

// Typing is a text that a person types, at one moment.
type Typing struct {
	// Owner keeps texts apart: nothing computed for one owner is reused for another.
	Owner string
	// Notes stand before the text, the most useful first. Those without room are left out.
	Notes []string
	// Before and After are the text on both sides of the cursor. Of a long text only the
	// part near the cursor is read. After ends a candidate that would repeat it.
	Before, After string
	Alternatives  int // candidates, 1 to MaxAlternatives
	MaxTokens     int // of a candidate, 1 to MaxTyped
	// Splice allows to keep the tensors of a text behind an edit, moved to their new
	// positions, though they were computed without the edit.
	Splice bool
}

// The limits of a Typing.
const (
	MaxAlternatives = 8
	MaxTyped        = 32
)

// Typed holds the candidates, the most probable first. There may be fewer than asked for,
// or none.
type Typed struct {
	Candidates []Candidate
	Tokens     TypedTokens
}

// Candidate is a possible continuation. No two begin with the same token.
type Candidate struct {
	Text string
	// Log is the natural logarithm of the candidate's probability behind what was typed.
	// First is that of its first token alone, by which candidates are ordered.
	Log, First float64
}

// TypedTokens counts the tokens of a prompt and of the candidates.
type TypedTokens struct {
	Prompt    int // Reused + Spliced + Computed, less those computed anew for their scores
	Reused    int
	Spliced   int // reused at another position, behind an edit
	Computed  int
	Generated int
}
