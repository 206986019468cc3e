package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrongOpenAI lists OpenAI requests that are wrong in one way each.
func wrongOpenAI() []wrongRequest {
	const (
		user   = `{"role":"user","content":"When?"}`
		embed  = "POST /v1/embeddings"
		refuse = "unsupported_parameter"
	)
	ask := func(headers ...string) string {
		return raw(chatPath, `{"model":"mail","messages":[`+user+`]}`, headers...)
	}
	chat := func(field string) string { return raw(chatPath, `{"model":"mail","messages":[`+user+`],`+field+`}`) }
	said := func(messages string) string { return raw(chatPath, `{"model":"mail","messages":[`+messages+`]}`) }
	content := func(parts string) string { return said(`{"role":"user","content":[` + parts + `]}`) }
	input := func(input string) string { return raw(embed, `{"model":"m","input":`+input+`}`) }
	return []wrongRequest{
		{"no token", ask("Authorization:"), wrongAnswer{401, "unauthorized", ""}},
		{"another type", ask("Content-Type: text/plain"), wrongAnswer{415, "media_type", ""}},
		{"compressed", ask("Content-Encoding: gzip"), wrongAnswer{415, "media_type", ""}},
		{"no body", raw(chatPath, "", "Content-Type: application/json"), wrongAnswer{400, "bad_body", ""}},
		{"not JSON", raw(chatPath, "model=mail"), wrongAnswer{400, "bad_body", ""}},
		{"not UTF-8", raw(chatPath, "{\"model\":\"\xff\"}"), wrongAnswer{400, "bad_body", ""}},
		{"a list", raw(chatPath, "[]"), wrongAnswer{400, "invalid", ""}},
		{"too large", raw(chatPath, strings.Repeat(" ", 2<<20)+"{}"), wrongAnswer{413, "too_large", ""}},
		{"deep", chat(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), wrongAnswer{400, "bad_body", ""}},
		{"GET", raw("GET /v1/chat/completions", ""), wrongAnswer{405, "method_not_allowed", ""}},

		// The model.
		{"no model", raw(chatPath, `{"messages":[`+user+`]}`), wrongAnswer{400, "invalid", "/model"}},
		{"an empty model", raw(chatPath, `{"model":"","messages":[`+user+`]}`), wrongAnswer{400, "invalid", "/model"}},
		{"a model that is null", raw(chatPath, `{"model":null,"messages":[`+user+`]}`), wrongAnswer{400, "invalid", "/model"}},
		{"a model that is a number", raw(chatPath, `{"model":4,"messages":[`+user+`]}`), wrongAnswer{400, "invalid", "/model"}},
		{"a model that no space can be", raw(chatPath, `{"model":"GPT/4","messages":[`+user+`]}`), wrongAnswer{404, "model_not_found", ""}},
		{"another space", raw(chatPath, `{"model":"other","messages":[`+user+`]}`, "Authorization: Bearer "+mailAdminToken), wrongAnswer{403, "forbidden", ""}},
		{"a name that no space can be, with a token of one", raw(chatPath, `{"model":"GPT/4","messages":[`+user+`]}`, "Authorization: Bearer "+mailAdminToken), wrongAnswer{403, "forbidden", ""}},

		// The messages.
		{"no messages", raw(chatPath, `{"model":"mail"}`), wrongAnswer{400, "invalid", "/messages"}},
		{"no message", said(""), wrongAnswer{400, "invalid", "/messages"}},
		{"messages that are text", raw(chatPath, `{"model":"mail","messages":"When?"}`), wrongAnswer{400, "invalid", "/messages"}},
		{"a message that is text", said(`"When?"`), wrongAnswer{400, "invalid", "/messages/0"}},
		{"a message that is null", said("null"), wrongAnswer{400, "invalid", "/messages/0"}},
		{"no role", said(`{"content":"When?"}`), wrongAnswer{400, "invalid", "/messages/0/role"}},
		{"an unknown role", said(`{"role":"oracle","content":"When?"},` + user), wrongAnswer{400, "invalid", "/messages/0/role"}},
		{"a role that is null", said(`{"role":null,"content":"When?"}`), wrongAnswer{400, "invalid", "/messages/0/role"}},
		{"a tool's result", said(`{"role":"tool","content":"4","tool_call_id":"a"},` + user), wrongAnswer{400, "invalid", "/messages/0/tool_call_id"}},
		{"a function's result", said(`{"role":"function","content":"4","name":"a"},` + user), wrongAnswer{400, refuse, "/messages/0/role"}},
		{"the last is the assistant's", said(user + `,{"role":"assistant","content":"On"}`), wrongAnswer{400, "invalid", "/messages/1/role"}},
		{"the last is the system's", said(`{"role":"system","content":"Be short."}`), wrongAnswer{400, "invalid", "/messages/0/role"}},
		{"no content", said(`{"role":"user"}`), wrongAnswer{400, "invalid", "/messages/0/content"}},
		{"content that is null", said(user + `,{"role":"user","content":null}`), wrongAnswer{400, "invalid", "/messages/1/content"}},
		{"content that is a number", said(`{"role":"user","content":4}`), wrongAnswer{400, "invalid", "/messages/0/content"}},
		{"content that is an object", said(`{"role":"user","content":{"type":"text","text":"When?"}}`), wrongAnswer{400, "invalid", "/messages/0/content"}},
		{"an empty question", said(`{"role":"user","content":" "}`), wrongAnswer{400, "invalid", "/messages/0/content"}},
		{"no part", content(""), wrongAnswer{400, "invalid", "/messages/0/content"}},
		{"a part that is text", content(`"When?"`), wrongAnswer{400, "invalid", "/messages/0/content/0"}},
		{"a part without a type", content(`{"text":"When?"}`), wrongAnswer{400, "invalid", "/messages/0/content/0/type"}},
		{"a part without text", content(`{"type":"text","text":"When?"},{"type":"text"}`), wrongAnswer{400, "invalid", "/messages/0/content/1/text"}},
		{"a part whose text is a number", content(`{"type":"text","text":4}`), wrongAnswer{400, "invalid", "/messages/0/content/0/text"}},
		{"an image", content(`{"type":"text","text":"Who?"},{"type":"image_url","image_url":{"url":"data:"}}`), wrongAnswer{400, refuse, "/messages/0/content/1/type"}},
		{"sound", content(`{"type":"text","text":"Who?"},{"type":"input_audio","input_audio":{}}`), wrongAnswer{400, refuse, "/messages/0/content/1/type"}},
		{"a file", content(`{"type":"text","text":"Who?"},{"type":"file","file":{}}`), wrongAnswer{400, refuse, "/messages/0/content/1/type"}},
		{"tools were called", said(`{"role":"assistant","content":"","tool_calls":[{"id":"a"}]},` + user), wrongAnswer{400, "invalid", "/messages/0/tool_calls/0"}},
		{"a function was called", said(`{"role":"assistant","content":"","function_call":{}},` + user), wrongAnswer{400, refuse, "/messages/0/function_call"}},
		{"sound was said", said(`{"role":"assistant","content":"","audio":{"id":"a"}},` + user), wrongAnswer{400, refuse, "/messages/0/audio"}},

		// What is not done here.
		{"a tool of another type", chat(`"tools":[{"type":"web_search"}]`), wrongAnswer{400, refuse, "/tools/0/type"}},
		{"a tool without a name", chat(`"tools":[{"type":"function","function":{}}]`), wrongAnswer{400, "invalid", "/tools/0/function/name"}},
		{"a tool with a strange name", chat(`"tools":[{"type":"function","function":{"name":"a b"}}]`), wrongAnswer{400, "invalid", "/tools/0/function/name"}},
		{"a tool twice", chat(`"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`), wrongAnswer{400, "invalid", "/tools/1/function/name"}},
		{"tools that are text", chat(`"tools":["a"]`), wrongAnswer{400, "invalid", "/tools/0"}},
		{"a tool that is not there must be called", chat(`"tool_choice":"required"`), wrongAnswer{400, "invalid", "/tool_choice"}},
		{"another tool must be called", chat(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}}`), wrongAnswer{400, "invalid", "/tool_choice"}},
		{"a choice of another type", chat(`"tool_choice":{"type":"allowed_tools"}`), wrongAnswer{400, refuse, "/tool_choice"}},
		{"a choice that is unknown", chat(`"tool_choice":"maybe"`), wrongAnswer{400, "invalid", "/tool_choice"}},
		{"the result of no call", said(user + `,{"role":"tool","tool_call_id":"x","content":"1"}`), wrongAnswer{400, "invalid", "/messages/1/tool_call_id"}},
		{"functions", chat(`"functions":[{"name":"a"}]`), wrongAnswer{400, refuse, "/functions"}},
		{"a function must be called", chat(`"function_call":{"name":"a"}`), wrongAnswer{400, refuse, "/function_call"}},
		{"two answers", chat(`"n":2`), wrongAnswer{400, refuse, "/n"}},
		{"no answer", chat(`"n":0`), wrongAnswer{400, refuse, "/n"}},
		{"probabilities", chat(`"logprobs":true`), wrongAnswer{400, refuse, "/logprobs"}},
		{"other words' probabilities", chat(`"top_logprobs":3`), wrongAnswer{400, refuse, "/top_logprobs"}},
		{"words made likely", chat(`"logit_bias":{"50256":-100}`), wrongAnswer{400, refuse, "/logit_bias"}},
		{"a penalty on frequency", chat(`"frequency_penalty":0.5`), wrongAnswer{400, refuse, "/frequency_penalty"}},
		{"a penalty on presence", chat(`"presence_penalty":-1`), wrongAnswer{400, refuse, "/presence_penalty"}},
		{"a number to stop at", chat(`"stop":7`), wrongAnswer{400, "invalid", "/stop"}},
		{"nothing to stop at", chat(`"stop":["x",""]`), wrongAnswer{400, "invalid", "/stop"}},
		{"five texts to stop at", chat(`"stop":["a","b","c","d","e"]`), wrongAnswer{400, "invalid", "/stop"}},
		{"an answer in XML", chat(`"response_format":{"type":"xml"}`), wrongAnswer{400, refuse, "/response_format"}},
		{"a schema that is missing", chat(`"response_format":{"type":"json_schema","json_schema":{"name":"a"}}`), wrongAnswer{400, "invalid", "/response_format/json_schema/schema"}},
		{"JSON up to a text", chat(`"response_format":{"type":"json_object"},"stop":"}"`), wrongAnswer{400, refuse, "/stop"}},
		{"an answer aloud", chat(`"modalities":["text","audio"]`), wrongAnswer{400, refuse, "/modalities"}},
		{"a voice", chat(`"audio":{"voice":"alloy"}`), wrongAnswer{400, refuse, "/audio"}},

		// Values.
		{"a form of the answer that is text", chat(`"response_format":"text"`), wrongAnswer{400, "invalid", "/response_format"}},
		{"stream in words", chat(`"stream":"yes"`), wrongAnswer{400, "invalid", "/stream"}},
		{"options that are a list", chat(`"stream_options":[]`), wrongAnswer{400, "invalid", "/stream_options"}},
		{"usage in words", chat(`"stream_options":{"include_usage":"yes"}`), wrongAnswer{400, "invalid", "/stream_options/include_usage"}},
		{"no tokens", chat(`"max_tokens":0`), wrongAnswer{400, "invalid", "/max_tokens"}},
		{"fewer than none", chat(`"max_completion_tokens":-1`), wrongAnswer{400, "invalid", "/max_completion_tokens"}},
		{"half a token", chat(`"max_tokens":1.5`), wrongAnswer{400, "invalid", "/max_tokens"}},
		{"tokens in words", chat(`"max_tokens":"many"`), wrongAnswer{400, "invalid", "/max_tokens"}},
		{"too hot", chat(`"temperature":2.1`), wrongAnswer{400, "invalid", "/temperature"}},
		{"heat in words", chat(`"temperature":"hot"`), wrongAnswer{400, "invalid", "/temperature"}},
		{"more than all", chat(`"top_p":1.1`), wrongAnswer{400, "invalid", "/top_p"}},
		{"half a seed", chat(`"seed":0.5`), wrongAnswer{400, "invalid", "/seed"}},
		{"a field twice", chat(`"n":1,"n":1`), wrongAnswer{400, "invalid", "/n"}},

		// Embeddings.
		{"embeddings: no token", raw(embed, `{"input":"a"}`, "Authorization:"), wrongAnswer{401, "unauthorized", ""}},
		{"embeddings: not JSON", raw(embed, `a`), wrongAnswer{400, "bad_body", ""}},
		{"embeddings: no input", raw(embed, `{"model":"m"}`), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: null", input("null"), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: a number", input("4"), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: an object", input(`{"text":"a"}`), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: empty text", input(`""`), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: no text", input("[]"), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: empty text among others", input(`["a"," "]`), wrongAnswer{400, "invalid", "/input/1"}},
		{"embeddings: null among others", input(`["a",null]`), wrongAnswer{400, "invalid", "/input/1"}},
		{"embeddings: an object among others", input(`["a",{}]`), wrongAnswer{400, "invalid", "/input/1"}},
		{"embeddings: tokens", input("[15,33]"), wrongAnswer{400, refuse, "/input"}},
		{"embeddings: lists of tokens", input("[[15,33],[1]]"), wrongAnswer{400, refuse, "/input"}},
		{"embeddings: too many texts", input(`["a"` + strings.Repeat(`,"a"`, maxInputs) + `]`), wrongAnswer{400, "invalid", "/input"}},
		{"embeddings: too long a text", input(fmt.Sprintf("[%q]", strings.Repeat("a", maxInput+1))), wrongAnswer{400, "invalid", "/input/0"}},
		{"embeddings: another encoding", raw(embed, `{"input":"a","encoding_format":"hex"}`), wrongAnswer{400, "invalid", "/encoding_format"}},
		{"embeddings: dimensions in words", raw(embed, `{"input":"a","dimensions":"all"}`), wrongAnswer{400, "invalid", "/dimensions"}},
		{"embeddings: no dimensions", raw(embed, `{"input":"a","dimensions":0}`), wrongAnswer{400, "invalid", "/dimensions"}},
		{"embeddings: a model that is a list", raw(embed, `{"input":"a","model":[]}`), wrongAnswer{400, "invalid", "/model"}},

		// Models.
		{"models: no token", raw("GET /v1/models", "", "Authorization:"), wrongAnswer{401, "unauthorized", ""}},
		{"models: a body", raw("GET /v1/models", "{}"), wrongAnswer{400, "unexpected_body", ""}},
		{"models: deleting one", raw("DELETE /v1/models/mail", ""), wrongAnswer{405, "method_not_allowed", ""}},
	}
}

// Each wrong request gets its problem in both formats, and the backend is not called.
func TestOpenAIWrong(t *testing.T) {
	for _, tt := range wrongOpenAI() {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, Backend{}), tt.text)
			if diff := cmp.Diff(tt.want, a.wrong()); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, a.text)
			}
			if tt.want.Status == 405 {
				return // no operation was reached
			}
			e := a.problem.Error
			if e == nil || e.Message == "" || e.Type == "" || e.Code != tt.want.Problem {
				t.Fatalf("an OpenAI client is not told: %s", a.text)
			}
			param := ""
			if e.Param != nil {
				param = "/" + *e.Param
			}
			if param != tt.want.Field && tt.want.Field != "" {
				t.Errorf("param %q", param)
			}
		})
	}
}
