package link_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// linked is a link to a server that gives one response to every request.
func linked(t *testing.T, status int, body string) (*link.Link, context.Context) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status >= 300 && status < 400 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	way := &http.Transport{}
	t.Cleanup(way.CloseIdleConnections)
	l, err := link.New(s.URL, "secret", way)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return l, ctx
}

// Ready does not wait for a server that never reports its stage.
func TestReadyOfOthers(t *testing.T) {
	const refused = `{"type":"about:blank","title":"Not here","status":403}`
	for _, tc := range []struct {
		name   string
		status int
		body   string
		ok     bool
		kind   fault.Kind
	}{
		{"ready", 200, `{"ready":true,"stage":"ready","progress":1}`, true, 0},
		{"closing", 503, `{"ready":false,"stage":"closing","progress":0}`, false, fault.Overloaded},
		{"another program", 200, `<html>`, false, fault.Unavailable},
		{"another program's object", 200, `{}`, false, fault.Unavailable},
		{"a redirect", 302, `{}`, false, fault.Unavailable},
		{"a refusal", 403, refused, false, fault.Internal},
		{"a refusal without a word", 404, ``, false, fault.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, ctx := linked(t, tc.status, tc.body)
			err := l.Ready(ctx, io.Discard)
			if (err == nil) != tc.ok || fault.KindOf(err) != tc.kind || ctx.Err() != nil {
				t.Error(err)
			}
			if _, told := errors.AsType[*client.ProblemError](err); told != (tc.body == refused) {
				t.Error(err)
			}
		})
	}
}

// The error of a missing response does not contain the question.
func TestNobodyAnswers(t *testing.T) {
	gone := errors.New("it is gone")
	l, err := link.New("http://localhost", "secret", &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, gone },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.SearchEntriesWithResponse(context.Background(), "mail", &client.SearchEntriesParams{Q: "swans"})
	if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, gone) || strings.Contains(err.Error(), "swans") {
		t.Error(err)
	}
}

// A redirect is an error.
func TestRedirect(t *testing.T) {
	l, ctx := linked(t, http.StatusFound, "")
	if r, err := l.ListSpacesWithResponse(ctx); err == nil {
		t.Errorf("%+v", r)
	}
}
