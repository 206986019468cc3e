package api

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// busy is a server whose requests last until the test ends them.
type busy struct {
	*httptest.Server
	t          *testing.T
	begun, let chan struct{}
	all        sync.WaitGroup
}

func newBusy(t *testing.T, change ...func(*Options)) *busy {
	b := &busy{t: t, begun: make(chan struct{}), let: make(chan struct{})}
	wait := func() {
		b.begun <- struct{}{}
		<-b.let
	}
	b.Server = testServer(t, Backend{
		About: func(context.Context, Nothing) (About, error) {
			wait()
			return About{}, nil
		},
		Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
			wait()
			return UploadStatus{Failures: []Failure{}, LeftOut: []Failure{}}, nil
		},
		Import: func(context.Context, Import) (Imported, error) {
			wait()
			return Imported{}, nil
		},
	}, change...)
	return b
}

// begin starts n requests with a token, and returns when they are being served.
func (b *busy) begin(n int, token, what string, headers ...string) {
	for range n {
		b.all.Go(func() {
			resp, text := send(b.t, b.Server, what, "", append(headers, "Authorization: Bearer "+token)...)
			if resp.StatusCode >= 300 {
				b.t.Errorf("%s of %s: status %d: %s", what, token, resp.StatusCode, text)
			}
		})
		<-b.begun
	}
}

// refused sends a request that gets no slot.
func (b *busy) refused(token, what string, headers ...string) {
	b.t.Helper()
	a := exchangeRaw(b.t, b.Server, raw(what, "", append(headers, "Authorization: Bearer "+token)...))
	if a.StatusCode != 429 || a.name() != "too_many_requests" || a.Header.Get("Retry-After") != "1" {
		b.t.Errorf("%s of %s: status %d: %s", what, token, a.StatusCode, a.text)
	}
}

// end ends n requests.
func (b *busy) end(n int) {
	for range n {
		b.let <- struct{}{}
	}
	b.all.Wait()
}

// A token gets as many slots as are still free: half of them if it is alone. So another token
// always finds one, and the last is the owner's. A request without a slot is refused at once.
// Liveness needs no slot, and released slots are used again.
func TestSharesOfRequests(t *testing.T) {
	const about = "GET /v1/about"
	b := newBusy(t, func(o *Options) { o.MaxRequests = 8 }) // 6, and 2 uploads
	for range 2 {
		b.begin(3, askToken, about)
		b.refused(askToken, about)
		b.begin(1, writeToken, about)
		b.refused(writeToken, about)
		b.begin(1, mailAskToken, about)
		b.refused(mailWriteToken, about)
		b.begin(1, adminToken, about)
		b.refused(adminToken, about)
		for _, path := range []string{"/healthz", "/readyz"} {
			if a := exchangeRaw(t, b.Server, raw("GET "+path, "")); a.StatusCode != 200 {
				t.Errorf("%s: status %d", path, a.StatusCode)
			}
		}
		b.end(6)
	}
	b.begin(3, adminToken, about)
	b.refused(adminToken, about)
	b.begin(1, askToken, about)
	b.end(4)
}

// Uploads have their own slots: those of one token block neither another token's uploads nor
// its own other requests.
func TestSharesOfUploads(t *testing.T) {
	const upload, entries = "POST /v1/spaces/mail/documents?name=a.txt", "POST /v1/spaces/mail/entries/import"
	b := newBusy(t, func(o *Options) { o.MaxRequests = 16 }) // 12, and 4 uploads
	b.begin(2, writeToken, upload, "Content-Type: text/plain")
	b.refused(writeToken, upload, "Content-Type: text/plain")
	b.begin(1, writeToken, "GET /v1/about")
	b.begin(1, mailAdminToken, entries, "Content-Type: "+linesType)
	b.refused(mailAdminToken, entries, "Content-Type: "+linesType)
	b.begin(1, adminToken, upload, "Content-Type: text/plain")
	b.refused(adminToken, upload, "Content-Type: text/plain")
	b.refused(adminToken, "GET /v1/spaces/mail/export")
	b.refused(adminToken, "POST /v1/spaces/mail/import", "Content-Type: "+archiveType)
	b.end(5)
}

// If there is one slot only, every token may use it.
func TestOnePlace(t *testing.T) {
	p := newSlots(1)
	for _, g := range []Grant{{Token: "a", Role: RoleAdmin}, {Token: "b", Space: "mail", Role: RoleAsk}} {
		if !p.acquire(g) || p.acquire(g) || p.acquire(Grant{Token: "c"}) {
			t.Errorf("%+v", g)
		}
		p.release(g)
	}
	if len(p.inUse) > 0 {
		t.Errorf("kept of those who went: %v", p.inUse)
	}
	if newSlots(0).acquire(Grant{Role: RoleAdmin}) {
		t.Error("there is no place, and it was taken")
	}
}

// The observer learns when a request gets and releases its slot.
func TestWorking(t *testing.T) {
	var mu sync.Mutex
	var told []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, what)
	}
	srv := testServer(t, Backend{About: func(context.Context, Nothing) (About, error) {
		note("served")
		return About{}, nil
	}}, func(o *Options) {
		o.Observer.Working = func(ctx context.Context, token string) func() {
			if ctx.Value(http.ServerContextKey) == nil {
				t.Error("it is not the request's context")
			}
			note(token)
			return func() { note("done") }
		}
	})
	for _, path := range []string{"/v1/about", "/healthz", "/v1/nothing"} {
		send(t, srv, "GET "+path, "", "Authorization: Bearer "+mailAskToken)
	}
	send(t, srv, "GET /v1/about", "", "Authorization: Bearer nobody")
	srv.Close()
	if diff := cmp.Diff([]string{"mail-ask", "served", "done"}, told); diff != "" {
		t.Error(diff)
	}
}

// A panicking handler causes a problem, its slot is released, and the server goes on. A partial
// response is cut.
func TestPanic(t *testing.T) {
	log := &logs{}
	srv := testServer(t, Backend{
		About: func(context.Context, Nothing) (About, error) {
			panic("a bug")
		},
		Export: func(_ context.Context, in Export) (Nothing, error) {
			for range 10000 {
				_ = in.Each(ExportedEntry{})
			}
			panic("broken")
		},
		Config: func(context.Context, Nothing) (Config, error) { panic(http.ErrAbortHandler) },
	}, func(o *Options) { o.MaxRequests, o.Logger = 1, log.logger() })
	for range 3 {
		a := exchangeRaw(t, srv, raw("GET /v1/about", ""))
		if a.StatusCode != 500 || a.name() != "internal" || a.problem.Detail != a.problem.Fix {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	}
	if !log.has("a bug") || !log.has("TestPanic") {
		t.Error("the log does not say where it broke")
	}
	for _, path := range []string{"/v1/spaces/mail/entries/export", "/v1/config"} {
		r, err := http.NewRequest("GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+adminToken)
		resp, err := srv.Client().Do(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the response seems to be whole", path)
		}
	}
	if resp, _ := send(t, srv, "GET /healthz", ""); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Validate reports all invalid options together.
func TestValidate(t *testing.T) {
	good := newServer(t, Backend{}).Options
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	bad := Options{
		MaxStreams: -1, Hosts: []string{"a/b"}, Origins: []string{"http://a", "*"},
	}
	err, ok := bad.Validate().(interface{ Unwrap() []error })
	if !ok || len(err.Unwrap()) != 15 {
		t.Errorf("told: %v", bad.Validate())
	}
	for origin, fits := range map[string]bool{
		"http://localhost:3000": true, "https://app.example": true, "capacitor://localhost": true,
		"app.example": false, "https://app.example/": false, "https://app.example/x": false, "https://*.example": false,
		"https://a@b": false, "null": false, "": false, "HTTPS://APP": false, "https://": false,
	} {
		o := good
		o.Origins = []string{origin}
		if err := o.Validate(); (err == nil) != fits {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
	if _, err := New(Backend{}, good); err == nil {
		t.Error("a backend without anything is taken")
	}
}

// Requests without a token use no slots.
func TestOpenOperationsTakeNoSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
		l := serve(newServer(t, Backend{
			About: func(context.Context, Nothing) (About, error) { return About{}, nil },
		}, func(o *Options) { o.MaxRequests = 1 }))
		for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
			c := l.dial()
			defer c.Close()
			_, _ = io.WriteString(c, raw("GET "+path, "", "Authorization:", "Content-Length: 1")) // and never sends it
		}
		synctest.Wait()
		c := l.dial()
		defer c.Close()
		go io.WriteString(c, raw("GET /v1/about", ""))
		if a := response(t, c); a.StatusCode != 200 {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	})
}

// A small body cannot use much memory, neither by many values nor by many faults.
func TestManyValues(t *testing.T) {
	many := func(value string) string { return strings.Repeat(value+",", 300_000) + value }
	for _, tt := range []struct{ name, what, body string }{
		{"messages", chatPath, `{"model":"mail","messages":[` + many("{}") + `]}`},
		{"parts", chatPath, `{"model":"mail","messages":[{"role":"user","content":[` + many("{}") + `]}]}`},
		{"texts", "POST /v1/embeddings", `{"input":[` + many(`""`) + `]}`},
		{"unknown", "POST /v1/embeddings", `{"input":"a","x":[` + many("0") + `]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, Backend{}), raw(tt.what, tt.body))
			if a.StatusCode != 400 || a.name() != "bad_body" || len(a.text) > 4<<10 {
				t.Errorf("status %d: %.500s", a.StatusCode, a.text)
			}
		})
	}
	// As long a conversation as is taken at all is far below.
	turn := `{"role":"user","content":[{"type":"text","text":"when?"}]}`
	srv := testServer(t, Backend{Ask: func(_ context.Context, q AskRequest, _ Listener) (Answer, error) {
		return Answer{Answer: fmt.Sprint(len(q.Earlier))}, nil
	}})
	a := exchangeRaw(t, srv, raw(chatPath, `{"model":"mail","messages":[`+strings.Repeat(turn+",", 1000)+turn+`]}`))
	if a.StatusCode != 200 || !strings.Contains(a.text, `"content":"1000"`) {
		t.Errorf("status %d: %.500s", a.StatusCode, a.text)
	}
	var u chatFaults
	for range 100 * maxWrong {
		u.invalid("/a", "wrong")
		u.unsupported("/b", "unwanted")
	}
	if len(u.invalidFields) > maxWrong || len(u.unsupportedFields) > maxWrong {
		t.Errorf("%d and %d faults are kept", len(u.invalidFields), len(u.unsupportedFields))
	}
}

// The largest number serves as "no limit".
func TestLargestLimits(t *testing.T) {
	srv := testServer(t, Backend{
		Ask: func(context.Context, AskRequest, Listener) (Answer, error) { return Answer{}, nil },
		Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
			return UploadStatus{}, u.Each(func(_ string, body io.Reader) error {
				_, err := io.Copy(io.Discard, body)
				return err
			})
		},
	}, func(o *Options) { o.MaxBody, o.MaxUpload = math.MaxInt64, math.MaxInt64 })
	for what, body := range map[string]string{
		"POST /v1/spaces/mail/ask":              `{"question":"when?"}`,
		"POST /v1/spaces/mail/documents":        `{"documents":[{"text":"a"}]}`,
		"POST /v1/spaces/mail/documents?name=a": "",
	} {
		var headers []string
		if body == "" {
			body, headers = "text", []string{"Content-Type: text/plain"}
		}
		if resp, text := send(t, srv, what, body, headers...); resp.StatusCode >= 300 {
			t.Errorf("%s: status %d: %s", what, resp.StatusCode, text)
		}
	}
}
