package api

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// chatTurn is a message of a chat request.
type chatTurn struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"` // a string, or parts
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"`
	Audio        json.RawMessage `json:"audio"`
}

// chatPart is a part of a message.
type chatPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// conversation parts messages into the client's instructions, the earlier turns,
// and the question, which is the last.
func (u *unwanted) conversation(turns []chatTurn, a *Asked) {
	if len(turns) == 0 {
		u.no("/messages", "must hold at least one message")
	}
	var instructions []string
	for i, t := range turns {
		at := "/messages/" + strconv.Itoa(i)
		last := i == len(turns)-1
		u.none(at+"/tool_calls", t.ToolCalls, "[]")
		u.none(at+"/function_call", t.FunctionCall)
		u.none(at+"/audio", t.Audio)
		switch t.Role {
		case "user", "assistant", "system", "developer":
			if last && t.Role != "user" {
				u.no(at+"/role", "must be user: the last message is the question")
			}
		case "tool", "function":
			u.refuse(at+"/role", "is not taken: no tools are called here")
		default:
			u.no(at+"/role", "must be system, developer, user or assistant")
		}
		text := ""
		if last || t.Role != "assistant" || string(t.Content) != "null" { // of a turn in which it said nothing
			text = u.content(at+"/content", t.Content)
		}
		switch {
		case last:
			a.Question.Question = text
			if strings.TrimSpace(text) == "" && t.Content != nil {
				u.no(at+"/content", "must be a question")
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

// content is the text of a message.
func (u *unwanted) content(at string, raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		var text *string
		if len(raw) == 0 || json.Unmarshal(raw, &text) != nil || text == nil {
			u.no(at, "must be a string, or an array of parts")
			return ""
		}
		return *text
	}
	var parts []chatPart
	if err := unmarshal(raw, &parts, false); err != nil {
		for _, f := range fieldsUnder(at, err) {
			u.no(f.Field, "%s", f.Detail)
		}
		return ""
	}
	texts := make([]string, 0, len(parts))
	for i, p := range parts {
		at := at + "/" + strconv.Itoa(i)
		switch {
		case p.Type == "":
			u.no(at+"/type", "must say what the part is")
		case p.Type != "text":
			u.refuse(at+"/type", "must be text: nothing else is read")
		case p.Text == nil:
			u.no(at+"/text", "must be a string")
		default:
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// fieldsUnder are the faults of a value that stands at a place of a body.
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
