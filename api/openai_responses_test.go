package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const responsesPath = "POST /v1/responses"

func TestResponses(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want AskRequest
	}{
		"a text": {`"input":"When?"`, AskRequest{}},
		"messages": {
			`"input":[{"role":"developer","content":"Be kind."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Who?"}]},` +
				`{"role":"assistant","content":[{"type":"output_text","text":"Ana."}]},{"role":"user","content":"When?"}],"instructions":"Be short.","max_output_tokens":7,` +
				`"tools":[],"temperature":0.5,"previous_response_id":null,"text":{"format":{"type":"text"}},"reasoning":{"effort":"low"},"store":true`,
			AskRequest{Earlier: []Turn{{"user", "Who?"}, {"assistant", "Ana."}}, Instructions: "Be short.\n\nBe kind.", MaxTokens: 7},
		},
	} {
		a := &asker{answer: chatAnswer()}
		got := exchangeRaw(t, testServer(t, a.backend(), fixed), raw(responsesPath, `{"model":"mail",`+tt.body+`}`, "X-Request-Id: r1"))
		tt.want.Space, tt.want.Question.Question = "mail", "When?"
		if diff := cmp.Diff([]AskRequest{tt.want}, a.was()); diff != "" || got.StatusCode != 200 {
			t.Fatal(name, got.Status, got.text, diff)
		}
		var r responsesObject
		if err := json.Unmarshal([]byte(got.text), &r); err != nil {
			t.Fatal(err)
		}
		if r.ID != "resp_r1" || r.Status != "completed" || r.Output[0].Content[0].Text != "On Friday." || r.Usage.Total != 104 || r.Usage.InputDetails.Cached != 60 ||
			r.Own == nil || r.Own.Outcome != "tensor_hit" || (r.Instructions != nil) != (tt.want.Instructions != "") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
}

// A stream has the events that OpenAI's clients expect, in order, and all of the text.
func TestResponsesStream(t *testing.T) {
	cut := chatAnswer()
	cut.Finish = "length"
	for name, tt := range map[string]struct {
		a    *asker
		text string
		end  string
	}{
		"in pieces":    {&asker{pieces: []string{"On ", "Friday."}, answer: chatAnswer()}, "On Friday.", "response.completed"},
		"as a whole":   {&asker{answer: chatAnswer()}, "On Friday.", "response.completed"},
		"cut":          {&asker{answer: cut}, "On Friday.", "response.incomplete"},
		"not grounded": {&asker{pieces: []string{"On Friday."}, answer: doubtful()}, "On Friday.\n\nNot sure; the documents say:\n\nThe **plan** was for **Friday**.", "response.completed"},
	} {
		got := exchangeRaw(t, testServer(t, tt.a.backend(), fixed), raw(responsesPath, `{"model":"mail","stream":true,"input":"When?"}`))
		var types []string
		deltas := ""
		for i, event := range strings.Split(strings.TrimSuffix(got.text, "\n\n"), "\n\n") {
			name, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
			var e responsesEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || e.Type != name || e.Sequence != i {
				t.Fatalf("%q, %v", event, err)
			}
			deltas += e.Delta
			if e.Delta == "" {
				types = append(types, e.Type)
			}
			if last := e.Response; last != nil && last.Status != "in_progress" && last.Output[0].Content[0].Text != tt.text {
				t.Errorf("%s: in the end %+v", name, last.Output)
			}
		}
		want := []string{
			"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
			"response.output_text.done", "response.content_part.done", "response.output_item.done", tt.end,
		}
		if !slices.Equal(types, want) || deltas != tt.text {
			t.Errorf("%s: %v, %q", name, types, deltas)
		}
	}
}

func TestWrongResponses(t *testing.T) {
	for body, want := range map[string]struct{ problem, field string }{
		`"input":""`:         {"invalid", "/input/0/content"},
		`"input":null`:       {"invalid", "/input"},
		`"input":7`:          {"invalid", "/input"},
		`"instructions":"x"`: {"invalid", "/input"},
		`"input":[{"type":"function_call_output"}]`:            {"invalid", "/input/0/call_id"},
		`"input":[{"role":"assistant","content":"On."}]`:       {"invalid", "/input/0/role"},
		`"input":"a","previous_response_id":"resp_1"`:          {"unsupported_parameter", "/previous_response_id"},
		`"input":"a","tools":[{"type":"web_search"}]`:          {"unsupported_parameter", "/tools/0/type"},
		`"input":"a","background":true`:                        {"unsupported_parameter", "/background"},
		`"input":"a","text":{"format":{"type":"json_schema"}}`: {"invalid", "/text/format/schema"},
		`"input":"a","max_output_tokens":0`:                    {"invalid", "/max_output_tokens"},
	} {
		a := &asker{answer: chatAnswer()}
		got := exchangeRaw(t, testServer(t, a.backend()), raw(responsesPath, `{"model":"mail",`+body+`}`))
		if got.StatusCode != 400 || !strings.Contains(got.text, want.problem) || !strings.Contains(got.text, `"field":"`+want.field+`"`) || len(a.was()) > 0 {
			t.Errorf("%s: %s %s", body, got.Status, got.text)
		}
	}
	if got := exchangeRaw(t, testServer(t, (&asker{}).backend()), raw(responsesPath, `{"input":"a"}`)); got.StatusCode != 400 {
		t.Error(got.Status)
	}
	if got := exchangeRaw(t, testServer(t, (&asker{}).backend()), raw(responsesPath, `{"model":"other","input":"a"}`, "Authorization: Bearer "+mailAdminToken)); got.StatusCode != 403 {
		t.Error(got.Status)
	}
}
