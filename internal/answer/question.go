package answer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/qabank"
)

const maxQuestion = 8 << 10 // bytes

// Question is what somebody asks.
type Question struct {
	Space string
	Text  string
	// Bypass leaves the bank's answers alone: the answer is computed, and
	// stored if the bank has none.
	Bypass bool
	// Refresh computes the answer and puts it in place of the bank's.
	Refresh bool
	// FollowsUp says that the question leans on earlier turns: the bank has no
	// part in it.
	FollowsUp bool
	// Settings are what this question wants otherwise than its space.
	Settings percached.Settings
	// MaxAge, when not zero, is the age beyond which a stored answer is not
	// served.
	MaxAge time.Duration
}

func (q *Question) check() error {
	const op = "answer.Ask"
	switch {
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
	Text      string           `json:"answer"`
	Outcome   Outcome          `json:"outcome"`
	Refused   bool             `json:"refused"` // it says that the documents do not say
	Citations []Citation       `json:"citations"`
	Gate      Gate             `json:"gate"`
	Chunks    Reuse            `json:"chunks"`
	Tokens    Tokens           `json:"tokens"`
	Finish    percached.Finish `json:"finish,omitempty"`
	Times     Times            `json:"times"`

	// For the books, not for the person who asked.
	Entry   qabank.ID           `json:"-"` // of the bank: served, or made
	Loaded  []percached.ChunkID `json:"-"` // whose tensors were stored
	Made    []percached.ChunkID `json:"-"` // whose tensors were computed and kept
	Written int64               `json:"-"` // their bytes
	// Notes say what did not work and was done without.
	Notes []string `json:"notes,omitempty"`
}

// Citation is a chunk that the answer rests on.
type Citation struct {
	Document percached.DocumentID `json:"document"`
	Chunk    percached.ChunkID    `json:"chunk"`
	About    string               `json:"about"` // title, source and date
	Quote    string               `json:"quote"`
}

// Reuse counts chunks of the prompt.
type Reuse struct {
	Stored int `json:"stored"` // whose tensors were there
	All    int `json:"all"`
}

// Tokens counts tokens of the prompt and of the answer. Prompt = Reused + Computed.
type Tokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
}
