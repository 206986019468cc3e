package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

const chatPath = "POST /v1/chat/completions"

// chatAnswer is an answer of the model with stored tensors of one chunk.
func chatAnswer() Answer {
	return Answer{
		Answer: "On Friday.", Outcome: "tensor_hit", Finish: "end", Grounds: Grounds{Grounded: true},
		Citations: []Citation{{Document: percached.NewDocumentID("d"), Chunk: percached.NewChunkID("c"), About: "Plan", Quote: "on Friday"}},
		Gate:      Gate{Why: "nothing near"}, Chunks: Reuse{Stored: 1, All: 2},
		Tokens: Tokens{Prompt: 100, Reused: 60, Computed: 40, Generated: 4, Attended: 3010}, Times: map[string]float64{"total_ms": 1.5},
	}
}

// asker is a backend that answers and records its input.
type asker struct {
	pieces []string // that come before the answer
	answer Answer
	err    error

	mu    sync.Mutex
	asked []AskRequest
}

func (a *asker) backend() Backend {
	return Backend{Ask: func(_ context.Context, q AskRequest, l Listener) (Answer, error) {
		a.mu.Lock()
		a.asked = append(a.asked, q)
		a.mu.Unlock()
		for _, p := range a.pieces {
			l.Token(p)
		}
		return a.answer, a.err
	}}
}

func (a *asker) was() []AskRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// fixed replaces the parts of a response that differ between runs.
func fixed(o *Options) { o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) } }

func TestChat(t *testing.T) {
	a := &asker{answer: chatAnswer()}
	srv := testServer(t, a.backend(), fixed)
	got := exchangeRaw(t, srv, raw(chatPath, `{"model":"mail","messages":[{"role":"user","content":"When?"}]}`, "X-Request-Id: r1", "Authorization: Bearer "+mailAskToken))
	want := `{"id":"chatcmpl-r1","object":"chat.completion","created":1700000000,"model":"mail",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"On Friday.","refusal":null},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":100,"completion_tokens":4,"total_tokens":104,"prompt_tokens_details":{"cached_tokens":60}},` +
		`"percached":{"outcome":"tensor_hit","refused":false,"grounded":true,"citations":[{"document":"` + percached.NewDocumentID("d").String() + `","chunk":"` +
		percached.NewChunkID("c").String() + `","about":"Plan","quote":"on Friday"}],"gate":{"why":"nothing near"},"chunks":{"stored":1,"all":2},` +
		`"tokens":{"prompt":100,"reused":60,"computed":40,"generated":4,"attended":3010},"times":{"total_ms":1.5}}}` + "\n"
	if diff := cmp.Diff(want, got.text); diff != "" || got.StatusCode != 200 || got.Header.Get("Content-Type") != jsonType {
		t.Error(got.Status, diff)
	}
	if diff := cmp.Diff([]AskRequest{{Space: "mail", Question: Question{Question: "When?"}}}, a.was()); diff != "" {
		t.Error(diff)
	}
}

// doubtful is an answer that is not grounded.
func doubtful() Answer {
	a := chatAnswer()
	a.Grounds = Grounds{Missing: []string{"Friday"}, Instead: &Instead{Text: "The plan was for Friday.", Marks: []Mark{{4, 8}, {17, 23}}}}
	return a
}

// An answer that is not grounded is replaced by the documents' text.
func TestChatIsHonest(t *testing.T) {
	a := &asker{answer: doubtful()}
	got := exchangeRaw(t, testServer(t, a.backend()), raw(chatPath, `{"model":"mail","messages":[{"role":"user","content":"When?"}]}`))
	var c chatCompletion
	if err := json.Unmarshal([]byte(got.text), &c); err != nil {
		t.Fatal(err)
	}
	if got, want := *c.Choices[0].Message.Content, "Not sure; the documents say:\n\nThe **plan** was for **Friday**."; got != want || c.Own.Grounded {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChatAsks(t *testing.T) {
	when := Question{Question: "When?"}
	user := `{"role":"user","content":"When?"}`
	chat := func(messages, more string) string {
		return `{"model":"mail","messages":[` + messages + `]` + more + `}`
	}
	tests := []struct {
		name string
		body string
		want AskRequest
	}{
		{"a question", chat(user, ""), AskRequest{Question: when}},
		{"a question in parts", chat(`{"role":"user","content":[{"type":"text","text":"Who,"},{"type":"text","text":"and when?"}]}`, ""), AskRequest{Question: Question{Question: "Who,\nand when?"}}},
		{
			"earlier turns", chat(`{"role":"user","content":"Who?"},{"role":"assistant","content":[{"type":"text","text":"Ana."}]},{"role":"assistant","content":null},`+user, ""),
			AskRequest{Question: when, Earlier: []Turn{{"user", "Who?"}, {"assistant", "Ana."}}},
		},
		{
			"instructions", chat(`{"role":"system","content":"Be short."},{"role":"developer","content":"Be kind."},`+user, ""),
			AskRequest{Question: when, Instructions: "Be short.\n\nBe kind."},
		},
		{
			"instructions in between", chat(`{"role":"user","content":"Who?","name":"ana"},{"role":"system","content":"Be short."},`+user, ""),
			AskRequest{Question: when, Earlier: []Turn{{"user", "Who?"}}, Instructions: "Be short."},
		},
		{"empty messages say nothing", chat(`{"role":"system","content":""},{"role":"assistant","content":" "},`+user, ""), AskRequest{Question: when}},
		{"the older limit", chat(user, `,"max_tokens":7`), AskRequest{Question: when, MaxTokens: 7}},
		{"the newer limit goes first", chat(user, `,"max_completion_tokens":9,"max_tokens":7`), AskRequest{Question: when, MaxTokens: 9}},
		{"what has no effect", chat(user, `,"temperature":0.7,"top_p":1,"seed":42,"user":"ana","metadata":{"a":"b"},"store":true,"n":1,"frequency_penalty":0,
			"presence_penalty":0.0,"response_format":{"type":"text"},"stream":false,"parallel_tool_calls":true,"service_tier":"auto","x":{"y":[1]}`), AskRequest{Question: when}},
		{"what is null", chat(user, `,"temperature":null,"top_p":null,"seed":null,"n":null,"stop":null,"tools":null,"tool_choice":null,"functions":null,"function_call":null,
			"logprobs":null,"top_logprobs":null,"logit_bias":null,"response_format":null,"audio":null,"modalities":null,"max_tokens":null,
			"max_completion_tokens":null,"frequency_penalty":null,"presence_penalty":null,"stream":null,"stream_options":null`), AskRequest{Question: when}},
		{"what asks for nothing", chat(`{"role":"user","content":"When?","tool_calls":[],"function_call":null,"audio":null}`,
			`,"stop":[],"tools":[ ],"functions":[],"tool_choice":"none","function_call":"auto","logprobs":false,"top_logprobs":0,"logit_bias":{ },"modalities":[ "text" ],
			"stream_options":{"include_usage":true,"x":1}`), AskRequest{Question: when}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &asker{answer: chatAnswer()}
			got := exchangeRaw(t, testServer(t, a.backend()), raw(chatPath, tt.body))
			tt.want.Space = "mail"
			if diff := cmp.Diff([]AskRequest{tt.want}, a.was()); diff != "" || got.StatusCode != 200 {
				t.Error(got.Status, got.text, diff)
			}
		})
	}
}

// chunkLines reads a stream as OpenAI's clients do: unnamed data lines up to [DONE].
func chunkLines(t testing.TB, body string) (chunks []chatChunk, last string) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok || strings.Contains(data, "\n") || last != "" {
			t.Fatalf("not an event of a chat: %q", event)
		}
		if data == "[DONE]" || strings.Contains(data, `"error"`) {
			last = data
			continue
		}
		var c chatChunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err, data)
		}
		chunks = append(chunks, c)
	}
	return chunks, last
}

func TestChatStream(t *testing.T) {
	text := func(s string) *string { return &s }
	delta := func(c chatReply, d chatDelta) chatChunk { return c.chunk(chatChunkChoice{Delta: d}) }
	c := chatReply{id: "r1", asked: AskRequest{Space: "mail"}, created: 1_700_000_000}
	end := func(finish string, a Answer) chatChunk {
		chunk := c.chunk(chatChunkChoice{Finish: &finish})
		own := ownOf(c.asked, a)
		chunk.Own = &own
		return chunk
	}
	long, none := chatAnswer(), chatAnswer()
	long.Finish, none.Answer = "length", ""
	doubted, mute := doubtful(), doubtful()
	mute.Answer = ""
	const instead = "Not sure; the documents say:\n\nThe **plan** was for **Friday**."
	usage := c.chunk()
	usage.Usage = &chatUsage{Prompt: 100, Completion: 4, Total: 104}
	usage.Usage.Details.Cached = 60
	role := delta(c, chatDelta{Role: "assistant", Content: text("")})
	tests := []struct {
		name  string
		asker *asker
		more  string
		want  []chatChunk
	}{
		{"in pieces", &asker{pieces: []string{"On ", "Fri", "day."}, answer: chatAnswer()}, "", []chatChunk{
			role, delta(c, chatDelta{Content: text("On ")}), delta(c, chatDelta{Content: text("Fri")}), delta(c, chatDelta{Content: text("day.")}), end("stop", chatAnswer()),
		}},
		{"as a whole", &asker{answer: chatAnswer()}, "", []chatChunk{role, delta(c, chatDelta{Content: text("On Friday.")}), end("stop", chatAnswer())}},
		{"the last piece is missing", &asker{pieces: []string{"On "}, answer: chatAnswer()}, "", []chatChunk{
			role, delta(c, chatDelta{Content: text("On ")}), delta(c, chatDelta{Content: text("Friday.")}), end("stop", chatAnswer()),
		}},
		{"nothing", &asker{answer: none}, "", []chatChunk{role, end("stop", none)}},
		{"cut", &asker{answer: long}, "", []chatChunk{role, delta(c, chatDelta{Content: text("On Friday.")}), end("length", long)}},
		{"not grounded", &asker{pieces: []string{"On ", "Friday."}, answer: doubted}, "", []chatChunk{
			role, delta(c, chatDelta{Content: text("On ")}), delta(c, chatDelta{Content: text("Friday.")}), delta(c, chatDelta{Content: text("\n\n" + instead)}), end("stop", doubted),
		}},
		{"not grounded, and nothing", &asker{answer: mute}, "", []chatChunk{role, delta(c, chatDelta{Content: text(instead)}), end("stop", mute)}},
		{"up to a stop", &asker{pieces: []string{"On ", "Fri", "day."}, answer: chatAnswer()}, `,"stop":["idx","rida"]`, []chatChunk{
			role, delta(c, chatDelta{Content: text("On ")}), delta(c, chatDelta{Content: text("F")}), end("stop", chatAnswer()),
		}},
		{"a stored answer up to a stop", &asker{answer: long}, `,"stop":" Fri"`, []chatChunk{role, delta(c, chatDelta{Content: text("On")}), end("stop", long)}},
		{"what looked like a stop", &asker{pieces: []string{"On Fri", "day."}, answer: chatAnswer()}, `,"stop":"Fridays"`, []chatChunk{
			role, delta(c, chatDelta{Content: text("On ")}), delta(c, chatDelta{Content: text("Friday.")}), end("stop", chatAnswer()),
		}},
		{"with usage", &asker{answer: chatAnswer()}, `,"stream_options":{"include_usage":true}`, []chatChunk{
			role, delta(c, chatDelta{Content: text("On Friday.")}), end("stop", chatAnswer()), usage,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := testServer(t, tt.asker.backend(), fixed)
			got := exchangeRaw(t, srv, raw(chatPath, `{"model":"mail","stream":true,"messages":[{"role":"user","content":"When?"}]`+tt.more+`}`, "X-Request-Id: r1"))
			chunks, last := chunkLines(t, got.text)
			if diff := cmp.Diff(tt.want, chunks); diff != "" || last != "[DONE]" {
				t.Error(last, diff)
			}
			if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/event-stream" {
				t.Error(got.Status, got.Header)
			}
		})
	}
}

// A failure before the first text has a status; a later one ends the stream with an error.
func TestChatFails(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		status  int
		problem string
		kind    string
	}{
		{"no such space", fault.New(fault.NotFound, "bank", "no such space"), 404, "model_not_found", "invalid_request_error"},
		{"too much to do", fault.New(fault.Overloaded, "engine", "busy"), 429, "overloaded", "rate_limit_error"},
		{"too long a question", fault.New(fault.Invalid, "answer", "the question has 9000 bytes"), 400, "invalid", "invalid_request_error"},
		{"a bug", io.ErrUnexpectedEOF, 500, "internal", "server_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []string{"false", "true"} {
				a := &asker{err: tt.err}
				got := exchangeRaw(t, testServer(t, a.backend()), raw(chatPath, `{"model":"mail","stream":`+stream+`,"messages":[{"role":"user","content":"When?"}]}`))
				e := got.problem.Error
				if got.StatusCode != tt.status || got.name() != tt.problem || e == nil || e.Code != tt.problem || e.Type != tt.kind || e.Message == "" {
					t.Errorf("stream %s: %d %s", stream, got.StatusCode, got.text)
				}
			}
			a := &asker{pieces: []string{"On "}, err: tt.err}
			got := exchangeRaw(t, testServer(t, a.backend()), raw(chatPath, `{"model":"mail","stream":true,"messages":[{"role":"user","content":"When?"}]}`))
			chunks, last := chunkLines(t, got.text)
			var p Problem
			if err := json.Unmarshal([]byte(last), &p); err != nil || p.Error == nil || p.Error.Code != tt.problem || len(chunks) != 2 || got.StatusCode != 200 {
				t.Errorf("%v, %d chunks and then %q", err, len(chunks), last)
			}
		})
	}
}

// held is a backend whose answer waits until the client disconnects.
func held() (b Backend, begun chan struct{}, ended chan error) {
	begun, ended = make(chan struct{}), make(chan error, 1)
	return Backend{Ask: func(ctx context.Context, _ AskRequest, l Listener) (Answer, error) {
		if l.Token != nil {
			l.Token("On ")
		}
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return Answer{}, fault.Wrap("held", ctx.Err())
	}}, begun, ended
}

func post(ctx context.Context, t testing.TB, srv *httptest.Server, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+askToken)
	r.Header.Set("Content-Type", jsonType)
	return r
}

// If the client disconnects, its work stops, and that is no failure.
func TestChatDisconnect(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		t.Run("stream "+stream, func(t *testing.T) {
			b, begun, ended := held()
			var log bytes.Buffer
			served := make(chan int, 1)
			srv := testServer(t, b, func(o *Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				o.Observer.Request = func(_ string, status int, _ time.Duration) { served <- status }
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := make(chan string, 1)
			go func() {
				resp, err := srv.Client().Do(post(ctx, t, srv, "/v1/chat/completions", `{"model":"mail","stream":`+stream+`,"messages":[{"role":"user","content":"When?"}]}`))
				if err != nil {
					got <- ""
					return
				}
				defer resp.Body.Close()
				line, _ := bufio.NewReader(resp.Body).ReadString('\n')
				got <- line
				<-ctx.Done()
			}()
			<-begun
			if stream == "true" {
				if line := <-got; !strings.HasPrefix(line, "data: {") {
					t.Error(line)
				}
			}
			cancel()
			<-ended
			if status := <-served; status != statusClientGone || strings.Contains(log.String(), "ERROR") {
				t.Errorf("status %d:\n%s", status, &log)
			}
		})
	}
}

// An answer may take longer than the timeouts for sending and reading.
func TestChatTakesItsTime(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		t.Run("stream "+stream, func(t *testing.T) {
			inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
				began := time.Now()
				c := serve(newServer(t, Backend{Ask: func(ctx context.Context, _ AskRequest, _ Listener) (Answer, error) {
					select {
					case <-ctx.Done():
						return Answer{}, ctx.Err()
					case <-time.After(5 * time.Minute):
						return chatAnswer(), nil
					}
				}})).dial()
				defer c.Close()
				go io.WriteString(c, raw(chatPath, `{"model":"mail","stream":`+stream+`,"messages":[{"role":"user","content":"When?"}]}`))
				if got := response(t, c); got.StatusCode != 200 || !strings.Contains(got.text, "On Friday.") {
					t.Errorf("%d after %v: %s", got.StatusCode, time.Since(began), got.text)
				}
			})
		})
	}
}

// A question that exceeds the time limit ends.
func TestChatTimeout(t *testing.T) {
	b, _, ended := held()
	srv := testServer(t, b, func(o *Options) { o.AskTimeout = time.Millisecond })
	got := exchangeRaw(t, srv, raw(chatPath, `{"model":"mail","messages":[{"role":"user","content":"When?"}]}`))
	if <-ended; got.StatusCode != 504 || got.name() != "timeout" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
