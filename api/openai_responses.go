package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// responses answers POST /v1/responses, OpenAI's newer interface for the same as a chat.
func (s *Server) responses(w http.ResponseWriter, r *http.Request, text []byte) error {
	q, err := decodeOpenAI[responsesRequest](text)
	if err != nil {
		return err
	}
	asked, err := q.asked()
	if err == nil {
		err = s.notTooLarge(text)
	}
	if err != nil {
		return err
	}
	if err := mayAsk(r.Context(), asked.Space); err != nil {
		return err
	}
	c := responsesReply{id: exchangeOf(r.Context()).id, created: s.Now().Unix(), asked: asked, format: textFormat{Type: "text"}}
	if q.Text != nil && q.Text.Format != nil {
		c.format = *q.Text.Format
	}
	if q.Stream != nil && *q.Stream {
		return s.responsesStream(w, r, c)
	}
	a, err := s.answer(r.Context(), asked, Listener{})
	if err != nil {
		return asToolError(asked, err)
	}
	setAnswerHeader(w, a)
	return reply(w, http.StatusOK, c.complete(a))
}

// responsesStream streams the events of a response. Like a chat's, it sends nothing before the
// first piece of text.
func (s *Server) responsesStream(w http.ResponseWriter, r *http.Request, c responsesReply) error {
	out := newEventStream(w, r)
	defer out.close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	n := 0
	send := func(e responsesEvent) {
		e.Sequence = n
		n++
		if out.send(e.Type, e) != nil {
			stop() // the client disconnected
		}
	}
	begin := func() {
		send(responsesEvent{Type: "response.created", Response: c.begun()})
		send(responsesEvent{Type: "response.in_progress", Response: c.begun()})
	}
	// open begins a message with a part.
	open := func(part responsesText) {
		item := c.item("in_progress", part)
		item.Content = []responsesText{}
		send(responsesEvent{Type: "response.output_item.added", Output: new(0), Item: &item})
		send(responsesEvent{Type: "response.content_part.added", Output: new(0), Content: new(0), ItemID: item.ID, Part: &part})
	}
	begun, opened := false, false
	a, text, err := s.answerText(ctx, c.asked, nil, func(text string, a Answer) {
		if !begun {
			begun = true
			out.answered(a)
			begin()
		}
		if text == "" {
			return
		}
		if !opened {
			opened = true
			open(outputText(""))
		}
		send(responsesEvent{Type: "response.output_text.delta", Output: new(0), Content: new(0), ItemID: c.itemID(), Delta: text})
	})
	if err != nil {
		return out.fail(asToolError(c.asked, err))
	}
	done := c.complete(a)
	if done.Output[0].Type == "function_call" {
		item := done.Output[0]
		added := item
		added.Status, added.Arguments = "in_progress", new("")
		send(responsesEvent{Type: "response.output_item.added", Output: new(0), Item: &added})
		send(responsesEvent{Type: "response.function_call_arguments.delta", Output: new(0), ItemID: item.ID, Delta: *item.Arguments})
		send(responsesEvent{Type: "response.function_call_arguments.done", Output: new(0), ItemID: item.ID, Arguments: *item.Arguments})
	} else if part := done.Output[0].Content[0]; part.Type == "refusal" {
		open(responsesText{Type: "refusal", Annotations: []string{}})
		send(responsesEvent{Type: "response.refusal.delta", Output: new(0), Content: new(0), ItemID: c.itemID(), Delta: part.Refusal})
		send(responsesEvent{Type: "response.refusal.done", Output: new(0), Content: new(0), ItemID: c.itemID(), Refusal: part.Refusal})
		send(responsesEvent{Type: "response.content_part.done", Output: new(0), Content: new(0), ItemID: c.itemID(), Part: &part})
	} else {
		if !opened {
			open(outputText(""))
		}
		part := outputText(text)
		done.Output = []responsesItem{c.item(done.Status, part)}
		send(responsesEvent{Type: "response.output_text.done", Output: new(0), Content: new(0), ItemID: c.itemID(), Text: text})
		send(responsesEvent{Type: "response.content_part.done", Output: new(0), Content: new(0), ItemID: c.itemID(), Part: &part})
	}
	send(responsesEvent{Type: "response.output_item.done", Output: new(0), Item: &done.Output[0]})
	send(responsesEvent{Type: "response." + done.Status, Response: &done})
	return nil
}

// responsesRequest is a request for a response. As with a chat, fields that are not listed are
// ignored, and a listed one that would change the answer and is not supported is refused.
type responsesRequest struct {
	Model        string          `json:"model"` // the name of a space
	Input        json.RawMessage `json:"input"` // the question, or messages
	Instructions *string         `json:"instructions"`

	Stream          *bool    `json:"stream"`
	MaxOutputTokens *int     `json:"max_output_tokens"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`

	Text               *responsesFormat `json:"text"`
	TopLogprobs        *float64         `json:"top_logprobs"`
	Tools              json.RawMessage  `json:"tools"`
	ToolChoice         json.RawMessage  `json:"tool_choice"`
	Background         *bool            `json:"background"`
	PreviousResponseID json.RawMessage  `json:"previous_response_id"`
	Conversation       json.RawMessage  `json:"conversation"` // an id, or an object with an id
	Metadata           *chatMetadata    `json:"metadata"`
	Prompt             json.RawMessage  `json:"prompt"`
}

type responsesFormat struct {
	Format *textFormat `json:"format"`
}

// responsesInput is one item of the input: a message, the call of a tool, or its result.
type responsesInput struct {
	Type string `json:"type"` // message, or absent; function_call, function_call_output
	chatTurn
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// asked turns a request into a question.
func (q *responsesRequest) asked() (AskRequest, error) {
	var u chatFaults
	a := AskRequest{Space: q.Model}
	u.usual(q.Model, q.Temperature, q.TopP, q.TopLogprobs)
	u.tools(q.Tools, q.ToolChoice, &a)
	if q.MaxOutputTokens != nil {
		a.MaxTokens = *q.MaxOutputTokens
	}
	u.positive("/max_output_tokens", q.MaxOutputTokens)
	if q.Text != nil && q.Text.Format != nil {
		a.Format = u.format("/text/format", q.Text.Format.Type, "/text/format/schema", &q.Text.Format.chatSchema)
	}
	if q.Background != nil && *q.Background {
		u.unsupported("/background", "must be false or left out")
	}
	u.mustBeUnset("/previous_response_id", q.PreviousResponseID)
	u.mustBeUnset("/prompt", q.Prompt)
	u.conversation("/input", q.turns(&u), &a)
	a.continues(q.Metadata.conversation())
	a.continues(u.conversationID("/conversation", q.Conversation))
	if q.Instructions != nil && strings.TrimSpace(*q.Instructions) != "" {
		a.Instructions = strings.TrimSuffix(*q.Instructions+"\n\n"+a.Instructions, "\n\n")
	}
	return a, u.err()
}

// conversationID returns the id of a conversation: a string, or an object with it.
func (u *chatFaults) conversationID(at string, raw json.RawMessage) *string {
	var named struct {
		ID *string `json:"id"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &named.ID) == nil {
		return named.ID
	}
	if json.Unmarshal(raw, &named) != nil || named.ID == nil {
		u.invalid(at, "must be the id of a conversation, or an object with it")
	}
	return named.ID
}

// turns returns the messages of the input.
func (q *responsesRequest) turns(u *chatFaults) []chatTurn {
	raw := bytes.TrimSpace(q.Input)
	if len(raw) > 0 && raw[0] == '"' {
		return []chatTurn{{Role: "user", Content: raw}}
	}
	var items []responsesInput
	if len(raw) == 0 {
		return nil
	}
	if err := unmarshal(raw, &items, false); err != nil {
		for _, f := range fieldsUnder("/input", err) {
			u.invalid(f.Field, "%s", f.Detail)
		}
		return nil
	}
	var turns []chatTurn
	for _, item := range items {
		switch item.Type {
		case "", "message":
			turns = append(turns, item.chatTurn)
		case "function_call":
			calls, _ := json.Marshal([]chatToolCall{{ID: item.CallID, Function: chatCallText{item.Name, item.Arguments}}})
			turns = append(turns, chatTurn{Role: "assistant", ToolCalls: calls})
		case "function_call_output":
			turns = append(turns, chatTurn{Role: "tool", ToolCallID: item.CallID, Content: item.Output})
		default:
			u.unsupported("/input", "items of type %s are not supported", printable(item.Type))
		}
	}
	return turns
}

// responsesReply builds the replies to one request.
type responsesReply struct {
	id      string
	created int64
	asked   AskRequest
	format  textFormat
}

func (c responsesReply) itemID() string { return "msg_" + c.id }

func (c responsesReply) item(status string, part responsesText) responsesItem {
	return responsesItem{Type: "message", ID: c.itemID(), Status: status, Role: "assistant", Content: []responsesText{part}}
}

// call builds the item of a tool call.
func (c responsesReply) call(status string, call *ToolCall) responsesItem {
	return responsesItem{
		Type: "function_call", ID: "fc_" + c.id, Status: status, CallID: "call_" + c.id, Name: call.Tool, Arguments: new(string(call.Arguments)),
	}
}

func outputText(text string) responsesText {
	return responsesText{Type: "output_text", Text: text, Annotations: []string{}}
}

// begun builds the response without its answer.
func (c responsesReply) begun() *responsesObject {
	r := responsesObject{
		ID: "resp_" + c.id, Object: "response", Created: c.created, Status: "in_progress", Model: c.asked.Space, Output: []responsesItem{},
		ToolChoice: "auto", Tools: []string{}, Metadata: map[string]string{},
	}
	r.Text.Format = c.format
	if c.asked.Instructions != "" {
		r.Instructions = &c.asked.Instructions
	}
	return &r
}

// complete builds the response with its answer.
func (c responsesReply) complete(a Answer) responsesObject {
	r := *c.begun()
	r.Status = "completed"
	if (chatReply{asked: c.asked}).finishOf(a) == "length" {
		r.Status, r.Incomplete = "incomplete", &responsesReason{Reason: "max_output_tokens"}
	}
	if call, refusal := callOf(c.asked, a), refusalOf(c.asked, a); call != nil {
		r.Output = []responsesItem{c.call(r.Status, call)}
	} else if refusal != "" {
		r.Output = []responsesItem{c.item(r.Status, responsesText{Type: "refusal", Refusal: refusal, Annotations: []string{}})}
	} else {
		r.Output = []responsesItem{c.item(r.Status, outputText(cmp.Or(fallbackText(c.asked, a), a.Answer)))}
	}
	r.Usage = &responsesUsage{Input: a.Tokens.Prompt, Output: a.Tokens.Generated, Total: a.Tokens.Prompt + a.Tokens.Generated}
	r.Usage.InputDetails.Cached = a.Tokens.Reused
	r.Own = new(ownOf(c.asked, a))
	return r
}

// responsesObject is the reply to a request, in OpenAI's format.
type responsesObject struct {
	ID           string             `json:"id"`
	Object       string             `json:"object"` // response
	Created      int64              `json:"created_at"`
	Status       string             `json:"status"` // in_progress, completed, incomplete
	Error        *struct{}          `json:"error"`  // always null
	Incomplete   *responsesReason   `json:"incomplete_details"`
	Instructions *string            `json:"instructions"`
	Model        string             `json:"model"` // the space
	Output       []responsesItem    `json:"output"`
	Parallel     bool               `json:"parallel_tool_calls"`
	Temperature  *float64           `json:"temperature"`
	TopP         *float64           `json:"top_p"`
	Text         responsesTextField `json:"text"`
	ToolChoice   string             `json:"tool_choice"`
	Tools        []string           `json:"tools"` // always empty
	Usage        *responsesUsage    `json:"usage"`
	Metadata     map[string]string  `json:"metadata"`
	Own          *chatOwn           `json:"percached,omitempty"`
}

type responsesReason struct {
	Reason string `json:"reason"`
}

type responsesTextField struct {
	Format textFormat `json:"format"`
}

// responsesItem is the message of the answer, or the call of a tool.
type responsesItem struct {
	Type      string          `json:"type"` // message, function_call
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role,omitempty"` // assistant
	Content   []responsesText `json:"content,omitzero"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments *string         `json:"arguments,omitempty"` // JSON
}

type responsesText struct {
	Type        string   `json:"type"` // output_text, refusal
	Text        string   `json:"text"`
	Refusal     string   `json:"refusal,omitempty"`
	Annotations []string `json:"annotations"` // always empty
}

type responsesUsage struct {
	Input         int               `json:"input_tokens"`
	InputDetails  responsesCached   `json:"input_tokens_details"`
	Output        int               `json:"output_tokens"`
	OutputDetails responsesThoughts `json:"output_tokens_details"`
	Total         int               `json:"total_tokens"`
}

type responsesCached struct {
	Cached int `json:"cached_tokens"`
}

type responsesThoughts struct {
	Reasoning int `json:"reasoning_tokens"` // always 0
}

// responsesEvent is an event of a streamed response; its type says which fields it has.
type responsesEvent struct {
	Type      string           `json:"type"`
	Sequence  int              `json:"sequence_number"`
	Response  *responsesObject `json:"response,omitempty"`
	Output    *int             `json:"output_index,omitempty"`
	Content   *int             `json:"content_index,omitempty"`
	ItemID    string           `json:"item_id,omitempty"`
	Item      *responsesItem   `json:"item,omitempty"`
	Part      *responsesText   `json:"part,omitempty"`
	Delta     string           `json:"delta,omitempty"`
	Text      string           `json:"text,omitempty"`
	Refusal   string           `json:"refusal,omitempty"`
	Arguments string           `json:"arguments,omitempty"`
}
