package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/percached/percached"
)

// orStream serves a request as a stream of events if the client prefers one, and otherwise as
// one JSON reply.
func orStream(whole, stream handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		streams, err := wantsEvents(r)
		switch {
		case err != nil:
			return err
		case streams:
			return stream(w, r)
		}
		return whole(w, r)
	}
}

// askWhole answers a question with one JSON reply.
func (s *Server) askWhole(w http.ResponseWriter, r *http.Request) error {
	asked, err := askRequest(r)
	if err != nil {
		return err
	}
	a, err := s.answer(r.Context(), asked, Listener{})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, a)
}

// askStream answers a question with a stream of events.
func (s *Server) askStream(w http.ResponseWriter, r *http.Request) error {
	asked, err := askRequest(r)
	if err != nil {
		return err
	}
	out := newEventStream(w, r)
	defer out.close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	var held *Stage // the first stage is held back, so that a question refused after it still gets its own status
	// If the client is gone, stop the work.
	send := func(event string, v any) error {
		var err error
		if held != nil {
			err, held = out.send("stage", *held), nil
		}
		if err == nil {
			err = out.send(event, v)
		}
		if err != nil {
			stop()
		}
		return err
	}
	begun := false
	a, err := s.answer(ctx, asked, Listener{
		Stage: func(st Stage) {
			if !begun {
				begun, held = true, &st
				return
			}
			_ = send("stage", st)
		},
		Token:    func(text string) { _ = send("token", token{text}) },
		Citation: func(c Citation) { _ = send("citation", c) },
	})
	if err != nil {
		return out.fail(err)
	}
	return send("done", a) // a client that leaves after it has the whole answer
}

// askRequest reads a question.
func askRequest(r *http.Request) (AskRequest, error) {
	space, q, err := inSpaceBody[Question](r)
	return AskRequest{Space: space, Question: q}, err
}

// inSpaceBody returns the space and the body of a request.
func inSpaceBody[T any](r *http.Request) (space string, body T, err error) {
	in, err := params[InSpace](r)
	if err == nil {
		body, err = decode[T](r, true)
	}
	return in.Space, body, err
}

// token is a piece of an answer.
type token struct {
	Text string `json:"text"`
}

// answer asks the backend and limits it to AskTimeout.
func (s *Server) answer(ctx context.Context, q AskRequest, l Listener) (Answer, error) {
	grant := grantOf(ctx)
	a, err := inTime(ctx, s, "question", func(ctx context.Context) (Answer, error) { return s.backend.Ask(ctx, q, grant.redactListener(l)) })
	if err != nil {
		return a, err
	}
	return grant.redactAnswer(a), nil
}

// inTime limits what the model computes for a client to AskTimeout.
func inTime[T any](ctx context.Context, s *Server, what string, compute func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, s.AskTimeout)
	defer cancel()
	out, err := compute(limited)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = errClientGone // the client left: the backend did not fail
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		err = refuse(problemTimeout, "the %s took longer than the limit of %v", what, s.AskTimeout)
	}
	return out, err
}

// Question is the body of an ask request.
type Question struct {
	Question string `json:"question"`
	// Bypass ignores stored answers. The computed answer is stored if the bank has none.
	Bypass bool `json:"bypass,omitempty"`
	// Refresh computes the answer anew and replaces the stored one.
	Refresh bool `json:"refresh,omitempty"`
	// Threshold is the least similarity at which a stored answer is served.
	Threshold *float64 `json:"threshold,omitempty"`
	// MaxWrong is the highest share of wrong answers among those served for a question in other
	// words.
	MaxWrong *float64 `json:"max_wrong,omitempty"`
	// MaxAge is the greatest age in seconds of a stored answer that is served; 0 means any.
	MaxAge float64 `json:"max_age_seconds,omitempty"`
	// Conversation is the id of a stored conversation. The question may lean on its turns, and
	// is added to it with its answer.
	Conversation string `json:"conversation,omitempty"`
}

// AskRequest is a question with its space and its conversation.
type AskRequest struct {
	Space string
	Question
	// Earlier holds the turns before the question. If the question leans on them and it is not
	// certain what it means, the bank is not used.
	Earlier      []Turn
	Instructions string  // of the client
	MaxTokens    int     // of the answer; 0: the limit of the service
	Format       *Format // of the answer; nil: text
	// Tools are what the answer may call, or must if MustCall is set.
	Tools    []Tool
	MustCall bool
	Results  []ToolResult // what tools returned to the question
}

// Turn is one message of a conversation.
type Turn struct {
	Role string // user or assistant
	Text string
}

// Listener receives parts of an answer as they are ready. Any func may be nil. The funcs are
// called one at a time, and only until Ask returns.
type Listener struct {
	Stage    func(Stage)
	Token    func(text string)
	Citation func(Citation)
}

// Stage is a stage of the answer that has ended.
type Stage struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// Answer is the reply to a question.
type Answer struct {
	Answer  string `json:"answer"`
	Outcome string `json:"outcome"` // answer_hit, verified_hit, tensor_hit, miss
	Refused bool   `json:"refused"` // the answer says that the documents do not contain it
	Grounds
	// UnderstoodAs is the question that was answered, if it is not the one asked.
	UnderstoodAs string     `json:"understood_as,omitempty"`
	Entry        string     `json:"entry,omitempty"` // the entry of the bank that was served or stored
	Citations    []Citation `json:"citations"`
	Gate         Gate       `json:"gate"`
	Chunks       Reuse      `json:"chunks"`
	Tokens       Tokens     `json:"tokens"`
	Drafts       []DraftUse `json:"drafts,omitempty"` // of the sources that were used
	Memory       *Memory    `json:"memory,omitempty"` // absent: the space has no facts
	Finish       string     `json:"finish,omitempty"` // end, stop, length, loop, thought
	// Times holds milliseconds by stage. Each name ends in _ms.
	Times map[string]float64 `json:"times"`
	// Joules is the energy of the question; nil: not known. See StatusEnergy.
	Joules *float64 `json:"joules,omitempty"`
	Notes  []string `json:"notes,omitempty"` // steps that failed and were skipped
}

// Grounds says which words of an answer its citations contain.
type Grounds struct {
	Grounded bool     `json:"grounded"`
	Spans    []Span   `json:"spans,omitempty"`   // words of the answer that a citation contains
	Missing  []string `json:"missing,omitempty"` // words of the answer that no citation contains
	Instead  *Instead `json:"instead,omitempty"` // what to show in place of an answer that is not grounded
}

// Span locates a word of an answer in a citation's quote or about, in characters.
type Span struct {
	Word     string `json:"word"`
	Citation int    `json:"citation"`
	In       string `json:"in"` // InQuote or InAbout
	Start    int    `json:"start"`
	End      int    `json:"end"`
}

// The fields of a citation that a Span points into.
const (
	InQuote = "quote"
	InAbout = "about"
)

// Instead is the part of a citation's quote that is shown in place of an answer.
type Instead struct {
	Citation int    `json:"citation"`
	Text     string `json:"text"`
	Marks    []Mark `json:"marks"` // the words that may answer the question
}

// Mark is a range of a text, in characters.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Citation is a chunk in the prompt of an answer.
type Citation struct {
	Document percached.DocumentID `json:"document"`
	Chunk    percached.ChunkID    `json:"chunk"`
	About    string               `json:"about"`
	Quote    string               `json:"quote"`
}

// Gate says why a stored answer was served or refused.
type Gate struct {
	Why        string       `json:"why"`
	Similarity float64      `json:"similarity,omitempty"`
	Considered []Considered `json:"considered,omitempty"`
}

// Considered is a stored question that the gate tested.
type Considered struct {
	Entry      string  `json:"entry"`
	Question   string  `json:"question"`
	Exact      bool    `json:"exact"`
	Similarity float64 `json:"similarity"`
	Served     bool    `json:"served"`
	Tests      []Test  `json:"tests"`
}

// Test is one test of the gate.
type Test struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail,omitempty"`
}

// Reuse counts the chunks of the prompt, and those whose tensors were stored.
type Reuse struct {
	Stored int            `json:"stored"`
	All    int            `json:"all"`
	Packed int            `json:"packed,omitempty"`
	Form   percached.Form `json:"form,omitzero"` // q8 or q4, if any are packed
}

// Tokens counts tokens of the prompt and of the answer.
type Tokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
	// Attended is the number of tokens visible to each computed or generated token, summed.
	Attended int64 `json:"attended"`
}

// DraftUse counts the tokens that drafts of one source proposed, and those that the model
// accepted.
type DraftUse struct {
	Source   string `json:"source"`  // stored, near, prompt
	Batches  int    `json:"batches"` // in which tokens of the source were checked
	Proposed int    `json:"proposed"`
	Accepted int    `json:"accepted"`
}

// Record is one question of the history.
type Record struct {
	Asked    time.Time           `json:"asked"`
	Question string              `json:"question"`
	Outcome  string              `json:"outcome"`
	Chunks   []percached.ChunkID `json:"chunks"`
	TookMS   float64             `json:"took_ms"`
	// Kept with the configuration key trajectories.
	Answer string `json:"answer,omitempty"`
	Memory *bool  `json:"memory,omitempty"` // whether facts were needed; nil: the space had none
	Wrong  bool   `json:"wrong,omitempty"`  // the user said so
}

// Records lists questions of the history, the latest last.
type Records struct {
	Questions []Record `json:"questions"`
	Next      string   `json:"next,omitempty"` // of the earlier questions
}

// Cleared counts the removed items.
type Cleared struct {
	Removed int `json:"removed"`
	// CleanedUp says that no file of the data folder contains the removed data.
	CleanedUp bool `json:"cleaned_up"`
}

// ClearHistoryRequest asks for the deletion of a space's history.
type ClearHistoryRequest struct {
	InSpace
	// CleanUp waits until the bytes are removed from the disk.
	CleanUp bool `query:"clean_up"`
}
