package answer

import (
	"slices"
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

// promptTurn is how many bytes of one turn the prompt contains; the rest is left out.
const promptTurn = 1 << 10

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
	// Earlier are the turns of the conversation before the question, oldest first. A
	// question that surely leans on none, or on what can be put in its place, is answered
	// without them. Else the latest stand in the prompt before the chunks (see talk), and
	// the bank has no part in the answer.
	Earlier []Turn
	// Conversation, unless zero, is the stored conversation that the question belongs to.
	// Its turns are Earlier, and the question and its answer are added to it.
	Conversation percached.ChunkID
	// Instructions are those of the client, beside the service's own. They stand in the
	// prompt before the chunks, and their tensors are stored like a chunk's. The bank
	// serves only what was answered under the same.
	Instructions string
	// Grammar, in GBNF, is what the answer must be a text of: JSON. The bank keeps answers
	// of different grammars apart. Only the values of the JSON must stand in the documents.
	Grammar string
	// MaxTokens bounds the answer below the service's own bound; 0: no further bound. A
	// stored answer is returned whole.
	MaxTokens int
	// Settings replace those of the space for this question.
	Settings percached.Settings
	// MaxAge, unless zero, is the age beyond which a stored answer is not served.
	MaxAge time.Duration

	asked   string              // what the client asked, if Text is what it was understood as
	tells   bool                // something that the user stated in Earlier may have the answer
	summary string              // of the turns that the window no longer holds
	read    uint64              // the space's count of changes when the conversation was read
	said    []percached.ChunkID // that the conversation's turns rest on
	alive   []percached.Chunk   // those of them that were there when the conversation was read
	// instructed says that the instructions are those of the stored conversation.
	instructed bool
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
	return !q.FollowsUp && len(q.Earlier) == 0 && !qabank.FollowUp(q.Text)
}

// searchTexts are embedded and searched for: the question, and before it, if it has earlier
// turns, the question preceded by the user's earlier ones as long as they lean on still
// earlier ones.
func (q *Question) searchTexts() []string {
	if whole := q.wholeText(); whole != q.Text {
		return []string{whole, q.Text}
	}
	return []string{q.Text}
}

func (q *Question) wholeText() string {
	text, leaning := q.Text, len(q.Earlier) > 0 && leans(q.Text)
	for i := len(q.Earlier) - 1; i >= 0 && leaning; i-- {
		t := q.Earlier[i]
		if t.Role != RoleUser {
			continue
		}
		if len(t.Text)+len(text) > maxQuestion {
			break
		}
		text, leaning = t.Text+"\n"+text, leans(t.Text)
	}
	return text
}

// promptText is the question in the prompt, marked as one if marked is set or turns precede
// it.
func (q *Question) promptText(marked bool) string {
	if marked || len(q.Earlier) > 0 {
		return questionMark + q.Text
	}
	return q.Text
}

// questionWords begin a question that may lack its question mark.
var questionWords = strings.Fields("who whom whose when where why how what which who's when's where's how's what's " +
	"am are can could did do does had has have is may might must shall should was were will would")

// isRequest reports whether a text asks for something, such as a summary, without a question.
func isRequest(text string) bool {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(text, "’", "'")))
	if len(words) == 0 {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(words[len(words)-1])
	return !strings.ContainsRune("?？؟", last) && !slices.Contains(questionWords, words[0])
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
	return "Answer: " + text + "\n"
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
	Memory *Memory // nil: the space has no facts about the user
	Times  Times
	Joules *float64 // nil: not known

	UnderstoodAs string // the question that was answered, if it is not the one asked

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
	// Packed of the stored are not exact, so the answer may differ from the one without
	// them. Form is the least exact of their forms.
	Packed int
	Form   percached.Form
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
