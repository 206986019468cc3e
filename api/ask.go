package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/percached/percached"
)

// ask answers a question, whole or while it comes.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	streams, err := wantsEvents(r)
	if err != nil {
		return err
	}
	q, err := decode[Question](r, true)
	if err != nil {
		return err
	}
	asked := AskRequest{Space: in.Space, Question: q}
	if !streams {
		a, err := s.answer(r.Context(), asked, Listener{})
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, a)
	}
	out := newEventStream(w, r)
	defer out.close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	var held *Stage // the first: a question that is refused behind it has its own status
	// A client that is gone is asked for nothing more.
	tell := func(event string, v any) {
		first := held
		held = nil
		if first != nil && out.send("stage", *first) != nil || out.send(event, v) != nil {
			stop()
		}
	}
	begun := false
	a, err := s.answer(ctx, asked, Listener{
		Stage: func(st Stage) {
			if !begun {
				begun, held = true, &st
				return
			}
			tell("stage", st)
		},
		Token:    func(text string) { tell("token", token{text}) },
		Citation: func(c Citation) { tell("citation", c) },
	})
	if err != nil {
		return out.fail(err)
	}
	tell("done", a)
	return ctx.Err()
}

// token is a piece of an answer.
type token struct {
	Text string `json:"text"`
}

// answer asks the backend, which has AskTimeout for it.
func (s *Server) answer(ctx context.Context, q AskRequest, l Listener) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, s.AskTimeout)
	defer cancel()
	grant := grantOf(ctx)
	a, err := s.backend.Ask(limited, q, grant.redactListener(l))
	switch {
	case err == nil:
		return grant.redactAnswer(a), nil
	case ctx.Err() != nil:
		return a, errClientGone // what the backend says of that is no failure
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return a, refuse(problemTimeout, "a question may take %v", s.AskTimeout)
	}
	return a, err
}

// Question is what somebody asks.
type Question struct {
	Question string `json:"question"`
	// Bypass leaves stored answers alone; what is computed is stored if the bank
	// has none.
	Bypass bool `json:"bypass,omitempty"`
	// Refresh computes the answer anew, in place of the stored one.
	Refresh bool `json:"refresh,omitempty"`
	// Threshold is the similarity from which on a stored answer may be served.
	Threshold *float64 `json:"threshold,omitempty"`
	// MaxAge is the age in seconds beyond which a stored answer is not served;
	// 0: any.
	MaxAge float64 `json:"max_age_seconds,omitempty"`
}

// Asked is a question with all that belongs to it.
type AskRequest struct {
	Space string
	Question
	// Earlier are the turns before the question. With any, or with
	// Instructions, the bank has no part in the answer.
	Earlier      []Turn
	Instructions string // the client's own
	MaxTokens    int    // of the answer; 0: the service's own
}

// Turn is what was said in a conversation.
type Turn struct {
	Role string // user or assistant
	Text string
}

// Listener hears of an answer while it comes. Any func may be nil. They are called
// one at a time, and none when Ask has returned.
type Listener struct {
	Stage    func(Stage)
	Token    func(text string)
	Citation func(Citation)
}

// Stage is a stage of the answer that ended.
type Stage struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// Answer is what a question gets.
type Answer struct {
	Answer  string `json:"answer"`
	Outcome string `json:"outcome"` // answer_hit, tensor_hit, miss
	Refused bool   `json:"refused"` // it says that the documents do not say
	Grounds
	Entry     string     `json:"entry,omitempty"` // of the bank: served, or made
	Citations []Citation `json:"citations"`
	Gate      Gate       `json:"gate"`
	Chunks    Reuse      `json:"chunks"`
	Tokens    Tokens     `json:"tokens"`
	Finish    string     `json:"finish,omitempty"` // end, stop, length, loop, thought
	// Times are milliseconds by stage, each named with _ms behind it.
	Times map[string]float64 `json:"times"`
	Notes []string           `json:"notes,omitempty"` // what did not work and was done without
}

// Grounds say what of an answer stands in its citations.
type Grounds struct {
	Grounded bool     `json:"grounded"`
	Spans    []Span   `json:"spans,omitempty"`   // words of the answer that do
	Missing  []string `json:"missing,omitempty"` // words that were looked for and do not
	Instead  *Instead `json:"instead,omitempty"` // what to show for an answer that is not grounded
}

// Span is where a word of an answer stands: characters of a citation's quote or about.
type Span struct {
	Word     string `json:"word"`
	Citation int    `json:"citation"`
	In       string `json:"in"` // InQuote or InAbout
	Start    int    `json:"start"`
	End      int    `json:"end"`
}

// The texts of a citation.
const (
	InQuote = "quote"
	InAbout = "about"
)

// Instead is a part of a citation's quote.
type Instead struct {
	Citation int    `json:"citation"`
	Text     string `json:"text"`
	Marks    []Mark `json:"marks"` // the words that may answer the question
}

// Mark is a part of a text, in characters.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Citation is a chunk that an answer rests on.
type Citation struct {
	Document percached.DocumentID `json:"document"`
	Chunk    percached.ChunkID    `json:"chunk"`
	About    string               `json:"about"`
	Quote    string               `json:"quote"`
}

// Gate says why a stored answer was served, or why none was.
type Gate struct {
	Why        string       `json:"why"`
	Similarity float64      `json:"similarity,omitempty"`
	Considered []Considered `json:"considered,omitempty"`
}

// Considered is a stored question that went before the gate.
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

// Reuse counts chunks of the prompt.
type Reuse struct {
	Stored int `json:"stored"`
	All    int `json:"all"`
}

// Tokens counts tokens of the prompt and of the answer.
type Tokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
	// Attended adds up how many tokens each of those computed and generated could see.
	Attended int64 `json:"attended"`
}

// Record is a question that was asked.
type Record struct {
	Asked    time.Time           `json:"asked"`
	Question string              `json:"question"`
	Outcome  string              `json:"outcome"`
	Chunks   []percached.ChunkID `json:"chunks"`
	TookMS   float64             `json:"took_ms"`
}

// Records are questions that were asked, the latest last.
type Records struct {
	Questions []Record `json:"questions"`
}

// Recent asks for the latest of a space.
type Recent struct {
	InSpace
	Limit int `query:"limit"` // 1 to 1000; default 100
}

// Cleared counts what was removed.
type Cleared struct {
	Removed int `json:"removed"`
	// CleanedUp says that no file of the data folder holds any of it any more.
	CleanedUp bool `json:"cleaned_up"`
}

// Clearing is a history that is to be forgotten.
type ClearHistoryRequest struct {
	InSpace
	// CleanUp waits until the bytes have left the disk, too.
	CleanUp bool `query:"clean_up"`
}
