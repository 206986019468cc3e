package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

const (
	aSchema    = `{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`
	aTool      = `{"name":"find","description":"Finds.","parameters":` + aSchema + `}`
	chatTools  = `"tools":[{"type":"function","function":` + aTool + `},{"type":"function","function":{"name":"go"}}]`
	plainTools = `"tools":[{"type":"function","name":"find","description":"Finds.","parameters":` + aSchema + `},{"type":"function","name":"go","parameters":null}]`
	calledIt   = `{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"day\":\"Friday\"}"}}`
)

// What a client demands of the form of an answer reaches the backend, from both interfaces.
func TestForms(t *testing.T) {
	find, leave := Tool{"find", "Finds.", json.RawMessage(aSchema)}, Tool{Name: "go"}
	user := `{"role":"user","content":"When?"}`
	result := ToolResult{"find", `{"day":"Friday"}`, "17:05"}
	for name, c := range map[string]struct {
		messages, chat, responses string
		input                     string // in place of messages
		want                      AskRequest
	}{
		"any JSON": {chat: `"response_format":{"type":"json_object"}`, responses: `"text":{"format":{"type":"json_object"}}`, want: AskRequest{Format: &Format{}}},
		"a schema": {
			chat:      `"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":` + aSchema + `}}`,
			responses: `"text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":` + aSchema + `},"verbosity":"low"}`,
			want:      AskRequest{Format: &Format{Schema: json.RawMessage(aSchema)}},
		},
		"tools":    {chat: chatTools + `,"parallel_tool_calls":false`, responses: plainTools, want: AskRequest{Tools: []Tool{find, leave}}},
		"required": {chat: chatTools + `,"tool_choice":"required"`, responses: plainTools + `,"tool_choice":"required"`, want: AskRequest{Tools: []Tool{find, leave}, MustCall: true}},
		"one tool": {
			chat:      chatTools + `,"tool_choice":{"type":"function","function":{"name":"go"}}`,
			responses: plainTools + `,"tool_choice":{"type":"function","name":"go"}`, want: AskRequest{Tools: []Tool{leave}, MustCall: true},
		},
		"no tool": {chat: chatTools + `,"tool_choice":"none"`, responses: plainTools + `,"tool_choice":"none"`},
		"a result": {
			messages: user + `,{"role":"assistant","content":null,"tool_calls":[` + calledIt + `]},{"role":"tool","tool_call_id":"c1","content":"17:05"}`,
			input:    user + `,{"type":"function_call","call_id":"c1","name":"find","arguments":"{\"day\":\"Friday\"}"},{"type":"function_call_output","call_id":"c1","output":"17:05"}`,
			want:     AskRequest{Results: []ToolResult{result}},
		},
		"an earlier result": {
			messages: `{"role":"user","content":"Who?"},{"role":"assistant","tool_calls":[` + calledIt + `]},{"role":"tool","tool_call_id":"c1","content":"17:05"},{"role":"assistant","content":"Ana."},` + user,
			input: `{"role":"user","content":"Who?"},{"type":"function_call","call_id":"c1","name":"find","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"17:05"},
				{"role":"assistant","content":"Ana."},` + user,
			want: AskRequest{Earlier: []Turn{{"user", "Who?"}, {"assistant", "Ana."}}},
		},
		"what has no effect": {
			chat:      `"reasoning_effort":"low","store":true,"metadata":{"a":"b"},"service_tier":"auto","verbosity":"low","prediction":{"type":"content","content":"a"}`,
			responses: `"reasoning":{"effort":"low"},"store":true,"service_tier":"auto"`,
		},
	} {
		for _, path := range []string{"chat/completions", "responses"} {
			body := `"messages":[` + user + `],` + c.chat
			if c.messages != "" {
				body = `"messages":[` + c.messages + `]`
			}
			if path == "responses" {
				body = `"input":[` + user + `],` + c.responses
				if c.input != "" {
					body = `"input":[` + c.input + `]`
				}
			}
			a := &asker{answer: chatAnswer()}
			got := exchangeRaw(t, testServer(t, a.backend()), raw("POST /v1/"+path, `{"model":"mail",`+strings.TrimSuffix(body, ",")+`}`))
			want := c.want
			want.Space, want.Question.Question = "mail", "When?"
			if diff := cmp.Diff([]AskRequest{want}, a.was()); diff != "" || got.StatusCode != 200 {
				t.Error(name, path, got.Status, got.text, diff)
			}
		}
	}
}

// An answer in a form is JSON, a call, or a refusal; a stream says the same in pieces.
func TestFormedReplies(t *testing.T) {
	doubted, refused, cut := doubtful(), chatAnswer(), chatAnswer()
	doubted.Answer = `{"day":"Friday"}`
	refused.Answer, refused.Refused = "I don't know.", true
	cut.Answer, cut.Finish = `{"tool": "find","arguments":{"day`, "length"
	call := chatAnswer()
	call.Answer = `{"tool": "find","arguments": {"day":"Friday"}}`
	text := chatAnswer()
	const called = `call find {"day":"Friday"} tool_calls`
	format := `"response_format":{"type":"json_object"}`
	for _, c := range []struct {
		name, more string
		answer     Answer
		pieces     []string
		want       string
	}{
		{"JSON that is not grounded", format, doubted, []string{`{"day"`, `:"Friday"}`}, `text {"day":"Friday"} stop`},
		{"no documents", format, refused, nil, "refusal I don't know. stop"},
		{"a call", chatTools, call, []string{`{"tool": "find",`, `"arguments": {"day":"Friday"}}`}, called},
		{"a call that must be", chatTools + `,"tool_choice":"required"`, call, []string{`{"tool"`}, called},
		{"a call that was cut", chatTools, cut, []string{`{"tool": "find",`}, `text {"tool": "find","arguments":{"day length`},
		{"text beside tools", chatTools, text, []string{"On ", "Friday."}, "text On Friday. stop"},
		{"no documents beside tools", chatTools, refused, nil, "text I don't know. stop"},
		{"no documents for a call", chatTools + `,"tool_choice":"required"`, refused, nil, "refusal I don't know. stop"},
		{"a call that no tool is asked for", `"n":1`, call, nil, "text " + call.Answer + " stop"},
	} {
		a := &asker{answer: c.answer}
		srv := testServer(t, a.backend(), fixed)
		body := `{"model":"mail","messages":[{"role":"user","content":"When?"}],` + c.more
		got := exchangeRaw(t, srv, raw(chatPath, body+`}`))
		var whole chatCompletion
		if err := json.Unmarshal([]byte(got.text), &whole); err != nil || got.StatusCode != 200 {
			t.Fatal(c.name, got.Status, got.text, err)
		}
		m := whole.Choices[0].Message
		said := told(m.Content, m.Refusal, m.Calls) + " " + whole.Choices[0].Finish
		if said != c.want {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
		a = &asker{answer: c.answer, pieces: c.pieces}
		got = exchangeRaw(t, testServer(t, a.backend(), fixed), raw(chatPath, body+`,"stream":true}`))
		chunks, _ := chunkLines(t, got.text)
		var content, refusal, finish string
		var calls []chatToolCall
		for _, chunk := range chunks {
			d := chunk.Choices[0].Delta
			if d.Content != nil {
				content += *d.Content
			}
			if d.Refusal != nil {
				refusal += *d.Refusal
			}
			if calls = append(calls, d.Calls...); chunk.Choices[0].Finish != nil {
				finish = *chunk.Choices[0].Finish
			}
		}
		if said := told(&content, &refusal, calls) + " " + finish; said != c.want {
			t.Errorf("%s, streamed: %q, want %q", c.name, said, c.want)
		}
	}
}

// told is what a message says, in words.
func told(content, refusal *string, calls []chatToolCall) string {
	switch {
	case len(calls) > 0:
		return "call " + calls[0].Function.Name + " " + calls[0].Function.Arguments
	case refusal != nil && *refusal != "":
		return "refusal " + *refusal
	case content != nil:
		return "text " + *content
	}
	return "nothing"
}

// The newer interface has items and events of its own for calls and refusals.
func TestFormedResponses(t *testing.T) {
	call, refused := chatAnswer(), chatAnswer()
	call.Answer = `{"tool": "find","arguments": {"day":"Friday"}}`
	refused.Answer, refused.Refused = "I don't know.", true
	for _, c := range []struct {
		more   string
		answer Answer
		item   string
		events string
	}{
		{
			plainTools, call,
			`{"type":"function_call","id":"fc_r1","status":"completed","call_id":"call_r1","name":"find","arguments":"{\"day\":\"Friday\"}"}`,
			"created in_progress output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed",
		},
		{
			`"text":{"format":{"type":"json_object"}}`, refused,
			`{"type":"message","id":"msg_r1","status":"completed","role":"assistant","content":[{"type":"refusal","text":"","refusal":"I don't know.","annotations":[]}]}`,
			"created in_progress output_item.added content_part.added refusal.delta refusal.done content_part.done output_item.done completed",
		},
	} {
		a := &asker{answer: c.answer}
		srv := testServer(t, a.backend(), fixed)
		body := `{"model":"mail","input":"When?",` + c.more
		got := exchangeRaw(t, srv, raw("POST /v1/responses", body+`}`, "X-Request-Id: r1", "Authorization: Bearer "+mailAskToken))
		if !strings.Contains(got.text, `"output":[`+c.item+`]`) {
			t.Errorf("no %s in %s", c.item, got.text)
		}
		got = exchangeRaw(t, srv, raw("POST /v1/responses", body+`,"stream":true}`, "X-Request-Id: r1", "Authorization: Bearer "+mailAskToken))
		var events []string
		for line := range strings.SplitSeq(got.text, "\n") {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "event: response."); ok {
				events = append(events, name)
			}
		}
		if names := strings.Join(events, " "); names != c.events || !strings.Contains(got.text, c.item) {
			t.Errorf("events %s, want %s: %s", names, c.events, got.text)
		}
	}
}

// A model whose template has no tools refuses them by name.
func TestToolsAreRefused(t *testing.T) {
	a := &asker{err: fault.New(fault.Unsupported, "backend", "no tools")}
	for path, body := range map[string]string{
		"chat/completions": `"messages":[{"role":"user","content":"When?"}],` + chatTools, "responses": `"input":"When?",` + plainTools,
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			got := exchangeRaw(t, testServer(t, a.backend()), raw("POST /v1/"+path, `{"model":"mail",`+body+stream+`}`))
			if got.StatusCode != 400 || !strings.Contains(got.text, "unsupported_parameter") || !strings.Contains(got.text, `"field":"/tools"`) {
				t.Error(got.Status, got.text)
			}
		}
	}
}

// What was sent stays the beginning of what follows, also if one stop is within another.
func TestStopsWithinEachOther(t *testing.T) {
	for _, tt := range []struct {
		stops chatStops
		want  string
	}{{chatStops{"Friday", "ri"}, "On F"}, {chatStops{"day", "Frida"}, "On "}, {chatStops{"day", "Friday"}, "On "}} {
		const text = "On Friday."
		sent := ""
		for n := range len(text) + 1 {
			now := tt.stops.ready(text[:n])
			if !strings.HasPrefix(now, sent) {
				t.Fatalf("%q was sent, now %q is ready", sent, now)
			}
			sent = now
		}
		if whole, found := tt.stops.cut(text); !found || sent != tt.want || whole != tt.want {
			t.Errorf("%q: %q sent, %q in all", tt.stops, sent, whole)
		}
	}
}
