package api

import (
	"context"
	"errors"
	"net/http"
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
	asked := Asked{Space: in.Space, Question: q}
	if !streams {
		a, err := s.answer(r.Context(), asked, Listener{})
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, a)
	}
	out := newStream(w, r)
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
func (s *Server) answer(ctx context.Context, q Asked, l Listener) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, s.AskTimeout)
	defer cancel()
	grant := grantOf(ctx)
	a, err := s.backend.Ask(limited, q, grant.listener(l))
	switch {
	case err == nil:
		return grant.answer(a), nil
	case ctx.Err() != nil:
		return a, errGone // what the backend says of that is no failure
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return a, refuse(problemTimeout, "a question may take %v", s.AskTimeout)
	}
	return a, err
}
