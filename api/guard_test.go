package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// about is a backend that describes itself.
func about() Backend {
	return Backend{About: func(context.Context, Nothing) (About, error) { return About{Version: "1"}, nil }}
}

// The daemon accepts its own host names and the configured ones.
func TestHosts(t *testing.T) {
	srv := testServer(t, about(), func(o *Options) {
		o.Hosts = []string{"phone.local", "desk.local:7337", "192.168.1.5", "[fd00::5]"}
	})
	for host, status := range map[string]int{
		"localhost": 200, "localhost:7337": 200, "LOCALHOST:1": 200, "127.0.0.1": 200, "127.0.0.1:80": 200, "[::1]": 200, "[::1]:7337": 200, "127.0.0.2:7337": 200,
		"phone.local": 200, "phone.local:8080": 200, "Phone.Local": 200, "desk.local:7337": 200, "192.168.1.5:7337": 200, "[fd00::5]:7337": 200,
		"desk.local": 403, "desk.local:7338": 403, "phone.local.evil.example": 403, "xphone.local": 403, "192.168.1.50": 403, "[fd00::6]": 403, "[127.0.0.2]": 403, "[localhost]": 403, "127.0.0.2.evil.example": 403,
	} {
		a := exchangeRaw(t, srv, raw("GET /v1/about", "", "Host: "+host))
		if a.StatusCode != status {
			t.Errorf("%s: status %d, want %d", host, a.StatusCode, status)
		}
	}
}

// Pages of an allowed origin may call and get the CORS headers. Pages of the daemon's own
// origin need none.
func TestOrigins(t *testing.T) {
	srv := testServer(t, about(), func(o *Options) { o.Origins = []string{"https://app.example", "http://localhost:3000"} })
	const allow = "Access-Control-Allow-Origin"
	for _, origin := range []string{"https://app.example", "http://localhost:3000"} {
		a := exchangeRaw(t, srv, raw("GET /v1/about", "", "Origin: "+origin, "Sec-Fetch-Site: cross-site"))
		if a.StatusCode != 200 || a.Header.Get(allow) != origin || a.Header.Get("Vary") != "Origin" {
			t.Errorf("%s: status %d, headers %v", origin, a.StatusCode, a.Header)
		}
		a = exchangeRaw(t, srv, raw("GET /v1/about", "", "Origin: "+origin, "Authorization:"))
		if a.StatusCode != 401 || a.Header.Get(allow) != origin {
			t.Errorf("%s: the page does not learn that it lacks a token: status %d", origin, a.StatusCode)
		}
		a = exchangeRaw(t, srv, raw("OPTIONS /v1/spaces/mail/ask", "", "Authorization:", "Origin: "+origin, "Sec-Fetch-Site: cross-site",
			"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,x-stainless-os"))
		if a.StatusCode != 204 || a.Header.Get(allow) != origin || a.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" ||
			!strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), "POST") || a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: preflight: status %d, headers %v", origin, a.StatusCode, a.Header)
		}
	}
	for _, header := range []string{"Origin: http://localhost:7337", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"} {
		a := exchangeRaw(t, srv, raw("GET /v1/about", "", "Host: localhost:7337", header))
		if a.StatusCode != 200 || a.Header.Get(allow) != "" {
			t.Errorf("%s: status %d, headers %v", header, a.StatusCode, a.Header)
		}
	}
	// In front of this one something else speaks TLS, and passes on who was called.
	named := func(o *Options) { o.Hosts = []string{"answers.example.org"} }
	for status, srv := range map[int]*httptest.Server{
		403: testServer(t, about(), named),
		200: testServer(t, about(), named, func(o *Options) { o.Origins = []string{"https://answers.example.org"} }),
	} {
		a := exchangeRaw(t, srv, raw("GET /v1/about", "", "Host: answers.example.org", "Origin: https://answers.example.org", "Sec-Fetch-Site: same-origin"))
		if a.StatusCode != status {
			t.Errorf("behind a proxy: status %d, want %d", a.StatusCode, status)
		}
	}
	closed := testServer(t, about())
	a := exchangeRaw(t, closed, raw("GET /v1/about", "", "Host: localhost:7337", "Origin: http://localhost:7337"))
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("nothing is configured, and there is %s", name)
		}
	}
}

// Every response has the security headers and the request's id.
func TestHeadersOfEveryAnswer(t *testing.T) {
	srv := testServer(t, about())
	for name, text := range map[string]string{
		"good": raw("GET /v1/about", ""), "not allowed": raw("GET /v1/about", "", "Authorization:"), "nowhere": raw("GET /x", ""),
		"bad host": raw("GET /v1/about", "", "Host: evil.example"), "health": raw("GET /healthz", ""), "spec": raw("GET /openapi.yaml", ""),
	} {
		a := exchangeRaw(t, srv, text)
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(a.Header.Get("X-Request-Id")) {
			t.Errorf("%s: id %q", name, a.Header.Get("X-Request-Id"))
		}
		got := http.Header{}
		for _, h := range []string{"X-Content-Type-Options", "Cache-Control", "Cross-Origin-Resource-Policy", "Referrer-Policy"} {
			got[h] = a.Header[h]
		}
		if diff := cmp.Diff(http.Header{
			"X-Content-Type-Options": {"nosniff"}, "Cache-Control": {"no-store"},
			"Cross-Origin-Resource-Policy": {"same-origin"}, "Referrer-Policy": {"no-referrer"},
		}, got); diff != "" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The server keeps a client's request id if it is a plain name.
func TestRequestID(t *testing.T) {
	srv := testServer(t, about())
	for id, kept := range map[string]bool{
		"app-1.2_3": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a\"b": false, "": false, "é": false, "<x>": false,
	} {
		a := exchangeRaw(t, srv, raw("GET /v1/about", "", "X-Request-Id: "+id))
		if got := a.Header.Get("X-Request-Id"); (got == id) != kept || got == "" {
			t.Errorf("id %q became %q", id, got)
		}
	}
	a := exchangeRaw(t, srv, raw("GET /x", "", "X-Request-Id: app-1"))
	if a.problem.Instance != "urn:percached:request:app-1" {
		t.Errorf("instance %q", a.problem.Instance)
	}
}

// HEAD works wherever GET does. Other methods get 405 with Allow.
func TestMethods(t *testing.T) {
	srv := testServer(t, about())
	whole := exchangeRaw(t, srv, raw("GET /v1/about", ""))
	a := exchangeRaw(t, srv, raw("HEAD /v1/about", ""))
	if a.StatusCode != 200 || a.text != "" || a.ContentLength != int64(len(whole.text)) || a.Header.Get("Content-Type") != jsonType {
		t.Errorf("HEAD: status %d, length %d, %q", a.StatusCode, a.ContentLength, a.text)
	}
	for what, want := range map[string][]string{
		"POST /v1/about": {"GET", "HEAD"}, "PUT /v1/spaces/mail": {"GET", "HEAD", "DELETE"}, "GET /v1/spaces/mail/ask": {"POST"},
		"HEAD /v1/events": {"GET"}, "TRACE /healthz": {"GET", "HEAD"}, "PROPFIND /v1/cache": {"GET", "HEAD", "PATCH", "DELETE"},
		"HEAD /v1/spaces/mail/entries/export": {"GET"}, "HEAD /v1/spaces/mail/export": {"GET"}, "HEAD /v1/backup": {"GET"}, "GET /v1/spaces/mail/entries/import": {"POST"}, "DELETE /v1/spaces/mail/entries/search": {"GET", "HEAD"},
	} {
		a := exchangeRaw(t, srv, raw(what, "", "Authorization:"))
		if diff := cmp.Diff(want, a.Header["Allow"]); diff != "" || a.StatusCode != 405 {
			t.Errorf("%s: status %d, Allow (-want +got):\n%s", what, a.StatusCode, diff)
		}
	}
}

// The interface is the same over HTTP/2.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(newServer(t, Backend{Ask: func(_ context.Context, q AskRequest, l Listener) (Answer, error) {
		if l.Token != nil {
			l.Token("Monday")
		}
		return Answer{Answer: "Monday"}, nil
	}}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	resp, text := send(t, srv, askMail, when)
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("%s %s: %s", resp.Proto, resp.Status, text)
	}
	_, text = send(t, srv, askMail, when, events)
	if got := allEvents(t, text); len(got) != 2 || got[0].name != "token" {
		t.Errorf("events %v", got)
	}
	if resp, text := send(t, srv, askMail, "{"); resp.StatusCode != 400 {
		t.Errorf("%s: %s", resp.Status, text)
	}
	resp, text = send(t, srv, "GET /v1/spaces/mail", "{}")
	if resp.StatusCode != 400 || !strings.Contains(text, "unexpected_body") {
		t.Errorf("%s: %s", resp.Status, text)
	}
}

// busyTimes are the times of an answer that waited for other questions.
var busyTimes = map[string]float64{"queue_ms": 4321, "prefill_ms": 50, "store_ms": 12, "total_ms": 4400}

// A token for one space sees the total time of its answer, and nothing that shows the share of
// other spaces. A token for all spaces sees all times.
func TestTimesOfAScopedToken(t *testing.T) {
	srv := testServer(t, Backend{Ask: func(_ context.Context, _ AskRequest, l Listener) (Answer, error) {
		a := Answer{Answer: "Monday", Outcome: "miss", Citations: []Citation{}, Times: busyTimes, Joules: new(98.75)}
		if l.Stage != nil {
			l.Stage(Stage{"retrieve", 1})
			l.Stage(Stage{"queue", 4321})
		}
		if l.Token != nil {
			l.Token("Monday")
		}
		return a, nil
	}})
	const chat = `{"model":"mail","messages":[{"role":"user","content":"when?"}]}`
	for _, tc := range []struct {
		name, what, body string
		headers          []string
	}{
		{"whole", askMail, when, nil},
		{"stream", askMail, when, []string{events}},
		{"chat", "POST /v1/chat/completions", chat, nil},
		{"chat, stream", "POST /v1/chat/completions", strings.Replace(chat, "{", `{"stream":true,`, 1), nil},
	} {
		for token, scoped := range map[string]bool{mailAdminToken: true, mailAskToken: true, askToken: false, adminToken: false} {
			resp, text := send(t, srv, tc.what, tc.body, append(tc.headers, "X-Request-Id: fixed", "Authorization: Bearer "+token)...)
			if resp.StatusCode != 200 || !strings.Contains(text, `"total_ms":4400`) {
				t.Errorf("%s, %s: status %d: %s", tc.name, token, resp.StatusCode, text)
			}
			for _, word := range []string{"queue", "4321", "prefill_ms", "store_ms", "98.75", "retrieve"} {
				if streamOnly := word == "retrieve" && tc.name != "stream"; !streamOnly && strings.Contains(text, word) == scoped {
					t.Errorf("%s, %s: %q is told, or is not: %s", tc.name, token, word, text)
				}
			}
		}
	}
}

// A token for one space sees the durations of other questions and of background work rounded,
// because they depend on other spaces.
func TestScopedTokensReadCoarseTimes(t *testing.T) {
	srv := testServer(t, Backend{
		History: func(context.Context, Page) (Records, error) {
			return Records{Questions: []Record{{Question: "a", TookMS: 999.9}, {Question: "b", TookMS: 4321}, {Question: "c", TookMS: 70_000}}}, nil
		},
		Predict: func(context.Context, InSpace) (Drained, error) {
			w := Work{Done: 2, Preempted: 3, Seconds: 5.5, Computed: 100}
			return Drained{w, []KindWork{{"predict", w}}, []Reason{{Code: "foreground", Text: "a request is being answered"}, {Code: "paused"}}}, nil
		},
	})
	took := func(token string) (ms []float64) {
		_, text := send(t, srv, "GET /v1/spaces/mail/history", "", "Authorization: Bearer "+token)
		var r Records
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err, text)
		}
		for _, q := range r.Questions {
			ms = append(ms, q.TookMS)
		}
		return ms
	}
	if d := cmp.Diff([]float64{0, 4000, 64_000}, took(mailAdminToken)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{999.9, 4321, 70_000}, took(askToken)); d != "" {
		t.Error(d)
	}
	done := func(token string) (d Drained) {
		_, text := send(t, srv, "POST /v1/spaces/mail/predictions", "", "Authorization: Bearer "+token)
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err, text)
		}
		return d
	}
	w := Work{Done: 2, Seconds: 4, Computed: 100}
	if d := cmp.Diff(Drained{w, []KindWork{{"predict", w}}, []Reason{{Code: "paused"}}}, done(mailWriteToken)); d != "" {
		t.Error(d)
	}
	if got := done(writeToken); got.Preempted != 3 || got.Seconds != 5.5 || len(got.Reasons) != 2 {
		t.Errorf("%+v", got)
	}
}

// A token for one space does not receive events that other spaces cause: preempted jobs,
// evictions, and exact waiting times.
func TestEventsOfAScopedToken(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	whole, end := listenTo(t, srv, askToken)
	defer end()
	mail, end := listenTo(t, srv, mailAdminToken)
	defer end()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sent := []Event{
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "preempted", "seconds": 5.5}},
		{EventEvicted, at, "mail", map[string]any{"layer": "tensors"}},
		{EventAnswer, at, "mail", map[string]any{"outcome": "miss", "ms": 4321.5}},
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "done", "seconds": 5.5}},
	}
	for _, e := range sent {
		bus.Publish(e)
	}
	for _, want := range sent {
		got, _ := nextEvent(t, whole)
		if diff := cmp.Diff(want, eventOf(t, got)); diff != "" {
			t.Error(diff)
		}
	}
	for _, want := range []Event{
		{EventAnswer, at, "mail", map[string]any{"outcome": "miss", "ms": 4000.0}},
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "done", "seconds": 4.0}},
	} {
		got, _ := nextEvent(t, mail)
		if diff := cmp.Diff(want, eventOf(t, got)); diff != "" {
			t.Error(diff)
		}
	}
}

func eventOf(t *testing.T, got event) (e Event) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.data), &e); err != nil {
		t.Fatal(err)
	}
	return e
}
