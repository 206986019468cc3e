package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// A client whose body fails gets its own error, and others are served on.
func TestPassFailedBody(t *testing.T) {
	e, _, _ := started(t, nil, says(text("At ten."), stop, done))
	wrong := errors.New("the body is too long")
	for range breakAfter {
		body := io.MultiReader(strings.NewReader("{"), failingReader{wrong})
		resp, err := e.Pass(context.Background(), Passed{Method: "POST", Path: "/v1/chat/completions", Body: body, Length: -1})
		if !errors.Is(err, wrong) {
			t.Errorf("%v, want %v", err, wrong)
		}
		if resp != nil {
			resp.Body.Close()
		}
	}
	if _, got, err := asks(e); got != "At ten." || err != nil {
		t.Errorf("after bodies that failed: %q, %v", got, err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// A passed request that the server fails to serve does not show that it works.
func TestPassStatus(t *testing.T) {
	e, s, _ := started(t, nil, fails(503, "{}"))
	fail := func() {
		if _, _, err := asks(e); err == nil {
			t.Error("the server works")
		}
	}
	fail()
	fail()
	resp, err := e.Pass(context.Background(), Passed{Method: "POST", Path: "/v1/chat/completions"})
	if err != nil || resp.StatusCode != 503 {
		t.Fatal(err)
	}
	resp.Body.Close()
	fail()
	was := s.asked
	if fail(); s.asked != was {
		t.Error("the server is asked although it failed 3 times in a row")
	}
}

// Wrong names of models are not as many requests.
func TestHas(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := newReplaceable(t, llamaServerOf(1))
	c := r.config()
	c.Now = func() time.Time { return now }
	e, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	has := func(want bool) {
		t.Helper()
		if got := e.Has(context.Background(), "new"); got != want {
			t.Errorf("the server has the model: %v, want %v", got, want)
		}
	}
	has(false)
	r.replace(map[string]string{"/v1/models": `{"data":[{"id":"m"},{"id":"new"}]}`})
	has(false)
	now = now.Add(keepModels)
	has(true)
}

// A refused key ends an opening at once; a server that is loading does not.
func TestAwait(t *testing.T) {
	for status, want := range map[int]int{401: 1, 404: 1, 503: 3} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		now := time.Unix(1_700_000_000, 0)
		c := Default()
		c.URL, c.Model, c.Patience, c.Now = server.URL, "m", 2*time.Second, func() time.Time { return now }
		c.Wait = func(ctx context.Context, d time.Duration) error { now = now.Add(d); return ctx.Err() }
		if _, err := Open(context.Background(), c); fault.KindOf(err) != fault.Unavailable || asked != want {
			t.Errorf("status %d: %v, asked %d times, want %d", status, err, asked, want)
		}
	}
}
