package answer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// Bounds of what is asked, in bytes but for the number of turns.
const (
	maxQuestion     = 8 << 10
	maxInstructions = 16 << 10
	maxTurn         = 64 << 10
	maxTurns        = 1000
)

// Question is what somebody asks.
type Question struct {
	Space string
	Text  string
	// Caller names who asks. Callers take turns at the engine, and only identical
	// questions of one caller are computed together.
	Caller string
	// Bypass leaves the bank's answers alone: the answer is computed, and
	// stored if the bank has none.
	Bypass bool
	// Refresh computes the answer and puts it in place of the bank's.
	Refresh bool
	// FollowsUp says that the question leans on earlier turns: the bank has no
	// part in it.
	FollowsUp bool
	// Earlier are the turns of a conversation before the question, oldest first,
	// and Instructions what a client asks for beside the service's own. They stand
	// in the prompt before the question, as text, the latest turns as far as there
	// is room for them. With either, the bank has no part in the answer.
	Earlier      []Turn
	Instructions string
	// MaxTokens bounds the answer if it is less than the service's own bound; 0:
	// that alone does. A stored answer is given whole.
	MaxTokens int
	// Settings are what this question wants otherwise than its space.
	Settings percached.Settings
	// MaxAge, when not zero, is the age beyond which a stored answer is not
	// served.
	MaxAge time.Duration
}

// Turn is what was said before the question.
type Turn struct {
	Role string // RoleUser or RoleAssistant
	Text string
}

// The roles.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

func (q *Question) check() error {
	const op = "answer.Ask"
	for i, t := range q.Earlier {
		switch {
		case t.Role != RoleUser && t.Role != RoleAssistant:
			return fault.New(fault.Invalid, op, "earlier turn %d: its role is neither user nor assistant", i)
		case len(t.Text) > maxTurn:
			return fault.New(fault.Invalid, op, "earlier turn %d has %d bytes, it may have %d", i, len(t.Text), maxTurn)
		case !utf8.ValidString(t.Text):
			return fault.New(fault.Invalid, op, "earlier turn %d is not UTF-8", i)
		}
	}
	switch {
	case len(q.Earlier) > maxTurns:
		return fault.New(fault.Invalid, op, "there are %d earlier turns, there may be %d", len(q.Earlier), maxTurns)
	case len(q.Instructions) > maxInstructions:
		return fault.New(fault.Invalid, op, "the instructions have %d bytes, they may have %d", len(q.Instructions), maxInstructions)
	case !utf8.ValidString(q.Instructions):
		return fault.New(fault.Invalid, op, "the instructions are not UTF-8")
	case q.MaxTokens < 0:
		return fault.New(fault.Invalid, op, "the bound of the answer is negative")
	case strings.TrimSpace(q.Text) == "":
		return fault.New(fault.Invalid, op, "the question is empty")
	case len(q.Text) > maxQuestion:
		return fault.New(fault.Invalid, op, "the question has %d bytes, it may have %d", len(q.Text), maxQuestion)
	case !utf8.ValidString(q.Text):
		return fault.New(fault.Invalid, op, "the question is not UTF-8")
	case q.MaxAge < 0:
		return fault.New(fault.Invalid, op, "the greatest age is negative")
	}
	return nil
}

// Listener hears of an answer while it comes. Any func may be nil; one that is
// slow holds up nobody else.
type Listener struct {
	// Piece gets the answer's text in pieces of whole UTF-8.
	Piece func(text string)
	// Stage is told of each stage that ended, by its name in Times.
	Stage func(name string, took time.Duration)
	// Cite gets the citations of the answer, all before its text.
	Cite func(Citation)
}

// Outcome says how an answer came.
type Outcome string

// Asked is the origin of an entry whose question a person asked.
const Asked = "asked"

// The outcomes.
const (
	AnswerHit Outcome = "answer_hit" // from the bank
	TensorHit Outcome = "tensor_hit" // computed, with the stored tensors of at least one chunk
	Miss      Outcome = "miss"       // computed
)

// Answer is what a question gets.
type Answer struct {
	Text      string
	Outcome   Outcome
	Refused   bool // it says that the documents do not say
	Citations []Citation
	Grounds
	Gate   Gate
	Chunks Reuse
	Tokens Tokens
	Finish percached.Finish
	Times  Times

	// For the books.
	Entry   qabank.ID           // of the bank: served, or made
	Loaded  []percached.ChunkID // whose tensors were stored
	Made    []percached.ChunkID // whose tensors were computed and kept
	Written int64               // their bytes
	// Notes say what did not work and was done without.
	Notes []string
}

// Citation is a chunk that the answer rests on.
type Citation struct {
	Document percached.DocumentID
	Chunk    percached.ChunkID
	About    string // title, source and date
	Quote    string
}

// Reuse counts chunks of the prompt.
type Reuse struct {
	Stored int // whose tensors were there
	All    int
}

// Tokens counts tokens of the prompt and of the answer. Prompt = Reused + Computed.
type Tokens struct {
	Prompt    int
	Reused    int
	Computed  int
	Generated int
	// Attended adds up, over the tokens that were computed or generated, how many
	// tokens each could see, itself among them. What broke off has none.
	Attended int64
}
