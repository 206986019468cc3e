package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
)

// play is one request in the sequence of openapi.yaml's examples.
type play struct {
	op      string // operationId
	example string // its name, of request and response; empty: the call is needed, and not shown
	status  int
	query   string
}

// examplePlays is the sequence of requests.
func examplePlays() []play {
	return []play{
		{op: "health", example: "alive", status: 200},
		{op: "ready", example: "ready", status: 200},
		{op: "about", example: "built-in", status: 200},
		{op: "createSpace", example: "mail", status: 201},
		{op: "createSpace", example: "taken", status: 409},
		{op: "upload", example: "inbox", status: 202, query: "?name=inbox.mbox"},
		{op: "upload", example: "bike", status: 200, query: "?wait=true"},
		{op: "getUpload", example: "inbox", status: 200},
		{op: "getDeletions", example: "none", status: 200},
		{op: "listSpaces", example: "mail", status: 200},
		{op: "listDocuments", example: "one", status: 200, query: "?limit=1"},
		{op: "listDocuments", example: "heron", status: 200, query: "?find=heron"},
		{op: "getDocument", example: "heron", status: 200},
		{op: "ask", example: "first", status: 200},
		{op: "ask", example: "again", status: 200},
		{op: "ask", example: "blank", status: 400},
		{op: "complete", example: "heron", status: 200},
		{op: "getStatus", example: "mail", status: 200},
		{op: "listEntries", example: "mail", status: 200},
		{op: "searchEntries", example: "heron", status: 200, query: "?q=Heron+budget"},
		{op: "searchDocuments", example: "heron", status: 200, query: "?q=Heron+budget"},
		{op: "getEntry", example: "heron", status: 200},
		{op: "getGate", example: "mail", status: 200},
		{op: "getCache", example: "one-space", status: 200},
		{op: "verifyCache", example: "clean", status: 200},
		{op: "getSpaceCache", example: "mail", status: 200},
		{op: "createChatCompletion", example: "again", status: 200},
		{op: "listModels", example: "mail", status: 200},
		{op: "getModel", example: "mail", status: 200},
		{op: "listHistory", example: "mail", status: 200},
		{op: "addFact", example: "bergen", status: 200},
		{op: "listFacts", example: "bergen", status: 200},
		{op: "getFact", example: "bergen", status: 200},
		{op: "changeFact", example: "bergen", status: 200},
		{op: "createConversation", example: "trip", status: 201},
		{op: "addTurns", example: "trip", status: 200},
		{op: "getConversation", example: "trip", status: 200},
		{op: "deleteConversation", example: "trip", status: 200},
		{op: "listConversations", example: "trip", status: 200},
		{op: "changeSpace", example: "stricter", status: 200},
		{op: "postDevice", example: "charging", status: 200},
		{op: "pauseIdle", example: "paused", status: 200},
		{op: "drainIdle", example: "paused", status: 200},
		{op: "resumeIdle", example: "waiting", status: 200},
		{op: "clearSpaceCache", example: "mail", status: 200},
		{op: "clearHistory", example: "mail", status: 200},
		{op: "deleteDocument", example: "heron", status: 200},
		{op: "deleteSpace", example: "mail", status: 200, query: "?clean_up=true"},
	}
}

// TestExamplesAreReal sends the examples of openapi.yaml. Each response matches its example,
// except names, times and numbers of one run.
func TestExamplesAreReal(t *testing.T) {
	w := newWorld(t, "--tensor-limit", "1GiB") // else it depends on the machine
	ctx := context.Background()
	things := map[string]string{"space": mail, "model": mail}
	for _, p := range examplePlays() {
		path, method, op := w.operation(p.op)
		if p.example == "heron" {
			things["document"] = w.heron(ctx)
		}
		for name, id := range things {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		r, err := http.NewRequestWithContext(ctx, method, w.URL+path+p.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.Token)
		w.exampleBody(r, op, p)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body any
		err = json.NewDecoder(got.Body).Decode(&body)
		got.Body.Close()
		if err != nil || got.StatusCode != p.status {
			t.Fatalf("%s %s: status %d, want %d; %v, %v", p.op, p.example, got.StatusCode, p.status, body, err)
		}
		if p.op == "getStatus" {
			delete(body.(map[string]any), "energy") // the machine's own
		}
		want, shown := exampleOf(op.Responses.Status(p.status), p.example)
		if p.status < 400 && !shown {
			t.Fatalf("%s has no example %s for status %d", p.op, p.example, p.status)
		}
		if m, _ := want.(map[string]any); p.op == "getStatus" && m != nil {
			m = maps.Clone(m)
			delete(m, "energy")
			want = m
		}
		if d := cmp.Diff(shape("", want), shape("", body)); shown && d != "" {
			t.Errorf("%s %s is not as its example says (-example +real):\n%s", p.op, p.example, d)
		}
		m, _ := body.(map[string]any)
		switch p.op {
		case "upload":
			if p.example == "inbox" {
				things["upload"] = m["id"].(string)
				w.of(t).taken(ctx, things["upload"])
			}
		case "addFact":
			things["document"] = m["facts"].([]any)[0].(map[string]any)["id"].(string)
		case "createConversation":
			things["conversation"] = m["id"].(string)
		case "searchEntries":
			things["entry"] = m["entries"].([]any)[0].(map[string]any)["id"].(string)
		}
	}
}

// operation finds an operation of openapi.yaml.
func (w *world) operation(id string) (path, method string, op *openapi3.Operation) {
	w.Helper()
	for path, item := range w.law.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == id {
				return path, method, op
			}
		}
	}
	w.Fatalf("there is no operation %s", id)
	return "", "", nil
}

// exampleBody sets the body of a request to its example. The mailbox is the demo's.
func (w *world) exampleBody(r *http.Request, op *openapi3.Operation, p play) {
	w.Helper()
	if op.RequestBody == nil {
		return
	}
	if p.example == "inbox" { // too long to be shown
		b, err := os.ReadFile(mailbox)
		if err != nil {
			w.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/mbox")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		return
	}
	for kind, content := range op.RequestBody.Value.Content {
		ex, ok := content.Examples[p.example]
		if !ok {
			continue
		}
		b, err := json.Marshal(ex.Value.Value)
		if err != nil {
			w.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		return
	}
	w.Fatalf("%s has no request %s", p.op, p.example)
}

// heron is the ID of the document with Heron's budget.
func (w *world) heron(ctx context.Context) string {
	w.Helper()
	for after := (*string)(nil); ; {
		page, err := w.all.ListDocumentsWithResponse(ctx, mail, &client.ListDocumentsParams{After: after})
		w.is(200, page, err)
		for _, d := range page.JSON200.Documents {
			if strings.Contains(d.Title, "Heron") {
				return d.ID
			}
		}
		if after = page.JSON200.Next; after == nil {
			w.Fatal("no document tells of Heron")
		}
	}
}

// exampleOf is the example of a response as JSON.
func exampleOf(r *openapi3.ResponseRef, name string) (any, bool) {
	if r == nil {
		return nil, false
	}
	content := r.Value.Content.Get("application/json")
	if content == nil || content.Examples[name] == nil {
		return nil, false
	}
	return content.Examples[name].Value.Value, true
}

// names and times of one run
var ofOneRun = regexp.MustCompile(`[0-9a-f]{12,}|^\d{4}-\d\d-\d\d$|\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)|u-[0-9a-z-]{8,}|chatcmpl-\S+|\(devel\)|v\d+\.\S+`)

// shape lists the contents of a value line by line: fields, words, and kinds of numbers. The
// first element stands for a list, because examples are shortened. Waiting jobs depend on the
// progress of the scheduler.
func shape(at string, v any) []string {
	if at == "/jobs" {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		var lines []string
		for k, e := range v {
			lines = append(lines, shape(at+"/"+k, e)...)
		}
		slices.Sort(lines)
		return lines
	case []any:
		if strings.HasSuffix(at, "/drafts") {
			return nil // whether a draft is checked depends on times that were measured
		}
		if len(v) == 0 {
			return []string{at + " empty list"}
		}
		return shape(at+"/*", v[0])
	case float64, json.Number:
		return []string{at + " number"}
	case string:
		return []string{at + " " + ofOneRun.ReplaceAllString(v, "*")}
	}
	return []string{fmt.Sprint(at, " ", v)}
}
