package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/hostile"
)

func TestWhole(t *testing.T) {
	type leaf struct {
		List []string `json:"list"`
	}
	type tree struct {
		Leaf   leaf            `json:"leaf"`
		Ptr    *leaf           `json:"ptr"`
		None   *leaf           `json:"none"`
		Leaves []leaf          `json:"leaves"`
		ByName map[string]leaf `json:"by_name"`
		Counts map[string]int  `json:"counts"`
		Raw    json.RawMessage `json:"raw"`
		Left   []string        `json:"left,omitempty"`
		hidden []string
	}
	const want = `{"leaf":{"list":[]},"ptr":{"list":[]},"none":null,"leaves":[{"list":[]}],"by_name":{"a":{"list":[]}},"counts":{},"raw":null}`
	in := tree{Ptr: &leaf{}, Leaves: []leaf{{}}, ByName: map[string]leaf{"a": {}}}
	before, _ := json.Marshal(in)
	got, err := json.Marshal(withEmptyLists(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if after, _ := json.Marshal(in); string(after) != string(before) {
		t.Errorf("the value itself was changed: %s", after)
	}
	if withEmptyLists(nil) != nil || in.hidden != nil {
		t.Error("nothing became something")
	}
}

// raw builds a request as sent over the wire. Headers "Name: value" replace the defaults;
// "Name:" removes one.
func raw(what, body string, headers ...string) string {
	return hostile.Text(adminToken, what, body, headers...)
}

// answer is a response for tests.
type answer struct {
	*http.Response
	text    string
	problem Problem
}

// name is the problem's name, or "".
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

// answerOf reads a response, and checks the fixed parts of a problem.
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
