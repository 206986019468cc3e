package move_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/move"
)

const (
	space     = "mail"
	elsewhere = "https://node2.example.org"
)

// daemon is a daemon with at most one space.
type daemon struct {
	exists   bool
	settings map[string]any
	requests []string
	readOnly bool // the token may change nothing
	// lose says whether the response to a request is lost, and whether the daemon has done it.
	lose func(request string) (lost, done bool, err error)
}

var errLost = fault.New(fault.Unavailable, "test", "connection lost")

func (d *daemon) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/spaces/"+space)
	request := r.Method + " " + path
	if r.Method == http.MethodPatch {
		request += " " + string(body)
	}
	d.requests = append(d.requests, request)
	var lost, done bool
	var err error
	if d.lose != nil {
		lost, done, err = d.lose(request)
	}
	if lost && !done {
		return nil, err
	}
	w := httptest.NewRecorder()
	d.serve(w, r.Method+" "+path, body)
	if lost {
		return nil, err
	}
	return w.Result(), nil
}

func (d *daemon) serve(w http.ResponseWriter, request string, body []byte) {
	reply := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	about := func() map[string]any {
		return map[string]any{"name": space, "kind": "notes", "documents": 0, "chunks": 0, "settings": d.settings, "effective": map[string]any{}}
	}
	problem := func(status int) {
		reply(status, map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status})
	}
	switch {
	case request == "POST /import" && d.exists:
		problem(http.StatusConflict)
	case request == "POST /import":
		d.exists, d.settings = true, map[string]any{}
		reply(http.StatusCreated, about())
	case !d.exists:
		problem(http.StatusNotFound)
	case request == "GET ":
		reply(http.StatusOK, about())
	case strings.HasPrefix(request, "PATCH /settings") && d.readOnly:
		problem(http.StatusForbidden)
	case strings.HasPrefix(request, "PATCH /settings"):
		var patch map[string]any
		if err := json.Unmarshal(body, &patch); err != nil {
			problem(http.StatusBadRequest)
			return
		}
		maps.Copy(d.settings, patch)
		maps.DeleteFunc(d.settings, func(_ string, v any) bool { return v == nil })
		reply(http.StatusOK, about())
	case request == "GET /uploads":
		reply(http.StatusOK, map[string]any{"uploads": []any{}})
	case request == "GET /export":
		w.Header().Set("Content-Type", "application/gzip")
		a, err := backup.NewWriter(w, backup.Seal{}, backup.Header{Schema: 1, Made: time.Unix(0, 0).UTC(), Space: space, Spaces: 1})
		if err == nil {
			err = a.Close()
		}
		if err != nil {
			panic(err)
		}
	case request == "GET /entries":
		reply(http.StatusOK, map[string]any{"entries": []any{}})
	case request == "DELETE ":
		d.exists, d.settings = false, nil
		reply(http.StatusOK, map[string]any{})
	default:
		problem(http.StatusNotFound)
	}
}

func (d *daemon) link(t *testing.T) *link.Link {
	t.Helper()
	l, err := link.New("http://node.example.org", "secret", d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// loses loses the responses to requests that begin so.
func loses(done bool, err error, beginnings ...string) func(string) (bool, bool, error) {
	return func(request string) (bool, bool, error) {
		for _, b := range beginnings {
			if strings.HasPrefix(request, b) {
				return true, done, err
			}
		}
		return false, false, nil
	}
}

// A move ends with the space on one node, or says what is left.
func TestMove(t *testing.T) {
	type settings = map[string]any
	const redirect, reset = `PATCH /settings {"moved_to":"`, `PATCH /settings {"moved_to":null`
	slow := 2
	for _, tc := range []struct {
		name     string
		from, to *daemon
		says     string // empty: the space is moved
		here     settings
		there    bool
	}{
		{"moved", &daemon{}, &daemon{}, "", settings{"moved_to": elsewhere}, true},
		{"repeated", &daemon{settings: settings{"moved_to": elsewhere}}, &daemon{exists: true}, "moved to " + elsewhere + " already", settings{"moved_to": elsewhere}, true},
		{"to another node", &daemon{settings: settings{"moved_to": "https://node3.example.org"}}, &daemon{}, "moved to https://node3.example.org already", settings{"moved_to": "https://node3.example.org"}, false},
		{"read-only before", &daemon{settings: settings{"read_only": true, "k": 3.0}}, &daemon{exists: true}, "Conflict", settings{"read_only": true, "k": 3.0}, true},
		{
			"a change takes long",
			&daemon{lose: func(request string) (bool, bool, error) {
				if request != `PATCH /settings {"read_only":true}` || slow == 0 {
					return false, false, nil
				}
				slow--
				return true, true, fault.New(fault.Timeout, "test", "timeout")
			}},
			&daemon{}, "",
			settings{"moved_to": elsewhere},
			true,
		},
		{"read-only was set but not acknowledged", &daemon{lose: loses(true, errLost, `PATCH /settings {"read_only":true}`)}, &daemon{}, "connection lost", settings{}, false},
		{"the import was not acknowledged", &daemon{}, &daemon{lose: loses(true, errLost, "POST /import")}, "may have a copy", settings{}, true},
		{"the import failed", &daemon{}, &daemon{lose: loses(false, errLost, "POST /import")}, "connection lost", settings{}, false},
		{"the counts are unknown", &daemon{}, &daemon{lose: loses(false, errLost, "GET /entries")}, "connection lost", settings{}, false},
		{"the redirect was not acknowledged", &daemon{lose: loses(true, errLost, redirect)}, &daemon{}, "", settings{"moved_to": elsewhere}, true},
		{"the redirect failed", &daemon{lose: loses(false, errLost, redirect)}, &daemon{}, "connection lost", settings{}, false},
		{"the redirect and its undoing failed", &daemon{lose: loses(false, errLost, redirect, reset)}, &daemon{}, "delete the copy", settings{"read_only": true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) { check(t, tc.from, tc.to, tc.says, tc.here, tc.there) })
	}
	gone := false // the daemon does not respond any more
	from := &daemon{lose: func(request string) (bool, bool, error) {
		lost, first := gone, !gone
		gone = gone || strings.HasPrefix(request, redirect)
		return lost || gone, first, errLost
	}}
	t.Run("the redirect is unknown", func(t *testing.T) {
		check(t, from, &daemon{}, "unknown whether the space is moved", settings{"moved_to": elsewhere}, true)
	})
}

func check(t *testing.T, from, to *daemon, says string, here map[string]any, there bool) {
	t.Helper()
	from.exists = true
	if from.settings == nil {
		from.settings = map[string]any{}
	}
	m := move.Move{From: from.link(t), To: to.link(t), Space: space, Redirect: elsewhere, Stderr: io.Discard}
	_, err := m.Run(t.Context())
	if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
		t.Errorf("error %v instead of %q", err, says)
	}
	if d := cmp.Diff(here, from.settings); d != "" || !from.exists {
		t.Errorf("the space here exists: %v; its settings:\n%s\n%s", from.exists, d, strings.Join(from.requests, "\n"))
	}
	if to.exists != there {
		t.Errorf("the space exists there: %v\n%s", to.exists, strings.Join(to.requests, "\n"))
	}
}

// A move that is refused at once does not say that something is left.
func TestMoveRefused(t *testing.T) {
	from, to := &daemon{readOnly: true}, &daemon{}
	check(t, from, to, "Forbidden", map[string]any{}, false)
	m := move.Move{From: from.link(t), To: to.link(t), Space: space, Redirect: elsewhere, Stderr: io.Discard}
	if _, err := m.Run(t.Context()); err == nil || strings.Contains(err.Error(), "read-only") {
		t.Error(err)
	}
}
