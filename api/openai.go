package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// chat answers POST /v1/chat/completions. The model names the space; the last message is the
// question.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	q, err := decode[chatRequest](r, false)
	if err != nil {
		return err
	}
	asked, err := q.asked()
	if err != nil {
		return err
	}
	// A token for one space must not learn which other spaces exist.
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

// asModelError turns a missing space into a missing model.
func asModelError(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return refuse(problemModelNotFound, "")
	}
	return err
}

// chatStream streams the answer to a chat. It sends nothing before the first piece of text, so
// that an earlier error has a status of its own.
func (s *Server) chatStream(w http.ResponseWriter, r *http.Request, asked AskRequest, c chatReply) error {
	out := newEventStream(w, r)
	defer out.close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	send := func(chunk chatChunk) {
		if out.send("", chunk) != nil {
			stop() // the client disconnected
		}
	}
	begun := false
	var sent strings.Builder
	sendText := func(text string) {
		if !begun {
			begun = true
			send(c.role())
		}
		if text != "" {
			sent.WriteString(text)
			send(c.content(text))
		}
	}
	a, err := s.answer(ctx, asked, Listener{Token: sendText})
	if err != nil {
		return out.fail(asModelError(err))
	}
	// A stored answer may arrive without pieces.
	if rest, ok := strings.CutPrefix(a.Answer, sent.String()); ok {
		sendText(rest)
	}
	if instead := fallbackText(a); instead != "" {
		if sent.Len() > 0 { // the sent text stays
			instead = "\n\n" + instead
		}
		sendText(instead)
	}
	for _, chunk := range c.lastChunks(a) {
		if err := out.send("", chunk); err != nil {
			return err
		}
	}
	return out.raw("", "[DONE]")
}

// chatReply builds the responses to one chat request.
type chatReply struct {
	id, model string
	created   int64
	usage     bool // the stream ends with a usage chunk
}

// completion builds the response of a request that does not stream.
func (c chatReply) completion(a Answer) chatCompletion {
	return chatCompletion{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model,
		Choices: []chatChoice{{Message: chatMessage{Role: "assistant", Content: cmp.Or(fallbackText(a), a.Answer)}, Finish: finishOf(a)}},
		Usage:   usageOf(a), Own: ownOf(a),
	}
}

// chunk builds a piece of a stream; one without choices holds the usage only.
func (c chatReply) chunk(choices ...chatChunkChoice) chatChunk {
	if choices == nil {
		choices = []chatChunkChoice{}
	}
	return chatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: choices}
}

// role builds the first chunk of a stream.
func (c chatReply) role() chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Role: "assistant", Content: new("")}})
}

// content builds a chunk with a piece of the answer.
func (c chatReply) content(text string) chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Content: &text}})
}

// lastChunks builds the chunks after the text: the finish reason, and the usage if the client
// asked for it.
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

// finishOf maps an answer's end to OpenAI's finish_reason.
func finishOf(a Answer) string {
	if a.Finish == "length" || a.Finish == "thought" {
		return "length"
	}
	return "stop"
}

// usageOf counts tokens. Tokens of stored tensors count as cached. A stored answer has no
// tokens.
func usageOf(a Answer) chatUsage {
	u := chatUsage{Prompt: a.Tokens.Prompt, Completion: a.Tokens.Generated, Total: a.Tokens.Prompt + a.Tokens.Generated}
	u.Details.Cached = a.Tokens.Reused
	return u
}

func ownOf(a Answer) chatOwn {
	return chatOwn{
		Outcome: a.Outcome, Refused: a.Refused, Grounds: a.Grounds, Citations: a.Citations, Gate: a.Gate, Chunks: a.Chunks, Tokens: a.Tokens, Drafts: a.Drafts,
		Times: a.Times,
	}
}

// fallbackText is the text sent in place of an answer that is not grounded: the best passage,
// with the likely words in bold.
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

// chatCompletion is the response to a chat, in OpenAI's format.
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
	Logprobs *struct{}   `json:"logprobs"` // always null; strict clients require the field
	Finish   string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Refusal *struct{} `json:"refusal"` // always null; "the documents do not say" counts as an answer
}

// chatChunk is one piece of a streamed response.
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

// chatOwn holds what percached adds to OpenAI's response.
type chatOwn struct {
	Outcome string `json:"outcome"`
	Refused bool   `json:"refused"`
	Grounds
	Citations []Citation         `json:"citations"`
	Gate      Gate               `json:"gate"`
	Chunks    Reuse              `json:"chunks"`
	Tokens    Tokens             `json:"tokens"`
	Drafts    []DraftUse         `json:"drafts,omitempty"`
	Times     map[string]float64 `json:"times"`
}

// embeddingList is the response to an embedding request, in OpenAI's format.
type embeddingList struct {
	Object string          `json:"object"` // list
	Data   []embeddingItem `json:"data"`
	Model  string          `json:"model"`
	Usage  embeddingUsage  `json:"usage"`
}

type embeddingItem struct {
	Object    string `json:"object"` // embedding
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or a base64 string
}

// embeddingUsage is always zero: the embedder counts no tokens, but OpenAI's clients require
// the field.
type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// modelList lists the valid model names: spaces and the embedder.
type modelList struct {
	Object string      `json:"object"` // list
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`  // model
	Created int64  `json:"created"` // start of the daemon; a space has no creation time
	OwnedBy string `json:"owned_by"`
}
