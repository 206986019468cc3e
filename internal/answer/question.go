package answer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer/grounded"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// Bounds of a question, in bytes except for maxTurns.
const (
	maxQuestion     = 8 << 10
	maxInstructions = 16 << 10
	maxTurn         = 64 << 10
	maxTurns        = 1000
)

// Bounds of the earlier turns in the prompt, in bytes.
const (
	promptTurns = 4 << 10 // of all turns
	promptTurn  = 1 << 10 // of one turn; the rest is left out
)

// questionMark precedes a question that stands behind others.
const questionMark = "Question: "

// Question is what a client asks.
type Question struct {
	Space string
	Text  string
	// Caller names the client. Callers take turns at the engine, and only identical
	// questions of one caller are computed together.
	Caller string
	// Bypass ignores the bank's answers: the answer is computed, and stored if the bank
	// has none.
	Bypass bool
	// Refresh computes the answer and replaces the bank's.
	Refresh bool
	// FollowsUp says that the question leans on earlier turns: the bank has no part in
	// its answer.
	FollowsUp bool
	// Earlier are the turns of the conversation before the question, oldest first, and
	// Instructions those of the client, beside the service's own. Both stand in the
	// prompt before the question, as text: the latest turns, as many as fit. With
	// either, the bank has no part in the answer.
	Earlier      []Turn
	Instructions string
	// MaxTokens bounds the answer below the service's own bound; 0: no further bound. A
	// stored answer is returned whole.
	MaxTokens int
	// Settings replace those of the space for this question.
	Settings percached.Settings
	// MaxAge, unless zero, is the age beyond which a stored answer is not served.
	MaxAge time.Duration
}

// Turn is one message of the conversation before the question.
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
			return fault.New(fault.Invalid, op, "earlier turn %d has %d bytes, the limit is %d", i, len(t.Text), maxTurn)
		case !utf8.ValidString(t.Text):
			return fault.New(fault.Invalid, op, "earlier turn %d is not valid UTF-8", i)
		}
	}
	switch {
	case len(q.Earlier) > maxTurns:
		return fault.New(fault.Invalid, op, "the question has %d earlier turns, the limit is %d", len(q.Earlier), maxTurns)
	case len(q.Instructions) > maxInstructions:
		return fault.New(fault.Invalid, op, "the instructions have %d bytes, the limit is %d", len(q.Instructions), maxInstructions)
	case !utf8.ValidString(q.Instructions):
		return fault.New(fault.Invalid, op, "the instructions are not valid UTF-8")
	case q.MaxTokens < 0:
		return fault.New(fault.Invalid, op, "the maximum number of tokens is negative")
	case strings.TrimSpace(q.Text) == "":
		return fault.New(fault.Invalid, op, "the question is empty")
	case len(q.Text) > maxQuestion: // the page reads the limit from this message
		return fault.New(fault.Invalid, op, "the question has %d bytes, it may have %d", len(q.Text), maxQuestion)
	case !utf8.ValidString(q.Text):
		return fault.New(fault.Invalid, op, "the question is not valid UTF-8")
	case q.MaxAge < 0:
		return fault.New(fault.Invalid, op, "the maximum age is negative")
	}
	return nil
}

// standsAlone says that nothing but the documents shapes the answer.
func (q *Question) standsAlone() bool {
	return !q.FollowsUp && len(q.Earlier) == 0 && q.Instructions == "" && !qabank.FollowUp(q.Text)
}

// searchText is what is embedded and searched for: the question, preceded by earlier
// questions of the user as long as they lean on still earlier ones.
func (q *Question) searchText() string {
	text, leans := q.Text, qabank.FollowUp(q.Text)
	for i := len(q.Earlier) - 1; i >= 0 && leans; i-- {
		t := q.Earlier[i]
		if t.Role != RoleUser {
			continue
		}
		if len(t.Text)+len(text) > maxQuestion {
			break
		}
		text, leans = t.Text+"\n"+text, qabank.FollowUp(t.Text)
	}
	return text
}

// promptText is the question in the prompt, preceded by the client's instructions and by
// so many of the latest turns. The question is marked as one if marked is set or turns
// precede it.
func (q *Question) promptText(turns int, marked bool) string {
	var b strings.Builder
	if q.Instructions != "" {
		b.WriteString(q.Instructions + "\n\n")
	}
	for _, t := range q.Earlier[len(q.Earlier)-turns:] {
		b.WriteString(t.promptText())
	}
	if marked || turns > 0 {
		b.WriteString(questionMark)
	}
	b.WriteString(q.Text)
	return b.String()
}

// boundedTurns is how many of the latest turns the prompt may have at most.
func (q *Question) boundedTurns() int {
	left := promptTurns
	for i := len(q.Earlier) - 1; i >= 0; i-- {
		if left -= len(q.Earlier[i].promptText()); left < 0 {
			return len(q.Earlier) - 1 - i
		}
	}
	return len(q.Earlier)
}

func (t *Turn) promptText() string {
	text := strings.TrimSpace(t.Text)
	if len(text) > promptTurn {
		end := promptTurn
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + " ..."
	}
	if t.Role == RoleUser {
		return questionMark + text + "\n"
	}
	return "Answer: " + text + "\n\n"
}

// Listener receives an answer while it is made. Any func may be nil. A slow listener
// delays nobody else.
type Listener struct {
	// Piece receives the answer's text in pieces of whole UTF-8.
	Piece func(text string)
	// Stage receives each stage that ended, by its name in Times.
	Stage func(name string, took time.Duration)
	// Cite receives the answer's citations, all before its text.
	Cite func(Citation)
}

// Outcome says how an answer came about.
type Outcome string

// The outcomes.
const (
	AnswerHit   Outcome = "answer_hit"   // served from the bank
	VerifiedHit Outcome = "verified_hit" // a stored answer, which the model confirmed word by word
	TensorHit   Outcome = "tensor_hit"   // computed, with the stored tensors of at least one chunk
	Miss        Outcome = "miss"         // computed
)

// Asked is the origin of an entry whose question a client asked.
const Asked = "asked"

// Answer is the answer to a question.
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
	Drafts []percached.DraftUse
	Times  Times

	Entry   qabank.ID           // of the bank: served, or stored
	Loaded  []percached.ChunkID // chunks whose tensors were stored
	Made    []percached.ChunkID // chunks whose tensors were computed and are stored now
	Written int64               // bytes of these tensors
	// Notes name the parts that failed and were left out.
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
	Stored int // with stored tensors
	All    int
}

// Tokens counts tokens of the prompt and of the answer. Prompt = Reused + Computed.
type Tokens struct {
	Prompt    int
	Reused    int
	Computed  int
	Generated int
	// Attended adds up, over the tokens that were computed or generated, how many tokens
	// each could attend to, itself included. It is 0 if the run broke off.
	Attended int64
}

// Grounds says which parts of an answer stand in its documents.
type Grounds struct {
	// Grounded: its numbers, dates and names and at least half of its other words stand
	// there. An answer that claims nothing (the documents do not say) is grounded, and so
	// is every answer of the bank. Only grounded answers are stored.
	Grounded bool
	// Spans are where words of the answer stand in its citations.
	Spans []grounded.Span
	// Missing are words of the answer that were looked for and not found.
	Missing []string
	// Instead is the best part of the citations, for an answer that is not grounded.
	Instead *grounded.Excerpt
}

// Times says where an answer's time went. A stage that was skipped has no time. The
// stages do not overlap, except FirstToken.
type Times struct {
	MatchQuestion time.Duration // exact repeat, embedding, nearest questions of the bank
	Retrieve      time.Duration // the question's chunks, and the gate
	MatchTensors  time.Duration // tokens, paths, which of them are stored
	Queue         time.Duration // waiting for the engine
	LoadTensors   time.Duration // stored tensors checked and restored
	Prefill       time.Duration // prompt tokens computed
	FirstToken    time.Duration // from the engine's start to the first token
	Decode        time.Duration // behind the first token
	Capture       time.Duration // tensors copied out
	Store         time.Duration // tensors, answer and history written
	Total         time.Duration
}

// Stage is the name and time of one stage.
type Stage struct {
	Name string
	Took time.Duration
}

// Stages lists the stages in the order in which they take place.
func (t *Times) Stages() []Stage {
	return []Stage{
		{"match_question", t.MatchQuestion},
		{"retrieve", t.Retrieve},
		{"match_tensors", t.MatchTensors},
		{"queue", t.Queue},
		{"load_tensors", t.LoadTensors},
		{"prefill", t.Prefill},
		{"first_token", t.FirstToken},
		{"decode", t.Decode},
		{"capture", t.Capture},
		{"store", t.Store},
		{"total", t.Total},
	}
}
