package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/percached/percached/api/hostile"
)

// raw writes a request as it goes over the wire, with headers "Name: value": those
// that a decent client sends, unless one of the same name is given; "Name:" alone
// leaves it out.
func raw(what, body string, headers ...string) string {
	return hostile.Text(adminToken, what, body, headers...)
}

// answer is a response as tests look at it.
type answer struct {
	*http.Response
	text    string
	problem Problem
}

// name is the name of the problem, or empty.
func (a answer) name() string {
	return strings.TrimPrefix(a.problem.Type, "urn:percached:problem:")
}

// exchangeRaw sends text to a server and reads the response.
func exchangeRaw(t testing.TB, srv *httptest.Server, text string) answer {
	t.Helper()
	resp, err := hostile.Send(srv.Listener.Addr().String(), text)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	return answerOf(t, resp)
}

// answerOf reads a response. Where it is a problem, it is checked for what every
// problem has.
func answerOf(t testing.TB, resp *http.Response) answer {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Response: resp, text: string(b)}
	if resp.Header.Get("Content-Type") != "application/problem+json" || resp.Request.Method == http.MethodHead {
		return a
	}
	if err := json.Unmarshal(b, &a.problem); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	p := a.problem
	row, known := problems[problem(a.name())]
	if !known || p.Title != row.title || p.Status != row.status || p.Status != resp.StatusCode || p.Fix == "" {
		t.Errorf("problem %+v with status %d does not stand in the table", p, resp.StatusCode)
	}
	if id := resp.Header.Get("X-Request-Id"); id == "" || p.Instance != "urn:percached:request:"+id {
		t.Errorf("instance %q, where the request is %q", p.Instance, id)
	}
	return a
}
