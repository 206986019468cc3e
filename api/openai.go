package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// chat answers POST /v1/chat/completions. The last message is asked in the space
// that the request names as its model.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	q, err := decode[chatRequest](r, false)
	if err != nil {
		return err
	}
	asked, err := q.asked()
	if err != nil {
		return err
	}
	// Who sees one space alone learns nothing of other names, not even whether
	// they are taken.
	if !grantOf(r.Context()).sees(asked.Space) {
		return refuse(problemForbidden, "")
	}
	if !spaceName(asked.Space) {
		return refuse(problemModelNotFound, "")
	}
	c := chatReply{id: "chatcmpl-" + exchangeOf(r.Context()).id, created: s.Now().Unix(), model: asked.Space}
	if q.Stream != nil && *q.Stream {
		o := q.StreamOptions
		c.usage = o != nil && o.IncludeUsage != nil && *o.IncludeUsage
		return s.chatStream(w, r, asked, c)
	}
	a, err := s.answer(r.Context(), asked, Listener{})
	if err != nil {
		return asModel(err)
	}
	return reply(w, http.StatusOK, c.whole(a))
}

// asModel says that a model is not there where a space is not.
func asModel(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return refuse(problemModelNotFound, "")
	}
	return err
}

// chatStream answers a chat while the answer comes. Nothing is sent before there
// is some of it: an error before that has a status of its own.
func (s *Server) chatStream(w http.ResponseWriter, r *http.Request, asked Asked, c chatReply) error {
	out := newStream(w, r)
	defer out.close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	send := func(chunk chatChunk) {
		if out.send("", chunk) != nil {
			stop() // a client that is gone is asked for nothing more
		}
	}
	begun := false
	var told strings.Builder
	say := func(text string) {
		if !begun {
			begun = true
			send(c.role())
		}
		if text != "" {
			told.WriteString(text)
			send(c.content(text))
		}
	}
	a, err := s.answer(ctx, asked, Listener{Token: say})
	if err != nil {
		return out.fail(asModel(err))
	}
	// A stored answer need not come in pieces.
	if rest, ok := strings.CutPrefix(a.Answer, told.String()); ok {
		say(rest)
	}
	if instead := unsure(a); instead != "" {
		if told.Len() > 0 { // that cannot be taken back
			instead = "\n\n" + instead
		}
		say(instead)
	}
	for _, chunk := range c.ends(a) {
		if err := out.send("", chunk); err != nil {
			return err
		}
	}
	return out.raw("", "[DONE]")
}
