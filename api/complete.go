package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/percached/percached"
)

// Bounds of a typed text, in bytes.
const maxBefore, maxAfter = 32 << 10, 8 << 10

// completeWhole continues a typed text with one JSON reply.
func (s *Server) completeWhole(w http.ResponseWriter, r *http.Request) error {
	req, err := typingRequest(r)
	if err != nil {
		return err
	}
	c, err := s.completion(r.Context(), req, nil)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, c)
}

// completeStream continues a typed text with a stream of events.
func (s *Server) completeStream(w http.ResponseWriter, r *http.Request) error {
	req, err := typingRequest(r)
	if err != nil {
		return err
	}
	out := newEventStream(w, r)
	defer out.close()
	// The model does not wait for the client: there is room for all pieces.
	pieces := make(chan string, 4*percached.MaxTyped)
	sent := make(chan error, 1)
	go func() {
		var err error
		for text := range pieces {
			if err == nil {
				err = out.send("token", token{text})
			}
		}
		sent <- err
	}()
	c, err := s.completion(r.Context(), req, func(text string) error {
		select {
		case pieces <- text:
			return nil
		default:
			return errClientGone
		}
	})
	close(pieces)
	if gone := <-sent; gone != nil {
		return gone
	}
	if err != nil {
		return out.fail(err)
	}
	return out.send("done", c)
}

// typingRequest reads a typed text.
func typingRequest(r *http.Request) (TypingRequest, error) {
	space, text, err := inSpaceBody[Typing](r)
	return TypingRequest{Space: space, Before: text.Before, After: text.After, Alternatives: or(text.Alternatives, 3), MaxTokens: or(text.MaxTokens, 12)}, err
}

func or(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

// completion has the backend continue a text, and limits it to AskTimeout.
func (s *Server) completion(ctx context.Context, t TypingRequest, emit func(string) error) (Completion, error) {
	return inTime(ctx, s, "completion", func(ctx context.Context) (Completion, error) { return s.backend.Complete(ctx, t, emit) })
}

// Typing is the body of a complete request: a text that a user types.
type Typing struct {
	Before       string `json:"before"`
	After        string `json:"after,omitempty"`
	Alternatives *int   `json:"alternatives,omitempty"` // default 3
	MaxTokens    *int   `json:"max_tokens,omitempty"`   // of each; default 12
}

func (in *Typing) check() error {
	var faults []FieldError
	if strings.TrimSpace(in.Before) == "" {
		faults = append(faults, FieldError{"/before", "must not be empty"})
	}
	if len(in.Before) > maxBefore {
		faults = append(faults, FieldError{"/before", "must have at most 32768 bytes; send the part next to the cursor"})
	}
	if len(in.After) > maxAfter {
		faults = append(faults, FieldError{"/after", "must have at most 8192 bytes; send the part next to the cursor"})
	}
	if n := or(in.Alternatives, 1); n < 1 || n > percached.MaxAlternatives {
		faults = append(faults, FieldError{"/alternatives", "must be 1 to 8"})
	}
	if n := or(in.MaxTokens, 1); n < 1 || n > percached.MaxTyped {
		faults = append(faults, FieldError{"/max_tokens", "must be 1 to 32"})
	}
	if len(faults) > 0 {
		return invalidFields(faults...)
	}
	return nil
}

// TypingRequest is a typed text with its space.
type TypingRequest struct {
	Space, Before, After    string
	Alternatives, MaxTokens int
}

// Completion is the reply to a complete request.
type Completion struct {
	Candidates []Candidate      `json:"candidates"` // the most probable first
	Citations  []Citation       `json:"citations"`
	Tokens     CompletionTokens `json:"tokens"`
}

// Candidate is a possible continuation.
type Candidate struct {
	Text       string  `json:"text"`
	LogProb    float64 `json:"logprob"`
	FirstToken float64 `json:"first_token_logprob"`
}

// CompletionTokens counts tokens of the prompt and of the candidates.
type CompletionTokens struct {
	Prompt    int `json:"prompt"`
	Reused    int `json:"reused"`
	Spliced   int `json:"spliced"`
	Computed  int `json:"computed"`
	Generated int `json:"generated"`
}
