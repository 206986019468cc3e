package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// chatRequest is a chat request. Fields that are not here are passed over: clients
// send many, and their next versions more. Of those here, what would change the
// answer and is not done is refused rather than ignored. Answers are greedy and
// are kept, so temperature, top_p, seed, user, metadata and store have no effect;
// of the first three the form is looked at.
type chatRequest struct {
	Model    string     `json:"model"` // a space
	Messages []chatTurn `json:"messages"`

	Stream        *bool              `json:"stream"`
	StreamOptions *chatStreamOptions `json:"stream_options"`

	MaxTokens           *int `json:"max_tokens"`            // the older name
	MaxCompletionTokens *int `json:"max_completion_tokens"` // goes before it

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

// unwanted collects what is wrong with a request of OpenAI's, and what it wants
// that is not done here: of each as many as are told.
type unwanted struct{ wrong, refused []FieldError }

func (u *unwanted) no(at, format string, args ...any) {
	if len(u.wrong) < maxWrong {
		u.wrong = append(u.wrong, FieldError{at, fmt.Sprintf(format, args...)})
	}
}

func (u *unwanted) refuse(at, format string, args ...any) {
	if len(u.refused) < maxWrong {
		u.refused = append(u.refused, FieldError{at, fmt.Sprintf(format, args...)})
	}
}

// err is the error of all that was collected. What is wrong goes first: it may be
// that the rest was not meant.
func (u *unwanted) err() error {
	switch {
	case len(u.wrong) > 0:
		return wrongFields(u.wrong...)
	case len(u.refused) > 0:
		return &problemError{problem: problemUnsupportedParameter, fields: u.refused}
	}
	return nil
}

// within wants a number, if there is one, within bounds.
func (u *unwanted) within(at string, n *float64, least, most float64) {
	if n != nil && (*n < least || *n > most) {
		u.no(at, "must be within %v and %v", least, most)
	}
}

// positive wants a number, if there is one, that is at least 1.
func (u *unwanted) positive(at string, n *int) {
	if n != nil && *n < 1 {
		u.no(at, "must be at least 1")
	}
}

// only refuses another number than this one.
func (u *unwanted) only(at string, n *float64, want float64) {
	if n != nil && *n != want {
		u.refuse(at, "must be %v or left out", want)
	}
}

// none refuses a value that asks for something: other than null and than these.
func (u *unwanted) none(at string, raw json.RawMessage, nothing ...string) {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) == nil && (b.String() == "null" || slices.Contains(nothing, b.String())) {
		return
	}
	u.refuse(at, "must be left out")
}

// asked is what a chat request asks for.
func (q *chatRequest) asked() (Asked, error) {
	var u unwanted
	a := Asked{Space: q.Model}
	if q.Model == "" {
		u.no("/model", "must name a space")
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
	u.only("/n", q.N, 1)
	u.only("/frequency_penalty", q.FrequencyPenalty, 0)
	u.only("/presence_penalty", q.PresencePenalty, 0)
	u.only("/top_logprobs", q.TopLogprobs, 0)
	if q.Logprobs != nil && *q.Logprobs {
		u.refuse("/logprobs", "must be false or left out")
	}
	if q.ResponseFormat != nil && q.ResponseFormat.Type != "text" {
		u.refuse("/response_format", "must be of type text or left out")
	}
	u.none("/logit_bias", q.LogitBias, "{}")
	u.none("/stop", q.Stop, "[]")
	u.none("/modalities", q.Modalities, `["text"]`)
	u.none("/audio", q.Audio)
	u.none("/tools", q.Tools, "[]")
	u.none("/tool_choice", q.ToolChoice, `"none"`, `"auto"`)
	u.none("/functions", q.Functions, "[]")
	u.none("/function_call", q.FunctionCall, `"none"`, `"auto"`)
	u.conversation(q.Messages, &a)
	return a, u.err()
}
