package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// chatRequest is a chat request. Fields that are not listed here are ignored, because clients
// send many. A listed field that would change the answer and is not supported is refused.
// Answers are greedy and stored, so temperature, top_p, seed, user and store have no
// effect; only the form of the first three is checked. Of metadata only conversation is read.
type chatRequest struct {
	Model    string     `json:"model"` // the name of a space
	Messages []chatTurn `json:"messages"`

	Stream        *bool              `json:"stream"`
	StreamOptions *chatStreamOptions `json:"stream_options"`

	MaxTokens           *int `json:"max_tokens"`            // the older name of max_completion_tokens
	MaxCompletionTokens *int `json:"max_completion_tokens"` // takes precedence

	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Seed        *int64   `json:"seed"`

	N                *float64        `json:"n"`
	FrequencyPenalty *float64        `json:"frequency_penalty"`
	PresencePenalty  *float64        `json:"presence_penalty"`
	TopLogprobs      *float64        `json:"top_logprobs"`
	Logprobs         *bool           `json:"logprobs"`
	LogitBias        json.RawMessage `json:"logit_bias"`
	Stop             json.RawMessage `json:"stop"`
	ResponseFormat   *chatFormat     `json:"response_format"`
	Modalities       json.RawMessage `json:"modalities"`
	Audio            json.RawMessage `json:"audio"`
	Tools            json.RawMessage `json:"tools"`
	ToolChoice       json.RawMessage `json:"tool_choice"`
	Functions        json.RawMessage `json:"functions"`
	FunctionCall     json.RawMessage `json:"function_call"`

	Metadata *chatMetadata `json:"metadata"`
}

// chatMetadata is what percached reads of a client's metadata.
type chatMetadata struct {
	Conversation *string `json:"conversation"` // the id of a stored conversation
}

func (m *chatMetadata) conversation() *string {
	if m == nil {
		return nil
	}
	return m.Conversation
}

type chatStreamOptions struct {
	IncludeUsage *bool `json:"include_usage"`
}

// chatFaults collects the invalid and the unsupported fields of an OpenAI request, at most
// maxWrong of each.
type chatFaults struct{ invalidFields, unsupportedFields []FieldError }

func (u *chatFaults) invalid(at, format string, args ...any) {
	if len(u.invalidFields) < maxWrong {
		u.invalidFields = append(u.invalidFields, FieldError{at, fmt.Sprintf(format, args...)})
	}
}

func (u *chatFaults) unsupported(at, format string, args ...any) {
	if len(u.unsupportedFields) < maxWrong {
		u.unsupportedFields = append(u.unsupportedFields, FieldError{at, fmt.Sprintf(format, args...)})
	}
}

// err returns the collected faults as an error. Invalid fields take precedence over unsupported
// ones.
func (u *chatFaults) err() error {
	switch {
	case len(u.invalidFields) > 0:
		return invalidFields(u.invalidFields...)
	case len(u.unsupportedFields) > 0:
		return &problemError{problem: problemUnsupportedParameter, fields: u.unsupportedFields}
	}
	return nil
}

// within requires an optional number to be between least and most.
func (u *chatFaults) within(at string, n *float64, least, most float64) {
	if n != nil && (*n < least || *n > most) {
		u.invalid(at, "must be between %v and %v", least, most)
	}
}

// positive requires an optional number to be at least 1.
func (u *chatFaults) positive(at string, n *int) {
	if n != nil && *n < 1 {
		u.invalid(at, "must be at least 1")
	}
}

// mustEqual requires an optional number to be want.
func (u *chatFaults) mustEqual(at string, n *float64, want float64) {
	if n != nil && *n != want {
		u.unsupported(at, "must be %v or left out", want)
	}
}

// mustBeUnset requires a value to be absent, null or one of nothing.
func (u *chatFaults) mustBeUnset(at string, raw json.RawMessage, nothing ...string) {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) == nil && (b.String() == "null" || slices.Contains(nothing, b.String())) {
		return
	}
	u.unsupported(at, "must be left out")
}

// usual checks the fields that chats and responses have in common.
func (u *chatFaults) usual(model string, temperature, topP, topLogprobs *float64) {
	if model == "" {
		u.invalid("/model", "must name a space")
	}
	u.within("/temperature", temperature, 0, 2)
	u.within("/top_p", topP, 0, 1)
	u.mustEqual("/top_logprobs", topLogprobs, 0)
}

// asked turns a chat request into a question, and the texts before which its answer ends.
func (q *chatRequest) asked() (AskRequest, chatStops, error) {
	var u chatFaults
	a := AskRequest{Space: q.Model}
	u.usual(q.Model, q.Temperature, q.TopP, q.TopLogprobs)
	u.tools(q.Tools, q.ToolChoice, &a)
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			a.MaxTokens = *n
		}
	}
	u.positive("/max_tokens", q.MaxTokens)
	u.positive("/max_completion_tokens", q.MaxCompletionTokens)
	u.mustEqual("/n", q.N, 1)
	u.mustEqual("/frequency_penalty", q.FrequencyPenalty, 0)
	u.mustEqual("/presence_penalty", q.PresencePenalty, 0)
	if q.Logprobs != nil && *q.Logprobs {
		u.unsupported("/logprobs", "must be false or left out")
	}
	if f := q.ResponseFormat; f != nil {
		a.Format = u.format("/response_format", f.Type, "/response_format/json_schema/schema", f.Schema)
	}
	u.mustBeUnset("/logit_bias", q.LogitBias, "{}")
	u.mustBeUnset("/modalities", q.Modalities, `["text"]`)
	u.mustBeUnset("/audio", q.Audio)
	u.mustBeUnset("/functions", q.Functions, "[]")
	u.mustBeUnset("/function_call", q.FunctionCall, `"none"`, `"auto"`)
	u.conversation("/messages", q.Messages, &a)
	a.continues(q.Metadata.conversation())
	stops := u.stops(q.Stop)
	if len(stops) > 0 && (a.Format != nil || len(a.Tools) > 0) {
		u.unsupported("/stop", "must be left out beside a format in JSON and beside tools")
	}
	return a, stops, u.err()
}

// continues makes the question one of a stored conversation, whose turns replace those that
// the client sent.
func (a *AskRequest) continues(conversation *string) {
	if conversation != nil && *conversation != "" {
		a.Conversation, a.Earlier = *conversation, nil
	}
}

// chatTurn is a message of a chat request.
type chatTurn struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"` // a string or a list of parts
	ToolCalls    json.RawMessage `json:"tool_calls"`
	ToolCallID   string          `json:"tool_call_id"` // of a message with the role tool
	FunctionCall json.RawMessage `json:"function_call"`
	Audio        json.RawMessage `json:"audio"`
}

// chatPart is one part of a message.
type chatPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// conversation splits messages into the client's instructions, the earlier turns, and the
// question (the last message).
func (u *chatFaults) conversation(field string, turns []chatTurn, a *AskRequest) {
	if len(turns) == 0 {
		u.invalid(field, "must contain at least one message")
	}
	var instructions []string
	turns, places := u.toolTurns(field, turns, a)
	for i, t := range turns {
		at := field + "/" + strconv.Itoa(places[i])
		last := i == len(turns)-1
		u.mustBeUnset(at+"/function_call", t.FunctionCall)
		u.mustBeUnset(at+"/audio", t.Audio)
		switch t.Role {
		case "user", "assistant", "system", "developer":
			if last && t.Role != "user" {
				u.invalid(at+"/role", "must be user: the last message is the question")
			}
		case "function":
			u.unsupported(at+"/role", "must be tool: functions are not supported")
		default:
			u.invalid(at+"/role", "must be system, developer, user, assistant or tool")
		}
		text, known := "", len(u.unsupportedFields)
		if last || t.Role != "assistant" || string(t.Content) != "null" { // an assistant turn may be empty
			text = u.content(at+"/content", t.Content)
		}
		switch {
		case last:
			a.Question.Question = text
			if strings.TrimSpace(text) == "" && t.Content != nil && len(u.unsupportedFields) == known {
				u.invalid(at+"/content", "must be a question")
			}
		case strings.TrimSpace(text) == "":
		case t.Role == "user", t.Role == "assistant":
			a.Earlier = append(a.Earlier, Turn{t.Role, text})
		default:
			instructions = append(instructions, text)
		}
	}
	a.Instructions = strings.Join(instructions, "\n\n")
}

// content returns the text of a message.
func (u *chatFaults) content(at string, raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		var text *string
		if len(raw) == 0 || json.Unmarshal(raw, &text) != nil || text == nil {
			u.invalid(at, "must be a string or an array of parts")
			return ""
		}
		return *text
	}
	var parts []chatPart
	if err := unmarshal(raw, &parts, false); err != nil {
		for _, f := range fieldsUnder(at, err) {
			u.invalid(f.Field, "%s", f.Detail)
		}
		return ""
	}
	texts := make([]string, 0, len(parts))
	for i, p := range parts {
		at := at + "/" + strconv.Itoa(i)
		switch {
		case p.Type == "":
			u.invalid(at+"/type", "must be text")
		case !slices.Contains([]string{"text", "input_text", "output_text"}, p.Type):
			u.unsupported(at+"/type", "must be text; other parts are not supported")
		case p.Text == nil:
			u.invalid(at+"/text", "must be a string")
		default:
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// fieldsUnder prefixes the fields of an error with their place in the body.
func fieldsUnder(at string, err error) []FieldError {
	_, detail, fields := problemFor(err)
	if len(fields) == 0 {
		return []FieldError{{at, detail}}
	}
	under := make([]FieldError, len(fields))
	for i, f := range fields {
		under[i] = FieldError{at + f.Field, f.Detail}
	}
	return under
}
