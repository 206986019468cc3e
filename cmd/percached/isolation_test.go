package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
)

// strange are words of a space that the other space's token must never see.
var secrets = []string{"alpha", "Quillfeather", "quillfeather", "4711"}

const (
	alpha = "alpha"
	beta  = "beta"
	ghost = "ghost" // no such space
)

// TestTwoSpacesTwoTokens: no operation with the token of one space shows, times or lists
// anything of the other.
func TestTwoSpacesTwoTokens(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	for _, name := range []string{alpha, beta} {
		made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: name})
		w.is(201, made, err)
	}
	texts := client.Texts{Documents: []client.NewDocument{{Title: new("Quillfeather"), Text: "The garage code of Quillfeather is 4711."}}}
	in, err := w.all.UploadWithResponse(ctx, alpha, &client.UploadParams{Wait: new(true)}, texts)
	w.is(200, in, err)
	first, err := w.all.AskWithResponse(ctx, alpha, client.Question{Question: "What is the garage code of Quillfeather?"})
	w.is(200, first, err)
	docs, err := w.all.ListDocumentsWithResponse(ctx, alpha, nil)
	w.is(200, docs, err)
	talk, err := w.all.CreateConversationWithResponse(ctx, alpha, client.NewConversation{})
	w.is(201, talk, err)
	theirs := map[string]string{
		"document": docs.JSON200.Documents[0].ID, "entry": *first.JSON200.Entry, "conversation": talk.JSON201.ID, "upload": in.JSON200.ID, "job": "some", "model": alpha, "file": "icon.svg",
	}
	before := w.pictureOf(ctx, alpha)
	token := w.tokenFor(beta, "admin")

	for path, item := range w.law.Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(op.OperationID, func(t *testing.T) {
				w.of(t)
				w.tries(ctx, method, path, op.OperationID, token, theirs)
			})
		}
	}
	w.of(t)
	if d := cmp.Diff(before, w.pictureOf(ctx, alpha)); d != "" {
		t.Errorf("the other space changed:\n%s", d)
	}
	w.hearsNothing(ctx, token)
	w.untimed(ctx, texts)
}

// tokenFor creates a token for a space, or for all spaces if it is empty.
func (w *world) tokenFor(space, role string) string {
	w.Helper()
	args := []string{"token", "create", "--data", w.data, "--role", role, "--json"}
	if space != "" {
		args = append(args, "--space", space)
	}
	cmd := exec.Command(underTest(w.T), args...)
	cmd.Args[0], cmd.Stderr = "percached", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		w.Fatal(err)
	}
	var made struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(out, &made); err != nil || made.Secret == "" {
		w.Fatalf("%s: %v", out, err)
	}
	return made.Secret
}

// pictureOf is everything that a space shows.
func (w *world) pictureOf(ctx context.Context, space string) map[string]string {
	w.Helper()
	p := map[string]string{}
	for _, part := range []string{"", "/documents", "/entries", "/history", "/uploads", "/cache/tree", "/predictions", "/facts"} {
		status, body := w.raw(ctx, "GET", "/v1/spaces/"+space+part, "", w.Token)
		if status != 200 {
			w.Fatalf("%s: %d", part, status)
		}
		p[part] = body
	}
	return p
}

// tries calls an operation on the other space with a token without the right to it. The
// response is that for a space, or an object, that does not exist.
func (w *world) tries(ctx context.Context, method, path, op, token string, theirs map[string]string) {
	fill := func(space string, things map[string]string) string {
		p := strings.ReplaceAll(path, "{space}", space)
		for name, id := range things {
			p = strings.ReplaceAll(p, "{"+name+"}", id)
		}
		return p
	}
	nothing := map[string]string{
		"document": strings.Repeat("ab", 16), "entry": strings.Repeat("cd", 16), "upload": "nothing", "conversation": strings.Repeat("ef", 16), "job": "none", "model": ghost, "file": "icon.svg",
	}
	body := strings.ReplaceAll(bodies[op], alpha, ghost)
	if op == "events" { // has a scene of its own
		return
	}
	status, told := w.raw(ctx, method, fill(alpha, theirs), bodies[op], token)
	asGhost, toldGhost := w.raw(ctx, method, fill(ghost, nothing), body, token)
	if status != asGhost || anonymised(told, alpha) != anonymised(toldGhost, ghost) {
		w.Errorf("a space of others is told from one that is not there:\n%d %s\n%d %s", status, told, asGhost, toldGhost)
	}
	inPath := strings.Contains(path, "{space}") || path == "/v1/models/{model}" || op == "createChatCompletion" || op == "createResponse"
	switch member := slices.Contains([]string{"page", "pageFile", "health", "ready", "openapi", "about", "listSpaces", "listModels", "createEmbedding"}, op); {
	case inPath && status != 403:
		w.Errorf("a space of others: status %d: %s", status, told)
	case !inPath && !member && status != 403:
		w.Errorf("what belongs to no space: status %d: %s", status, told)
	case member && status != 200:
		w.Errorf("status %d: %s", status, told)
	}
	if strings.Contains(path, "{space}/") && strings.Count(path, "{") == 2 { // their things, looked for in the own space
		status, told = w.raw(ctx, method, fill(beta, theirs), bodies[op], token)
		absent, toldAbsent := w.raw(ctx, method, fill(beta, nothing), bodies[op], token)
		for name, id := range theirs { // an answer may name what the client named
			told, toldAbsent = strings.ReplaceAll(told, id, name), strings.ReplaceAll(toldAbsent, nothing[name], name)
		}
		if status != 404 || status != absent || told != toldAbsent {
			w.Errorf("a thing of others is told from one that is not there:\n%d %s\n%d %s", status, told, absent, toldAbsent)
		}
	}
	if op == "openapi" || op == "ready" || strings.HasPrefix(op, "page") { // alpha is a word of the examples, and of pictures
		return
	}
	for _, secret := range secrets {
		if strings.Contains(strings.ReplaceAll(told, "/"+alpha, ""), secret) {
			w.Errorf("%q is told: %s", secret, told)
		}
	}
}

// bodies are valid bodies, by operation.
var bodies = map[string]string{
	"createSpace": `{"name":"gamma"}`, "changeSpace": `{"k":2}`, "upload": `{"documents":[{"text":"new"}]}`,
	"createConversation": `{"title":"Trip"}`, "addTurns": `{"turns":[{"role":"user","text":"I live in Bergen."}]}`,
	"ask": `{"question":"What is the garage code of Quillfeather?"}`, "complete": `{"before":"The garage code of Quillfeather is"}`,
	"askStream": `{"question":"What is the garage code of Quillfeather?"}`, "completeStream": `{"before":"The garage code of Quillfeather is"}`,
	"uploadDocuments": "--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--x--\r\n",
	"vetoEntry":       `{"asked":"What?"}`, "importEntries": "{}",
	"addFact": `{"text":"I live in Bergen."}`, "changeFact": `{"value":"Oslo"}`,
	"limitCache": `{"limit":1}`, "postDevice": `{"charging":true}`, "changeConfig": `{"tensor-limit":"1"}`,
	"createChatCompletion": `{"model":"alpha","messages":[{"role":"user","content":"What is the garage code?"}]}`,
	"createResponse":       `{"model":"alpha","input":"What is the garage code?"}`,
	"createEmbedding":      `{"input":"words"}`,
}

// raw sends a request, and returns status and body without the request's ID.
func (w *world) raw(ctx context.Context, method, path, body, token string) (int, string) {
	w.Helper()
	var b io.Reader = http.NoBody
	if body != "" {
		b = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.URL+path, b)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Request-Id", "fixed")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(body, "--x") {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	}
	if strings.HasSuffix(path, "/import") {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer got.Body.Close()
	all, err := io.ReadAll(got.Body)
	if err != nil {
		w.Fatal(err)
	}
	return got.StatusCode, string(bytes.TrimSpace(all))
}

// anonymised removes the name that the client sent.
func anonymised(body, name string) string { return strings.ReplaceAll(body, name, "NAME") }

// hearsNothing checks that no events of the other space arrive.
func (w *world) hearsNothing(ctx context.Context, token string) {
	w.Helper()
	ctx, gone := context.WithCancel(ctx)
	r, err := w.with(token).Events(ctx, nil)
	events := w.streamed(r, err, gone)
	defer events.close()
	for _, space := range []string{alpha, beta} {
		got, err := w.all.AskWithResponse(ctx, space, client.Question{Question: "What is the garage code of Quillfeather?"})
		w.is(200, got, err)
	}
	if m := events.message(); as[client.Event](w, m).Space == nil || *as[client.Event](w, m).Space != beta {
		w.Errorf("%s", m.Data)
	}
}

// untimed: stored data of one space makes nothing faster in another.
func (w *world) untimed(ctx context.Context, texts client.Texts) {
	w.Helper()
	in, err := w.all.UploadWithResponse(ctx, beta, &client.UploadParams{Wait: new(true)}, texts)
	w.is(200, in, err)
	got, err := w.all.AskWithResponse(ctx, beta, client.Question{Question: "What is the garage code of Quillfeather?"})
	w.is(200, got, err)
	if a := got.JSON200; a.Outcome != client.OutcomeMiss || a.Tokens.Reused != 0 || len(a.Gate.Considered) != 0 {
		w.Errorf("%+v", a)
	}
}
