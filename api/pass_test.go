package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/internal/base/fault"
)

// passed records what an upstream gets.
type passed struct {
	mu  sync.Mutex
	all []string
	err error
}

func (p *passed) upstream() *Upstream {
	return &Upstream{
		Model: func() string { return "big" },
		Has:   func(_ context.Context, model string) bool { return model == "big" || model == "Other/Model:7b" },
		Send: func(_ context.Context, q Passed) (*http.Response, error) {
			var body []byte
			if q.Body != nil {
				var err error
				if body, err = io.ReadAll(q.Body); err != nil {
					return nil, err
				}
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.all = append(p.all, q.Method+" "+q.Path+" "+q.Query+" "+string(body))
			if p.err != nil {
				return nil, p.err
			}
			return &http.Response{StatusCode: 201, Header: http.Header{"Content-Type": {"audio/mpeg"}, "Set-Cookie": {"a=b"}}, Body: io.NopCloser(strings.NewReader("from the server"))}, nil
		},
	}
}

func (p *passed) was() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return all
}

const oneTurn = `"messages":[{"role":"user","content":"When?"}]`

// What percached does not serve goes to the server, with a token that may do so.
func TestPass(t *testing.T) {
	const image = `[{"type":"image_url","image_url":{"url":"data:"}}]`
	long := strings.Repeat("x", 2<<20)
	for _, tc := range []struct {
		name, what, body, token string
		status                  int
		passed                  string // what the server gets; empty: nothing
	}{
		{"another path", "POST /v1/audio/speech?a=b", `{"input":"hi"}`, writeToken, 201, `POST /v1/audio/speech a=b {"input":"hi"}`},
		{"a path without a body", "GET /v1/files", "", writeToken, 201, "GET /v1/files  "},
		{"a part of a known path", "POST /v1/completions", `{"prompt":"a"}`, writeToken, 201, `POST /v1/completions  {"prompt":"a"}`},
		{"deleting", "DELETE /v1/files/1", "", writeToken, 403, ""},
		{"deleting, as an admin", "DELETE /v1/files/1", "", adminToken, 201, "DELETE /v1/files/1  "},
		{"a token that asks", "POST /v1/audio/speech", `{}`, askToken, 403, ""},
		{"a token for one space", "POST /v1/audio/speech", `{}`, mailAdminToken, 403, ""},
		{"no token", "POST /v1/audio/speech", `{}`, "", 401, ""},
		{"a path of percached that is none", "GET /v1/spaces/mail/nothing", "", adminToken, 404, ""},
		{"not the interface", "GET /other", "", adminToken, 404, ""},
		{"a space", chatPath, `{"model":"mail",` + oneTurn + `}`, writeToken, 200, ""},
		{"a model of the server", chatPath, `{"model":"Other/Model:7b",` + oneTurn + `}`, writeToken, 201, `POST /v1/chat/completions  {"model":"Other/Model:7b",` + oneTurn + `}`},
		{"a model of the server, for a token that asks", chatPath, `{"model":"Other/Model:7b",` + oneTurn + `}`, askToken, 404, ""},
		{"a model that neither has", chatPath, `{"model":"Nothing",` + oneTurn + `}`, writeToken, 404, ""},
		{"a space that does not exist", chatPath, `{"model":"none",` + oneTurn + `}`, writeToken, 404, ""},
		{"an image", chatPath, `{"messages":[{"role":"user","content":` + image + `}],"model":"mail"}`, writeToken, 201, `POST /v1/chat/completions  {"messages":[{"role":"user","content":` + image + `}],"model":"big"}`},
		{"an image, for a token that asks", chatPath, `{"model":"mail","messages":[{"role":"user","content":` + image + `}]}`, askToken, 400, ""},
		{"a wrong request", chatPath, `{"model":"mail","messages":[]}`, writeToken, 400, ""},
		{"a large body for a model of the server", chatPath, `{"model":"big","user":"` + long + `",` + oneTurn + `}`, writeToken, 201, `POST /v1/chat/completions  {"model":"big","user":"` + long + `",` + oneTurn + `}`},
		{"a large body that is no JSON, for a token that asks", chatPath, `{"model":"` + long, askToken, 413, ""}, // not read to see that
		{"a large body for a space", chatPath, `{"model":"mail","user":"` + long + `",` + oneTurn + `}`, writeToken, 413, ""},
		{"a response", "POST /v1/responses", `{"model":"big","input":"When?","background":true}`, writeToken, 201, `POST /v1/responses  {"model":"big","input":"When?","background":true}`},
		{"vectors", "POST /v1/embeddings", `{"model":"big","input":[[1,2]]}`, writeToken, 201, `POST /v1/embeddings  {"model":"big","input":[[1,2]]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &asker{answer: chatAnswer()}
			b := a.backend()
			ask := b.Ask
			b.Ask = func(ctx context.Context, q AskRequest, l Listener) (Answer, error) {
				if q.Space == "none" || q.Space == "big" {
					return Answer{}, fault.New(fault.NotFound, "test", "no such space")
				}
				return ask(ctx, q, l)
			}
			p := &passed{}
			srv := testServer(t, b, func(o *Options) { o.Upstream = p.upstream() })
			token := "Authorization: Bearer " + tc.token
			if tc.token == "" {
				token = "Authorization: "
			}
			resp, body := send(t, srv, tc.what, tc.body, token)
			var want []string
			how := ""
			if tc.passed != "" {
				want, how = []string{tc.passed}, "passed"
			} else if resp.StatusCode == 200 {
				how = "computed"
			}
			if diff := cmp.Diff(want, p.was()); diff != "" || resp.StatusCode != tc.status || resp.Header.Get(answerHeader) != how {
				t.Errorf("status %d, want %d; %s %q\n%.300s\n%.2000s", resp.StatusCode, tc.status, answerHeader, resp.Header.Get(answerHeader), body, diff)
			}
			if how == "passed" && (body != "from the server" || resp.Header.Get("Content-Type") != "audio/mpeg" || resp.Header.Get("Set-Cookie") != "" || len(a.was()) != 0) {
				t.Errorf("the response is %q with %v, and %d questions were asked", body, resp.Header, len(a.was()))
			}
		})
	}
}

// A form that the engine cannot hold an answer to is passed on, but no fault of a space's settings.
func TestPassUnsupported(t *testing.T) {
	p := &passed{}
	srv := testServer(t, Backend{Ask: func(context.Context, AskRequest, Listener) (Answer, error) {
		return Answer{}, fault.New(fault.Unsupported, "test", "not here")
	}}, func(o *Options) { o.Upstream = p.upstream() })
	for body, want := range map[string]int{
		`{"model":"mail",` + oneTurn + `}`:                                                       501,
		`{"model":"mail","tools":null,` + oneTurn + `}`:                                          501,
		`{"model":"mail","response_format":{"type":"json_object"},` + oneTurn + `}`:              201,
		`{"model":"mail","tools":[{"type":"function","function":{"name":"f"}}],` + oneTurn + `}`: 201,
	} {
		if resp, text := send(t, srv, chatPath, body); resp.StatusCode != want || len(p.was()) > 0 != (want == 201) {
			t.Errorf("%s: %s, want %d: %s", body, resp.Status, want, text)
		}
	}
}

// A passed request counts in the token's quota, as a question if the model generates, and is in
// the audit log without its path and text.
func TestPassCounts(t *testing.T) {
	for _, tc := range []struct {
		what, body, token string
		asks, status      int
		want              Audited
	}{
		{"POST /v1/completions", `{"prompt":"dentist"}`, writeToken, 1, 201, Audited{Operation: "pass", Token: "write", Answer: "passed", IDs: map[string]string{"path": "completions"}}},
		{"POST /v1/dentist/ferry", `{}`, writeToken, 1, 201, Audited{Operation: "pass", Token: "write", Answer: "passed", IDs: map[string]string{"path": "other"}}},
		{"POST /v1/files", `{}`, writeToken, 0, 201, Audited{Operation: "pass", Token: "write", Answer: "passed", IDs: map[string]string{"path": "files"}}},
		{"GET /v1/files/dentist", "", writeToken, 0, 201, Audited{Operation: "pass", Token: "write", Answer: "passed", IDs: map[string]string{"path": "files"}}},
		{"POST /v1/completions", `{}`, askToken, 0, 403, Audited{Operation: "pass", Token: "ask", Outcome: "forbidden", IDs: map[string]string{"path": "completions"}}},
		{chatPath, `{"model":"big",` + oneTurn + `}`, writeToken, 1, 201, Audited{Operation: "createChatCompletion", Token: "write", Answer: "passed", IDs: map[string]string{"path": "chat"}}},
	} {
		t.Run(tc.what+" "+tc.token, func(t *testing.T) {
			q := &quotas{booked: map[string]int64{}}
			var log []Audited
			srv := testServer(t, Backend{Ask: func(context.Context, AskRequest, Listener) (Answer, error) {
				return Answer{}, fault.New(fault.NotFound, "test", "no such space")
			}}, func(o *Options) {
				o.Upstream, o.Quota = (&passed{}).upstream(), q.take
				o.Audit = Audit{Ready: func() error { return nil }, Write: func(a Audited) { log = append(log, a) }}
			})
			resp, body := send(t, srv, tc.what, tc.body, "Authorization: Bearer "+tc.token)
			srv.Close() // a record follows its response
			want := map[string]int64{tc.want.Token + "0": 1}
			if tc.asks > 0 {
				want[tc.want.Token+"1"] = int64(tc.asks)
			}
			if d := cmp.Diff(want, q.booked); d != "" || resp.StatusCode != tc.status {
				t.Errorf("%s: %s\n%s", resp.Status, body, d)
			}
			record, outcome := tc.want, "done"
			if record.Outcome != "" {
				outcome = record.Outcome
			}
			record.Status, record.Outcome = tc.status, outcome
			if d := cmp.Diff([]Audited{record}, log, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Audited{}, "Name", "Request", "Sync")); d != "" {
				t.Error(d)
			}
		})
	}
}

// Without a server nothing is passed on, and a server that fails is a part that fails.
func TestPassNothing(t *testing.T) {
	srv := testServer(t, Backend{})
	if resp, body := send(t, srv, "POST /v1/audio/speech", "{}"); resp.StatusCode != 404 {
		t.Errorf("without a server: %s %s", resp.Status, body)
	}
	p := &passed{err: fault.New(fault.Unavailable, "test", "the server is gone")}
	srv = testServer(t, Backend{}, func(o *Options) { o.Upstream = p.upstream() })
	if resp, body := send(t, srv, "POST /v1/audio/speech", "{}"); resp.StatusCode != 503 || !strings.Contains(body, "the server is gone") {
		t.Errorf("with a server that is gone: %s %s", resp.Status, body)
	}
}

// What a server's prefix cache had depends on other spaces, so a token of one does not see it.
func TestPrefixCacheIsShared(t *testing.T) {
	for token, want := range map[string]string{mailAskToken: `"cached_tokens":0`, askToken: `"cached_tokens":60`} {
		srv := testServer(t, (&asker{answer: chatAnswer()}).backend(), func(o *Options) { o.Upstream = (&passed{}).upstream() })
		if _, body := send(t, srv, chatPath, `{"model":"mail",`+oneTurn+`}`, "Authorization: Bearer "+token); !strings.Contains(body, want) {
			t.Errorf("%s: no %s in %s", token, want, body)
		}
	}
}

// A stream says in its header whether a stored answer is served.
func TestAnswerHeader(t *testing.T) {
	for how, stages := range map[string][]string{"served": {"match_question"}, "computed": {"match_question", "match_tensors"}} {
		b := Backend{Ask: func(_ context.Context, _ AskRequest, l Listener) (Answer, error) {
			for _, s := range stages {
				l.Stage(Stage{Name: s})
			}
			l.Token("On Friday.")
			a := chatAnswer()
			if a.Outcome = "miss"; how == "served" {
				a.Outcome = "answer_hit"
			}
			return a, nil
		}}
		srv := testServer(t, b)
		for _, what := range []string{chatPath + ` {"model":"mail","stream":true,` + oneTurn + `}`, `POST /v1/responses {"model":"mail","stream":true,"input":"When?"}`} {
			op, body, _ := strings.Cut(what, " {")
			for _, token := range []string{askToken, mailAskToken} {
				if resp, text := send(t, srv, op, "{"+body, "Authorization: Bearer "+token); resp.Header.Get(answerHeader) != how {
					t.Errorf("%s: %q, want %q: %s", op, resp.Header.Get(answerHeader), how, text)
				}
			}
		}
	}
}
