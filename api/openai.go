package api

import (
	"cmp"
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
	if !isSpaceName(asked.Space) {
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
		return asModelError(err)
	}
	return reply(w, http.StatusOK, c.completion(a))
}

// asModel says that a model is not there where a space is not.
func asModelError(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return refuse(problemModelNotFound, "")
	}
	return err
}

// chatStream answers a chat while the answer comes. Nothing is sent before there
// is some of it: an error before that has a status of its own.
func (s *Server) chatStream(w http.ResponseWriter, r *http.Request, asked AskRequest, c chatReply) error {
	out := newEventStream(w, r)
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
		return out.fail(asModelError(err))
	}
	// A stored answer need not come in pieces.
	if rest, ok := strings.CutPrefix(a.Answer, told.String()); ok {
		say(rest)
	}
	if instead := fallbackText(a); instead != "" {
		if told.Len() > 0 { // that cannot be taken back
			instead = "\n\n" + instead
		}
		say(instead)
	}
	for _, chunk := range c.lastChunks(a) {
		if err := out.send("", chunk); err != nil {
			return err
		}
	}
	return out.raw("", "[DONE]")
}

// chatReply makes what is answered to one chat.
type chatReply struct {
	id, model string
	created   int64
	usage     bool // a stream ends with the usage
}

// whole is an answer as a whole.
func (c chatReply) completion(a Answer) chatCompletion {
	return chatCompletion{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model,
		Choices: []chatChoice{{Message: chatMessage{Role: "assistant", Content: cmp.Or(fallbackText(a), a.Answer)}, Finish: finishOf(a)}},
		Usage:   usageOf(a), Own: ownOf(a),
	}
}

// chunk is a piece of a stream; one without choices has the usage alone.
func (c chatReply) chunk(choices ...chatChunkChoice) chatChunk {
	if choices == nil {
		choices = []chatChunkChoice{}
	}
	return chatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: choices}
}

// role begins a stream.
func (c chatReply) role() chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Role: "assistant", Content: new("")}})
}

// content is a piece of the answer's text.
func (c chatReply) content(text string) chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Content: &text}})
}

// ends are the chunks behind the text: why it ended, and how much it was if the
// client wants to know.
func (c chatReply) lastChunks(a Answer) []chatChunk {
	last := c.chunk(chatChunkChoice{Finish: new(finishOf(a))})
	last.Own = new(ownOf(a))
	if !c.usage {
		return []chatChunk{last}
	}
	usage := c.chunk()
	usage.Usage = new(usageOf(a))
	return []chatChunk{last, usage}
}

// finishOf says why an answer ended. That it is complete has one name.
func finishOf(a Answer) string {
	if a.Finish == "length" || a.Finish == "thought" {
		return "length"
	}
	return "stop"
}

// usageOf counts tokens: those taken from stored tensors are cached, and those of
// a stored answer are none.
func usageOf(a Answer) chatUsage {
	u := chatUsage{Prompt: a.Tokens.Prompt, Completion: a.Tokens.Generated, Total: a.Tokens.Prompt + a.Tokens.Generated}
	u.Details.Cached = a.Tokens.Reused
	return u
}

func ownOf(a Answer) chatOwn {
	return chatOwn{
		Outcome: a.Outcome, Refused: a.Refused, Grounds: a.Grounds, Citations: a.Citations, Gate: a.Gate, Chunks: a.Chunks, Tokens: a.Tokens, Times: a.Times,
	}
}

// unsure is what is said instead of an answer that is not grounded: the best passage,
// with the words that may answer the question in bold type.
func fallbackText(a Answer) string {
	if a.Grounded || a.Instead == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("Not sure; the documents say:\n\n")
	text, at := []rune(a.Instead.Text), 0
	for _, m := range a.Instead.Marks {
		b.WriteString(string(text[at:m.Start]) + "**" + string(text[m.Start:m.End]) + "**")
		at = m.End
	}
	b.WriteString(string(text[at:]))
	return b.String()
}

// chatCompletion is the answer to a chat, in the words of OpenAI's interface.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`  // chat.completion
	Created int64        `json:"created"` // seconds since 1970
	Model   string       `json:"model"`   // the space
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
	Own     chatOwn      `json:"percached"`
}

type chatChoice struct {
	Index    int         `json:"index"`
	Message  chatMessage `json:"message"`
	Logprobs *struct{}   `json:"logprobs"` // always null; strict clients want it there
	Finish   string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Refusal *struct{} `json:"refusal"` // always null: that the documents do not say is an answer
}

// chatChunk is a piece of a chat's answer on its way.
type chatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"` // chat.completion.chunk
	Created int64             `json:"created"`
	Model   string            `json:"model"`
	Choices []chatChunkChoice `json:"choices"`
	Usage   *chatUsage        `json:"usage,omitempty"`
	Own     *chatOwn          `json:"percached,omitempty"`
}

type chatChunkChoice struct {
	Index    int       `json:"index"`
	Delta    chatDelta `json:"delta"`
	Logprobs *struct{} `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chatOwn is what percached says of an answer besides.
type chatOwn struct {
	Outcome string `json:"outcome"`
	Refused bool   `json:"refused"`
	Grounds
	Citations []Citation         `json:"citations"`
	Gate      Gate               `json:"gate"`
	Chunks    Reuse              `json:"chunks"`
	Tokens    Tokens             `json:"tokens"`
	Times     map[string]float64 `json:"times"`
}

// embeddingList is the answer to an embedding, in the words of OpenAI's interface.
type embeddingList struct {
	Object string          `json:"object"` // list
	Data   []embeddingItem `json:"data"`
	Model  string          `json:"model"`
	Usage  embeddingUsage  `json:"usage"`
}

type embeddingItem struct {
	Object    string `json:"object"` // embedding
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or text in base64
}

// embeddingUsage is zero: the embedder counts no tokens. OpenAI's clients want it there.
type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// modelList lists what can be named as a model: spaces, and the embedder.
type modelList struct {
	Object string      `json:"object"` // list
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`  // model
	Created int64  `json:"created"` // when the daemon began: a space does not say
	OwnedBy string `json:"owned_by"`
}
