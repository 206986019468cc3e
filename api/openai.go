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
func (s *Server) chat(w http.ResponseWriter, r *http.Request, text []byte) error {
	q, err := decodeOpenAI[chatRequest](text)
	if err != nil {
		return err
	}
	asked, stops, err := q.asked()
	if err == nil {
		err = s.notTooLarge(text)
	}
	if err != nil {
		return err
	}
	if err := mayAsk(r.Context(), asked.Space); err != nil {
		return err
	}
	c := chatReply{id: exchangeOf(r.Context()).id, created: s.Now().Unix(), asked: asked, stops: stops}
	if q.Stream != nil && *q.Stream {
		o := q.StreamOptions
		c.usage = o != nil && o.IncludeUsage != nil && *o.IncludeUsage
		return s.chatStream(w, r, c)
	}
	a, err := s.answer(r.Context(), asked, Listener{})
	if err != nil {
		return asToolError(asked, err)
	}
	setAnswerHeader(w, a)
	return reply(w, http.StatusOK, c.completion(a))
}

// mayAsk refuses a space that the caller does not see, or that cannot exist. A token for one
// space must not learn which other spaces exist.
func mayAsk(ctx context.Context, space string) error {
	switch {
	case !grantOf(ctx).sees(space):
		return refuse(problemForbidden, "")
	case !isSpaceName(space):
		return refuse(problemModelNotFound, "")
	}
	return nil
}

// asModelError turns a missing space into a missing model, unless it may be the conversation.
func asModelError(q AskRequest, err error) error {
	if fault.KindOf(err) == fault.NotFound && q.Conversation == "" {
		return refuse(problemModelNotFound, "")
	}
	return err
}

// chatStream streams the answer to a chat. It sends nothing before the first piece of text, so
// that an earlier error has a status of its own.
func (s *Server) chatStream(w http.ResponseWriter, r *http.Request, c chatReply) error {
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
	a, _, err := s.answerText(ctx, c.asked, c.stops, func(text string, a Answer) {
		if !begun {
			begun = true
			out.answered(a)
			send(c.role())
		}
		if text != "" {
			send(c.content(text))
		}
	})
	if err != nil {
		return out.fail(asToolError(c.asked, err))
	}
	for _, chunk := range c.lastChunks(a) {
		if err := out.send("", chunk); err != nil {
			return err
		}
	}
	return out.raw("", "[DONE]")
}

// answerText answers a question and sends the text of the reply in pieces: up to a stop, and
// with the documents' own text if the answer is not grounded. It sends at least one piece, which
// may be empty, and returns the whole text. The call of a tool, and a refusal of JSON, are no text.
// With the first piece send gets how the answer comes about.
func (s *Server) answerText(ctx context.Context, asked AskRequest, stops chatStops, send func(text string, how Answer)) (Answer, string, error) {
	var sent, come strings.Builder
	how := Answer{Outcome: "answer_hit"}
	sendText := func(text string) {
		sent.WriteString(text)
		send(text, how)
	}
	a, err := s.answer(ctx, asked, Listener{Computing: func() { how.Outcome = "" }, Token: func(text string) {
		come.WriteString(text)
		if mayCall(asked, come.String()) {
			return
		}
		sendText(stops.ready(come.String())[sent.Len():])
	}})
	if err != nil {
		return a, "", err
	}
	how = a
	if callOf(asked, a) != nil || refusalOf(asked, a) != "" {
		sendText("")
		return a, "", nil
	}
	// A stored answer may arrive without pieces.
	text, _ := stops.cut(a.Answer)
	if rest, ok := strings.CutPrefix(text, sent.String()); ok {
		sendText(rest)
	}
	if instead := fallbackText(asked, a); instead != "" {
		if sent.Len() > 0 { // the sent text stays
			instead = "\n\n" + instead
		}
		sendText(instead)
	}
	return a, sent.String(), nil
}

// chatReply builds the responses to one chat request.
type chatReply struct {
	id      string
	asked   AskRequest
	created int64
	usage   bool // the stream ends with a usage chunk
	stops   chatStops
}

// completion builds the response of a request that does not stream.
func (c chatReply) completion(a Answer) chatCompletion {
	text, _ := c.stops.cut(a.Answer)
	m := chatMessage{Role: "assistant"}
	if call, refusal := callOf(c.asked, a), refusalOf(c.asked, a); call != nil {
		m.Calls = []chatToolCall{c.call(call)}
	} else if refusal != "" {
		m.Refusal = &refusal
	} else {
		m.Content = new(cmp.Or(fallbackText(c.asked, a), text))
	}
	return chatCompletion{
		ID: c.fullID(), Object: "chat.completion", Created: c.created, Model: c.asked.Space,
		Choices: []chatChoice{{Message: m, Finish: c.finishOf(a)}},
		Usage:   usageOf(a), Own: ownOf(c.asked, a),
	}
}

func (c chatReply) fullID() string { return "chatcmpl-" + c.id }

// call builds the call of a tool.
func (c chatReply) call(call *ToolCall) chatToolCall {
	return chatToolCall{ID: "call_" + c.id, Type: "function", Function: chatCallText{call.Tool, string(call.Arguments)}}
}

// chunk builds a piece of a stream; one without choices holds the usage only.
func (c chatReply) chunk(choices ...chatChunkChoice) chatChunk {
	if choices == nil {
		choices = []chatChunkChoice{}
	}
	return chatChunk{ID: c.fullID(), Object: "chat.completion.chunk", Created: c.created, Model: c.asked.Space, Choices: choices}
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
	var chunks []chatChunk
	if call, refusal := callOf(c.asked, a), refusalOf(c.asked, a); call != nil {
		made := c.call(call)
		made.Index = new(0)
		chunks = append(chunks, c.chunk(chatChunkChoice{Delta: chatDelta{Calls: []chatToolCall{made}}}))
	} else if refusal != "" {
		chunks = append(chunks, c.chunk(chatChunkChoice{Delta: chatDelta{Refusal: &refusal}}))
	}
	last := c.chunk(chatChunkChoice{Finish: new(c.finishOf(a))})
	last.Own = new(ownOf(c.asked, a))
	chunks = append(chunks, last)
	if c.usage {
		usage := c.chunk()
		usage.Usage = new(usageOf(a))
		chunks = append(chunks, usage)
	}
	return chunks
}

// finishOf maps an answer's end to OpenAI's finish_reason.
func (c chatReply) finishOf(a Answer) string {
	if _, cut := c.stops.cut(a.Answer); cut {
		return "stop"
	}
	if callOf(c.asked, a) != nil {
		return "tool_calls"
	}
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

func ownOf(asked AskRequest, a Answer) chatOwn {
	if callOf(asked, a) != nil { // it claims nothing
		a.Grounds = Grounds{Grounded: true}
	}
	return chatOwn{
		Outcome: a.Outcome, Refused: a.Refused, Grounds: a.Grounds, UnderstoodAs: a.UnderstoodAs, Citations: a.Citations, Gate: a.Gate, Chunks: a.Chunks, Tokens: a.Tokens, Drafts: a.Drafts,
		Times: a.Times, Joules: a.Joules,
	}
}

// fallbackText is the text sent in place of an answer that is not grounded: the best passage,
// with the likely words in bold. Answers in JSON and with tools are sent as they are.
func fallbackText(asked AskRequest, a Answer) string {
	if a.Grounded || a.Instead == nil || asked.Format != nil || len(asked.Tools)+len(asked.Results) > 0 {
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
	Role    string         `json:"role"`
	Content *string        `json:"content"` // null beside a call or a refusal
	Refusal *string        `json:"refusal"` // in place of JSON, if there are no documents
	Calls   []chatToolCall `json:"tool_calls,omitempty"`
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
	Role    string         `json:"role,omitempty"`
	Content *string        `json:"content,omitempty"`
	Refusal *string        `json:"refusal,omitempty"`
	Calls   []chatToolCall `json:"tool_calls,omitempty"`
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
	UnderstoodAs string             `json:"understood_as,omitempty"`
	Citations    []Citation         `json:"citations"`
	Gate         Gate               `json:"gate"`
	Chunks       Reuse              `json:"chunks"`
	Tokens       Tokens             `json:"tokens"`
	Drafts       []DraftUse         `json:"drafts,omitempty"`
	Times        map[string]float64 `json:"times"`
	Joules       *float64           `json:"joules,omitempty"`
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
