package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/commands"
)

// livedIn gives a space something of everything that moves with it.
func (w *world) livedIn(space string) {
	w.Helper()
	ctx := w.Context()
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{
		Name: space, Settings: &client.SettingsChange{K: new(3), Prompts: &client.PromptsChange{Instructions: new("Answer from these texts.\n")}},
	})
	w.is(201, made, err)
	texts := client.Texts{Documents: []client.NewDocument{
		{Title: new("Garage"), Text: "The garage code of Quillfeather is 4711."},
		{Title: new("Tea"), Text: "Ana drinks green tea in the garage every morning."},
		{Title: new("Boat"), Text: "The boat of Otto is painted red and lies in the harbour."},
	}}
	in, err := w.all.UploadWithResponse(ctx, space, &client.UploadParams{Wait: new(true)}, texts)
	w.is(200, in, err)
	docs, err := w.all.ListDocumentsWithResponse(ctx, space, nil)
	w.is(200, docs, err)
	for _, d := range docs.JSON200.Documents {
		if d.Title == "Boat" {
			gone, err := w.all.DeleteDocumentWithResponse(ctx, space, d.ID, nil)
			w.is(200, gone, err)
		}
	}
	fact, err := w.all.AddFactWithResponse(ctx, space, client.NewFact{Text: new("I live in Bergen.")})
	w.is(200, fact, err)
	talk, err := w.all.CreateConversationWithResponse(ctx, space, client.NewConversation{Title: new("Trip")})
	w.is(201, talk, err)
	asked, err := w.all.AskWithResponse(ctx, space, client.Question{Question: "What is the garage code of Quillfeather?"})
	w.is(200, asked, err)
	asked, err = w.all.AskWithResponse(ctx, space, client.Question{Question: "Who drinks green tea?", Conversation: &talk.JSON201.ID})
	w.is(200, asked, err)
	drained, err := w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: &space, Kind: []client.JobKind{"abstract", "predict", "decode"}})
	w.is(200, drained, err)
}

// portrait is everything that a space shows which moves with it.
func (w *world) portrait(space string) map[string]any {
	w.Helper()
	p := map[string]any{}
	for _, part := range []string{"", "/documents", "/entries", "/history", "/predictions", "/facts", "/conversations"} {
		status, body := w.raw(w.Context(), "GET", "/v1/spaces/"+space+part, "", w.Token)
		if status != 200 {
			w.Fatalf("%s: %d %s", part, status, body)
		}
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			w.Fatal(err)
		}
		p[part] = v
	}
	status, body := w.raw(w.Context(), "GET", "/v1/spaces/"+space+"/deletions", "", w.Token)
	var d client.Deletions
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 {
		w.Fatalf("%d %s", status, body)
	}
	p["remembered"] = d.Remembered
	return p
}

// otherWorld starts a second daemon and returns a file with its token.
func otherWorld(t *testing.T) (w *world, tokenFile string) {
	w = newWorld(t)
	tokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(w.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, tokenFile
}

// A moved space is the same on the other node. The first node redirects clients, until the
// move is undone.
func TestMoveSpace(t *testing.T) {
	a := newWorld(t)
	b, token := otherWorld(t)
	ctx := t.Context()
	a.livedIn(alpha)
	want := a.portrait(alpha)
	if want["remembered"] != 1 || len(want["/predictions"].(map[string]any)) == 0 {
		t.Fatalf("%v", want)
	}
	out, errs, status := called(patiently(t), "spaces", "move", alpha, "--data", a.data, "--to", b.URL, "--to-token-file", token)
	if status != commands.ExitDone || !strings.Contains(out, "Moved alpha to "+b.URL+": 3 documents") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	if d := cmp.Diff(want, b.portrait(alpha)); d != "" {
		t.Errorf("the moved space differs:\n%s", d)
	}
	again, err := b.all.AskWithResponse(ctx, alpha, client.Question{Question: "What is the garage code of Quillfeather?"})
	b.is(200, again, err)
	if again.JSON200.Outcome != client.OutcomeAnswerHit {
		t.Errorf("%+v", again.JSON200)
	}
	found, err := b.all.SearchDocumentsWithResponse(ctx, alpha, &client.SearchDocumentsParams{Q: "green tea"})
	b.is(200, found, err)
	if p := found.JSON200.Passages; len(p) == 0 || !strings.Contains(p[0].Quote, "green tea") {
		t.Errorf("%+v", p)
	}
	boat := client.Texts{Documents: []client.NewDocument{{Title: new("Boat"), Text: "The boat of Otto is painted red and lies in the harbour."}}}
	in, err := b.all.UploadWithResponse(ctx, alpha, &client.UploadParams{Wait: new(true)}, boat)
	b.is(200, in, err)
	if in.JSON200.DeletedBefore != 1 {
		t.Errorf("the deleted document came back: %+v", in.JSON200)
	}

	for path, body := range map[string]string{
		"/v1/spaces/" + alpha + "/documents?limit=3": "", "/v1/spaces/" + alpha + "/ask": `{"question":"x"}`,
		"/v1/chat/completions": `{"model":"` + alpha + `","messages":[{"role":"user","content":"x"}]}`,
	} {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		r, err := http.NewRequestWithContext(ctx, method, a.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+a.Token)
		r.Header.Set("Content-Type", "application/json")
		got, err := (&http.Client{Transport: a}).Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != 307 || got.Header.Get("Location") != b.URL+path {
			t.Errorf("%s: status %d to %q", path, got.StatusCode, got.Header.Get("Location"))
		}
	}
	if status, body := a.raw(ctx, "PATCH", "/v1/spaces/"+alpha+"/settings", `{"moved_to":""}`, a.Token); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if d := cmp.Diff(want, a.portrait(alpha)); d != "" {
		t.Errorf("after the move was undone:\n%s", d)
	}
}

// While a space is read-only, changes are refused and questions are answered. A move that
// fails leaves both nodes as they were.
func TestMoveSpaceFails(t *testing.T) {
	a := newWorld(t)
	b, token := otherWorld(t)
	ctx := t.Context()
	a.livedIn(alpha)
	b.livedIn(alpha)
	want, there := a.portrait(alpha), b.portrait(alpha)
	_, errs, status := called(patiently(t), "spaces", "move", alpha, "--data", a.data, "--to", b.URL, "--to-token-file", token)
	if status != commands.ExitFailed || !strings.Contains(errs, "is not empty") {
		t.Errorf("status %d: %s", status, errs)
	}
	if d := cmp.Diff(want, a.portrait(alpha)) + cmp.Diff(there, b.portrait(alpha)); d != "" {
		t.Errorf("a move that failed changed:\n%s", d)
	}
	_, errs, status = called(patiently(t), "spaces", "move", alpha, "--data", a.data, "--to", "http://node2.example.org", "--to-token-file", token)
	if status != commands.ExitMisused || !strings.Contains(errs, "--to-insecure-http") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, body := a.raw(ctx, "PATCH", "/v1/spaces/"+alpha+"/settings", `{"read_only":true}`, a.Token); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	refused, err := a.all.AddFactWithResponse(ctx, alpha, client.NewFact{Text: new("I live in Oslo.")})
	a.is(503, refused, err)
	if refused.HTTPResponse.Header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After")
	}
	asked, err := a.all.AskWithResponse(ctx, alpha, client.Question{Question: "What is the garage code of Quillfeather?"})
	a.is(200, asked, err)
	for _, wrong := range []string{"ftp://x", "http://x/", "http://u@x", "x"} {
		if status, body := a.raw(ctx, "PATCH", "/v1/spaces/"+alpha+"/settings", `{"moved_to":"`+wrong+`"}`, a.Token); status != 400 {
			t.Errorf("%q: %d %s", wrong, status, body)
		}
	}
}

// An import is refused whole if the archive is damaged, of another space, or a backup.
func TestImportRefused(t *testing.T) {
	a := newWorld(t)
	b, _ := otherWorld(t)
	ctx := t.Context()
	a.livedIn(alpha)
	export, err := a.all.ExportSpaceWithResponse(ctx, alpha, nil)
	a.is(200, export, err)
	backup, err := a.all.BackupWithResponse(ctx)
	a.is(200, backup, err)
	const kind = "application/gzip"
	for name, tc := range map[string]struct {
		space   string
		archive []byte
		says    string
	}{
		"truncated":     {alpha, export.Body[:len(export.Body)-9], "damaged"},
		"another name":  {beta, export.Body, "a space keeps its name"},
		"a backup":      {alpha, backup.Body, "percached restore"},
		"not a archive": {alpha, []byte("text"), "not a backup"},
	} {
		got, err := b.all.ImportSpaceWithBodyWithResponse(ctx, tc.space, nil, kind, bytes.NewReader(tc.archive))
		b.is(400, got, err)
		if !strings.Contains(string(got.Body), tc.says) {
			t.Errorf("%s: %s", name, got.Body)
		}
		if got, err := b.all.GetSpaceWithResponse(ctx, tc.space); err != nil || got.StatusCode() != 404 {
			t.Errorf("%s: the space exists: %v", name, err)
		}
	}
	whole, err := b.all.RestoreWithBodyWithResponse(ctx, &client.RestoreParams{Force: new(true)}, kind, bytes.NewReader(export.Body))
	b.is(400, whole, err)
	made, err := b.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: alpha, Kind: new(client.SpaceKind("notes"))})
	b.is(201, made, err)
	got, err := b.all.ImportSpaceWithBodyWithResponse(ctx, alpha, nil, kind, bytes.NewReader(export.Body))
	b.is(201, got, err)
	if got.JSON201.Documents != 3 || got.JSON201.Kind != "emails" {
		t.Errorf("%+v", got.JSON201)
	}
	got, err = b.all.ImportSpaceWithBodyWithResponse(ctx, alpha, nil, kind, bytes.NewReader(export.Body))
	b.is(409, got, err)
}
