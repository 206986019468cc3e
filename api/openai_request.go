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
// Answers are greedy and stored, so temperature, top_p, seed, user, metadata and store have no
// effect; only the form of the first three is checked.
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
}

type chatStreamOptions struct {
	IncludeUsage *bool `json:"include_usage"`
}

type chatFormat struct {
	Type string `json:"type"`
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

// asked turns a chat request into a question.
func (q *chatRequest) asked() (AskRequest, error) {
	var u chatFaults
	a := AskRequest{Space: q.Model}
	if q.Model == "" {
		u.invalid("/model", "must name a space")
	}
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			a.MaxTokens = *n
		}
	}
	u.positive("/max_tokens", q.MaxTokens)
	u.positive("/max_completion_tokens", q.MaxCompletionTokens)
	u.within("/temperature", q.Temperature, 0, 2)
	u.within("/top_p", q.TopP, 0, 1)
	u.mustEqual("/n", q.N, 1)
	u.mustEqual("/frequency_penalty", q.FrequencyPenalty, 0)
	u.mustEqual("/presence_penalty", q.PresencePenalty, 0)
	u.mustEqual("/top_logprobs", q.TopLogprobs, 0)
	if q.Logprobs != nil && *q.Logprobs {
		u.unsupported("/logprobs", "must be false or left out")
	}
	if q.ResponseFormat != nil && q.ResponseFormat.Type != "text" {
		u.unsupported("/response_format", "must be of type text or left out")
	}
	u.mustBeUnset("/logit_bias", q.LogitBias, "{}")
	u.mustBeUnset("/stop", q.Stop, "[]")
	u.mustBeUnset("/modalities", q.Modalities, `["text"]`)
	u.mustBeUnset("/audio", q.Audio)
	u.mustBeUnset("/tools", q.Tools, "[]")
	u.mustBeUnset("/tool_choice", q.ToolChoice, `"none"`, `"auto"`)
	u.mustBeUnset("/functions", q.Functions, "[]")
	u.mustBeUnset("/function_call", q.FunctionCall, `"none"`, `"auto"`)
	u.conversation(q.Messages, &a)
	return a, u.err()
}

// chatTurn is a message of a chat request.
type chatTurn struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"` // a string or a list of parts
	ToolCalls    json.RawMessage `json:"tool_calls"`
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
func (u *chatFaults) conversation(turns []chatTurn, a *AskRequest) {
	if len(turns) == 0 {
		u.invalid("/messages", "must contain at least one message")
	}
	var instructions []string
	for i, t := range turns {
		at := "/messages/" + strconv.Itoa(i)
		last := i == len(turns)-1
		u.mustBeUnset(at+"/tool_calls", t.ToolCalls, "[]")
		u.mustBeUnset(at+"/function_call", t.FunctionCall)
		u.mustBeUnset(at+"/audio", t.Audio)
		switch t.Role {
		case "user", "assistant", "system", "developer":
			if last && t.Role != "user" {
				u.invalid(at+"/role", "must be user: the last message is the question")
			}
		case "tool", "function":
			u.unsupported(at+"/role", "tools are not supported")
		default:
			u.invalid(at+"/role", "must be system, developer, user or assistant")
		}
		text := ""
		if last || t.Role != "assistant" || string(t.Content) != "null" { // an assistant turn may be empty
			text = u.content(at+"/content", t.Content)
		}
		switch {
		case last:
			a.Question.Question = text
			if strings.TrimSpace(text) == "" && t.Content != nil {
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
		case p.Type != "text":
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
