package api

import (
	"bytes"
	"encoding/json"
)

// Format is the form of an answer: JSON.
type Format struct {
	// Schema is the JSON Schema of the answer; nil: any JSON object.
	Schema json.RawMessage
}

// chatFormat is the field response_format of a chat.
type chatFormat struct {
	Type   string      `json:"type"` // text, json_object, json_schema
	Schema *chatSchema `json:"json_schema"`
}

// chatSchema is a schema with what OpenAI wants beside it. The name and strict have no
// effect: every answer is valid under the schema.
type chatSchema struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// textFormat is the field text.format of a response: the schema is not in a field of its own.
type textFormat struct {
	Type string `json:"type"`
	chatSchema
}

// format reads the form of the answer; nil: text. The schema is at schemaAt.
func (u *chatFaults) format(at, kind, schemaAt string, s *chatSchema) *Format {
	switch kind {
	case "text":
	case "json_object":
		return &Format{}
	case "json_schema":
		if s == nil || len(bytes.TrimSpace(s.Schema)) == 0 || string(s.Schema) == "null" {
			u.invalid(schemaAt, "must be a JSON Schema")
			return nil
		}
		return &Format{Schema: s.Schema}
	default:
		u.unsupported(at, "must be of type text, json_object or json_schema, or left out")
	}
	return nil
}

// refusalOf is the text of an answer in place of one in the asked form: there are no
// documents. Empty: the answer has the form.
func refusalOf(asked AskRequest, a Answer) string {
	if (asked.Format != nil || len(asked.Tools) > 0 && asked.MustCall) && a.Refused && !json.Valid([]byte(a.Answer)) {
		return a.Answer
	}
	return ""
}
