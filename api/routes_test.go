package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/page"
)

const someID = "0123456789abcdef0123456789abcdef"

// at fills a route's path with names.
func (r route) at(space string) string {
	return strings.NewReplacer("{space}", space, "{document}", someID, "{entry}", "e1", "{upload}", "u1", "{job}", "j1", "{model}", space, "{file}", fileOfPage()).Replace(r.path)
}

// fileOfPage is the first file that the page references.
func fileOfPage() string {
	return string(regexp.MustCompile(`page/([\w.-]+)`).FindSubmatch(page.Index().Content)[1])
}

// goodBodies are valid bodies of operations that need one.
func goodBodies() map[string]string {
	return map[string]string{
		"createSpace":          `{"name":"mail","kind":"emails","settings":{"k":4,"placement":"parallel","prompts":{"history":"x"}}}`,
		"changeSpace":          `{"k":null,"threshold":0.9}`,
		"upload":               `{"documents":[{"text":"a"}]}`,
		"ask":                  `{"question":"when?","threshold":0.5,"max_wrong":0,"max_age_seconds":2.5}`,
		"uploadDocuments":      "--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--x--\r\n",
		"askStream":            `{"question":"when?"}`,
		"completeStream":       `{"before":"We meet"}`,
		"createConversation":   `{"title":"Trip"}`,
		"addTurns":             `{"turns":[{"role":"user","text":"I live in Bergen."}]}`,
		"complete":             `{"before":"We meet","after":"on Monday","alternatives":2,"max_tokens":5}`,
		"addFact":              `{"text":"I live in Bergen."}`,
		"changeFact":           `{"value":"Oslo"}`,
		"importEntries":        `{"question":"when?"}`,
		"restore":              "an archive",
		"importSpace":          "an archive",
		"vetoEntry":            `{"asked":"who?"}`,
		"limitCache":           `{"limit":0}`,
		"postDevice":           `{"charging":true,"battery":0.5,"at":"2026-01-02T03:04:05Z"}`,
		"changeConfig":         `{"threshold":"0.5"}`,
		"createResponse":       `{"model":"mail","input":"when?"}`,
		"createChatCompletion": `{"model":"mail","messages":[{"role":"user","content":"when?"}]}`,
		"createEmbedding":      `{"model":"mail","input":"x"}`,
	}
}

// allRoutes are the routes of an empty server.
func allRoutes(t *testing.T) []route {
	s := &Server{backend: fill(t, Backend{})}
	return s.routes()
}

func (r route) request(space string, headers ...string) string {
	body := goodBodies()[r.op]
	switch r.op {
	case "importEntries":
		headers = append(headers, "Content-Type: "+linesType)
	case "uploadDocuments":
		headers = append(headers, "Content-Type: "+formType+"; boundary=x")
	case "restore", "importSpace":
		headers = append(headers, "Content-Type: "+archiveType)
	}
	query := ""
	if r.op == "searchEntries" || r.op == "searchDocuments" {
		query = "?q=dentist"
	}
	return raw(r.method+" "+r.at(space)+query, body, headers...)
}

// calls records the calls of the backend: the func's name and its input as JSON.
type calls struct {
	mu   sync.Mutex
	seen map[string]reflect.Value
}

// noting returns a backend that records calls and returns zero values.
func (c *calls) noting() Backend {
	var b Backend
	v := reflect.ValueOf(&b).Elem()
	c.seen = map[string]reflect.Value{}
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.seen[name] = args[1]
			return []reflect.Value{reflect.Zero(f.Type().Out(0)), reflect.Zero(f.Type().Out(1))}
		}))
	}
	return b
}

func (c *calls) take() map[string]reflect.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = map[string]reflect.Value{}
	return seen
}

// Every operation calls one func of the backend, with the names of its path.
func TestEveryRouteReachesTheBackend(t *testing.T) {
	named := map[string]string{ // where the operation's name is not the func's
		"page": "", "pageFile": "", "health": "", "ready": "", "openapi": "", "getStatus": "Status", "listSpaces": "Spaces", "getSpace": "Space",
		"exportEntries": "Export", "importEntries": "Import", "getUpload": "UploadStatus", "cancelUpload": "CancelUpload", "listUploads": "Uploads",
		"listConversations": "Conversations", "getConversation": "Conversation",
		"listDocuments": "Documents", "getDocument": "Document", "getDeletions": "Deletions", "listFacts": "Facts", "getFact": "Fact", "listHistory": "History", "listEntries": "Entries", "getEntry": "Entry",
		"getGate": "Gate", "getCache": "Cache", "getSpaceCache": "SpaceCache", "getTree": "Tree", "listPredictions": "Predictions",
		"getIdle": "Idle", "postDevice": "Device", "listQueue": "Queue", "getLedger": "Ledger", "pauseIdle": "Pause", "resumeIdle": "Resume",
		"drainIdle": "Drain", "uploadDocuments": "Upload", "askStream": "Ask", "completeStream": "Complete", "getConfig": "Config",
	}
	c := &calls{}
	srv := testServer(t, c.noting())
	for _, rt := range allRoutes(t) {
		t.Run(rt.op, func(t *testing.T) {
			if rt.op == "events" || rt.op == "metrics" || forOpenAI(rt.path) {
				t.Skip("has a test of its own")
			}
			a := exchangeRaw(t, srv, rt.request("mail"))
			if a.StatusCode >= 300 {
				t.Fatalf("status %d: %s", a.StatusCode, a.text)
			}
			if a.StatusCode == http.StatusNoContent && a.text != "" {
				t.Errorf("no content, and %q", a.text)
			}
			if a.Header.Get("Content-Type") == jsonType && !json.Valid([]byte(a.text)) {
				t.Errorf("not JSON: %s", a.text)
			}
			want, ok := named[rt.op]
			if !ok {
				want = strings.ToUpper(rt.op[:1]) + rt.op[1:]
			}
			seen := c.take()
			in, called := seen[want]
			if called != (want != "") || len(seen) > 1 {
				t.Fatalf("the backend was called for %v, and should have been for %q", reflect.ValueOf(seen).MapKeys(), want)
			}
			if !called || in.Kind() != reflect.Struct {
				return
			}
			for _, f := range reflect.VisibleFields(in.Type()) {
				name := f.Tag.Get("path")
				if name == "" || !strings.Contains(rt.path, "{"+name+"}") {
					continue
				}
				want := route{path: "{" + name + "}"}.at("mail")
				got := in.FieldByIndex(f.Index).Interface()
				if s, ok := got.(interface{ String() string }); ok {
					got = s.String()
				}
				if got != want {
					t.Errorf("%s is %v, not %s", name, got, want)
				}
			}
		})
	}
}

// ids matches the parts that differ between equal responses.
var ids = regexp.MustCompile(`urn:percached:request:[0-9a-f]+`)

func same(a answer) string {
	h := a.Header.Clone()
	h.Del("X-Request-Id")
	h.Del("Date")
	return a.Status + cmp.Diff(http.Header{}, h) + ids.ReplaceAllString(a.text, "")
}

// Every protected operation checks in this order: a known token, its space, its role,
// readiness. It calls the backend only after that.
func TestEveryRouteIsGuarded(t *testing.T) {
	ready := testServer(t, Backend{})
	starting := testServer(t, Backend{}, func(o *Options) {
		o.Ready = func() Ready { return Ready{Stage: "loading", Progress: 0.5} }
	})
	tokens := [...]string{RoleAsk: askToken, RoleWrite: writeToken, RoleAdmin: adminToken}
	scoped := [...]string{RoleAsk: mailAskToken, RoleWrite: mailWriteToken, RoleAdmin: mailAdminToken}
	refused := func(t *testing.T, srv *httptest.Server, text string, status int, name string) answer {
		t.Helper()
		a := exchangeRaw(t, srv, text)
		if a.StatusCode != status || a.name() != name {
			t.Errorf("status %d, problem %q: want %d, %q", a.StatusCode, a.name(), status, name)
		}
		return a
	}
	for _, rt := range allRoutes(t) {
		t.Run(rt.op, func(t *testing.T) {
			if rt.need.scope == scopeNone {
				for _, srv := range []*httptest.Server{ready, starting} {
					if a := exchangeRaw(t, srv, rt.request("mail", "Authorization:")); a.StatusCode == 401 || a.StatusCode == 403 || a.name() != "" {
						t.Errorf("status %d: %s", a.StatusCode, a.text)
					}
				}
				return
			}
			for _, srv := range []*httptest.Server{ready, starting} {
				a := refused(t, srv, rt.request("mail", "Authorization:"), 401, "unauthorized")
				if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("WWW-Authenticate %q", a.Header.Get("WWW-Authenticate"))
				}
				refused(t, srv, rt.request("mail", "Authorization: Bearer pc_other"), 401, "unauthorized")
			}
			for role := RoleAsk; role < rt.need.role; role++ {
				refused(t, ready, rt.request("mail", "Authorization: Bearer "+tokens[role]), 403, "forbidden")
				refused(t, ready, rt.request("mail", "Authorization: Bearer "+scoped[role]), 403, "forbidden")
			}
			switch rt.need.scope {
			case scopeAll:
				refused(t, ready, rt.request("mail", "Authorization: Bearer "+mailAdminToken), 403, "forbidden")
			case scopeSpace:
				first := refused(t, ready, rt.request("other", "Authorization: Bearer "+mailAdminToken), 403, "forbidden")
				for _, name := range []string{"nowhere", "NOT-A-NAME", "mai", "mail2"} {
					a := refused(t, ready, rt.request(name, "Authorization: Bearer "+mailAdminToken), 403, "forbidden")
					if diff := cmp.Diff(same(first), same(a)); diff != "" {
						t.Errorf("two spaces of others differ (-one +other):\n%s", diff)
					}
				}
				refused(t, starting, rt.request("other", "Authorization: Bearer "+mailAdminToken), 403, "forbidden")
			}
			a := refused(t, starting, rt.request("mail"), 503, "starting")
			if a.Header.Get("Retry-After") == "" {
				t.Error("nobody says when to come back")
			}
			if (a.problem.Error != nil) != forOpenAI(rt.path) {
				t.Errorf("the error in OpenAI's form: %v", a.problem.Error)
			}
		})
	}
}
