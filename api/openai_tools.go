package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// Tool is a function that a client offers.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema; nil: any object
}

// ToolResult is what a tool returned to the question.
type ToolResult struct {
	Tool      string
	Arguments string
	Output    string
}

// ToolCall is an answer that calls a tool. The backend's answers have this form then.
type ToolCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// maxTools is how many tools a request may offer, as with OpenAI.
const maxTools = 128

// chatTool is a tool of a request. A chat has the function in a field of its own.
type chatTool struct {
	Type string `json:"type"` // function
	chatFunction
	Function *chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// tools reads the fields tools and tool_choice.
func (u *chatFaults) tools(rawTools, rawChoice json.RawMessage, a *AskRequest) {
	var tools []chatTool
	if raw := bytes.TrimSpace(rawTools); len(raw) > 0 && string(raw) != "null" {
		if err := unmarshal(raw, &tools, false); err != nil {
			for _, f := range fieldsUnder("/tools", err) {
				u.invalid(f.Field, "%s", f.Detail)
			}
			return
		}
	}
	if len(tools) > maxTools {
		u.invalid("/tools", "must have at most %d tools", maxTools)
		return
	}
	for i, t := range tools {
		at := "/tools/" + strconv.Itoa(i)
		f := t.Function
		if f == nil {
			f = &t.chatFunction
		}
		switch {
		case t.Type != "function":
			u.unsupported(at+"/type", "must be function; other tools are not supported")
			continue
		case !isToolName(f.Name):
			u.invalid(at+"/function/name", "must be 1 to 64 letters, digits, hyphens or underscores")
			continue
		case slices.ContainsFunc(a.Tools, func(o Tool) bool { return o.Name == f.Name }):
			u.invalid(at+"/function/name", "must differ from the names of other tools")
			continue
		}
		tool := Tool{Name: f.Name}
		if f.Description != nil {
			tool.Description = *f.Description
		}
		if raw := bytes.TrimSpace(f.Parameters); len(raw) > 0 && string(raw) != "null" {
			tool.Parameters = raw
		}
		a.Tools = append(a.Tools, tool)
	}
	u.toolChoice(rawChoice, a)
}

// toolChoice reads which tools the answer may or must call.
func (u *chatFaults) toolChoice(raw json.RawMessage, a *AskRequest) {
	var name string
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		var choice *string
		if len(raw) > 0 && json.Unmarshal(raw, &choice) != nil {
			u.invalid("/tool_choice", "must be a string or an object")
			return
		}
		switch {
		case choice == nil, *choice == "auto":
		case *choice == "none":
			a.Tools = nil
		case *choice == "required":
			if a.MustCall = true; len(a.Tools) == 0 {
				u.invalid("/tool_choice", "required needs tools")
			}
		default:
			u.invalid("/tool_choice", "must be none, auto, required or a function")
		}
		return
	}
	var choice chatTool
	if json.Unmarshal(raw, &choice) != nil || choice.Type != "function" {
		u.unsupported("/tool_choice", "must be none, auto, required or a function")
		return
	}
	if name = choice.Name; choice.Function != nil {
		name = choice.Function.Name
	}
	at := slices.IndexFunc(a.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		u.invalid("/tool_choice", "must name one of the tools")
		return
	}
	a.Tools, a.MustCall = a.Tools[at:at+1], true
}

func isToolName(name string) bool {
	return len(name) > 0 && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
}

// chatToolCall is a call in a message.
type chatToolCall struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id"`
	Type     string       `json:"type"` // function
	Function chatCallText `json:"function"`
}

type chatCallText struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// toolTurns takes the calls of tools and their results out of a conversation. Those behind
// the last question belong to it; the answers to earlier questions say what came of
// theirs. It returns the other turns with their places.
func (u *chatFaults) toolTurns(field string, turns []chatTurn, a *AskRequest) (rest []chatTurn, places []int) {
	calls := map[string]chatCallText{}
	for i, t := range turns {
		at := field + "/" + strconv.Itoa(i)
		if t.Role == "tool" {
			call, ok := calls[t.ToolCallID]
			if !ok {
				id := "/tool_call_id"
				if field == "/input" {
					id = "/call_id"
				}
				u.invalid(at+id, "must be the id of an earlier tool call")
				continue
			}
			a.Results = append(a.Results, ToolResult{call.Name, call.Arguments, u.content(at+"/content", t.Content)})
			continue
		}
		if t.Role == "user" {
			a.Results = nil
		}
		made := u.callsOf(at+"/tool_calls", t)
		for _, c := range made {
			calls[c.ID] = c.Function
		}
		if len(made) > 0 {
			continue
		}
		rest, places = append(rest, t), append(places, i)
	}
	return rest, places
}

// callsOf reads the tool calls of a message, which only the assistant makes.
func (u *chatFaults) callsOf(at string, t chatTurn) (calls []chatToolCall) {
	if raw := bytes.TrimSpace(t.ToolCalls); len(raw) == 0 || string(raw) == "null" || t.Role != "assistant" {
		return nil
	}
	if err := unmarshal(t.ToolCalls, &calls, false); err != nil {
		for _, f := range fieldsUnder(at, err) {
			u.invalid(f.Field, "%s", f.Detail)
		}
		return nil
	}
	for i, c := range calls {
		if c.ID == "" || c.Function.Name == "" {
			u.invalid(at+"/"+strconv.Itoa(i), "must have an id and a function with a name")
		}
	}
	return calls
}

// mayCall reports whether the beginning of an answer may be that of a call, which is not
// sent as text.
func mayCall(asked AskRequest, begun string) bool {
	begun = strings.TrimLeft(begun, " ")
	return len(asked.Tools) > 0 && (asked.MustCall || begun == "" || begun[0] == '{')
}

// callOf is the call that an answer is; nil: it is text, or a call that was cut.
func callOf(asked AskRequest, a Answer) *ToolCall {
	var call ToolCall
	if len(asked.Tools) == 0 || json.Unmarshal([]byte(a.Answer), &call) != nil || len(call.Arguments) == 0 {
		return nil
	}
	if !slices.ContainsFunc(asked.Tools, func(t Tool) bool { return t.Name == call.Tool }) {
		return nil
	}
	return &call
}

// asToolError says which field asks for what the model cannot do.
func asToolError(asked AskRequest, err error) error {
	if len(asked.Tools) > 0 && fault.KindOf(err) == fault.Unsupported {
		return &problemError{problem: problemUnsupportedParameter, fields: []FieldError{{"/tools", "must be left out: the chat template of the model has no tools"}}}
	}
	return asModelError(asked, err)
}
