package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
)

// Pages list every document once. A document has its text.
func TestDocuments(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	for _, limit := range []int{1, 4, len(nodetest.Names()), 100} {
		titles := map[string]int{}
		for after := ""; ; {
			page := given[api.Documents](t)(b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: in, Limit: limit, After: after}}))
			if page.Total != len(nodetest.Names()) {
				t.Errorf("%d in all", page.Total)
			}
			for _, d := range page.Documents {
				titles[d.Title]++
			}
			if after = page.Next; after == "" {
				break
			}
		}
		for _, name := range nodetest.Names() {
			if titles[name] != 1 || len(titles) != len(nodetest.Names()) {
				t.Errorf("limit %d: %v", limit, titles)
			}
		}
	}
	_, err := b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: in, Limit: 1, After: "x"}})
	wantFault(t, "a cursor", err, fault.Invalid, "query:after")
	id := f.publicID(t, nodetest.Letter(0, 0).Key)
	d := given[api.DocumentText](t)(b.Document(ctx, api.OneDocument{InSpace: in, Document: id}))
	if d.ID != id || d.Title != nodetest.Names()[0] || len(d.Text) != d.Chunks || !strings.HasPrefix(d.Text[0].About, nodetest.Names()[0]+" (mail from ") || !strings.Contains(d.Text[0].Body, "the budget for") {
		t.Errorf("%+v", d)
	}
}

// Documents are found by title and source, in any case and over pages. The total is that of
// the space.
func TestFindDocuments(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	const space = "found"
	given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: space}))
	texts := []string{"m.eml", "From: ZOË <z@example.com>\nSubject: Pump\n\nIt runs."}
	for i := range 30 {
		name := []string{"Straße %d", "Budget %d", "ΟΔΟΣ %d"}[i%3]
		texts = append(texts, fmt.Sprintf("%d.md", i), fmt.Sprintf("# "+name+"\n\nBoiler and number %d.", i, i))
	}
	given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: space, Wait: true, Each: files(texts...)}))
	for _, tc := range []struct {
		find api.Words
		want int
	}{{"", 31}, {"STRASSE", 10}, {"bUdget", 10}, {"οδος 2", 5}, {"zoë", 1}, {"budget  1", 0}, {"boiler", 0}, {"t 1", 5}} {
		for _, limit := range []int{1, 4, 10, 1000} {
			seen := map[string]bool{}
			for after := ""; ; {
				page := given[api.Documents](t)(b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: space}, Limit: limit, After: after}, Find: tc.find}))
				if page.Total != 31 || len(page.Documents) > limit || page.Next != "" && len(page.Documents) != limit {
					t.Errorf("%q by %d: %d of %d, next %q", tc.find, limit, len(page.Documents), page.Total, page.Next)
				}
				for _, d := range page.Documents {
					seen[d.Title] = true
				}
				if after = page.Next; after == "" {
					break
				}
			}
			if len(seen) != tc.want {
				t.Errorf("%q by %d: %v, want %d", tc.find, limit, seen, tc.want)
			}
		}
	}
}

// The receipt counts a deleted document. Its bytes leave the disk if that was requested.
func TestReceipts(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	f.askAll(t)
	const secret = "The password of " + "Zyxwvquorn" + " is swordfish."
	sent := given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: nodetest.Space, Key: "once", Wait: true, Each: files("secret.txt", secret, "broken.pdf", "%PDF-1.4 no")}))
	if sent.State != api.UploadDone || sent.Files != 2 || sent.Added != 1 || sent.Failed != 1 || len(sent.Failures) != 1 || sent.Chunks != 1 {
		t.Errorf("%+v", sent)
	}
	same := given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: nodetest.Space, Key: "once", Each: files("secret.txt", secret, "broken.pdf", "%PDF-1.4 no")}))
	if d := cmp.Diff(sent, same); d != "" {
		t.Errorf("sent again: %s", d)
	}
	_, err := b.Upload(ctx, api.Upload{Space: nodetest.Space, Key: "once", Each: files("other.txt", "Other.")})
	wantFault(t, "another upload", err, fault.Conflict)
	if all := given[api.Uploads](t)(b.Uploads(ctx, api.Page{InSpace: in, Limit: 10})); len(all.Uploads) != 1 || all.Uploads[0].ID != sent.ID {
		t.Errorf("%+v", all)
	}
	question := "What is the password of " + "Zyxwvquorn" + "?"
	a := given[api.Answer](t)(b.Ask(ctx, api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: question}}, api.Listener{}))
	var id percached.DocumentID
	for _, c := range a.Citations {
		if strings.Contains(c.Quote, "Zyxwvquorn") {
			id = c.Document
		}
	}
	got := given[api.Receipt](t)(b.DeleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: in, Document: id}}))
	want := api.Receipt{Documents: 1, Chunks: 1, Vectors: 1, Indexed: 1, Slices: got.Slices, SliceBytes: got.SliceBytes, Entries: 1, History: 1, Bytes: api.BytesPending}
	if d := cmp.Diff(want, got); d != "" || got.Slices == 0 {
		t.Errorf("%s\n%+v", d, got)
	}
	if all := given[api.Uploads](t)(b.Uploads(ctx, api.Page{InSpace: in, Limit: 10})); len(all.Uploads) != 0 {
		t.Errorf("uploads still name it: %+v", all)
	}
	if due, err := f.Library.NeedsCleanUp(); !due || err != nil {
		t.Errorf("nothing is left for idle work: %v", err)
	}
	other := f.publicID(t, nodetest.Letter(1, 0).Key)
	if got := given[api.Receipt](t)(b.DeleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: in, Document: other, CleanUp: true}})); !got.CleanedUp || got.Documents != 1 {
		t.Errorf("%+v", got)
	}
	err = filepath.WalkDir(f.Home.Path(), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "Zyxwvquorn") {
			t.Errorf("%s still holds it", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A cleared history is deleted, and idle work removes its bytes from disk.
func TestHistory(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	f.askAll(t)
	got := given[api.Records](t)(b.History(ctx, api.Page{InSpace: in, Limit: 1}))
	if len(got.Questions) != 1 || got.Questions[0].Outcome != "miss" && got.Questions[0].Outcome != "tensor_hit" || len(got.Questions[0].Chunks) == 0 {
		t.Errorf("%+v", got)
	}
	if n := given[api.Cleared](t)(b.ClearHistory(ctx, api.ClearHistoryRequest{InSpace: in})); n.Removed != len(scripted()) || n.CleanedUp {
		t.Errorf("%+v", n)
	}
	if got := given[api.Records](t)(b.History(ctx, api.Page{InSpace: in, Limit: 10})); got.Questions == nil || len(got.Questions) != 0 {
		t.Errorf("%+v", got)
	}
	for _, want := range []bool{true, false} {
		if due, err := f.Library.NeedsCleanUp(); due != want || err != nil {
			t.Errorf("there is something left for idle work: %v, %v", due, err)
		}
		if err := f.Library.CleanUp(ctx, nil); err != nil {
			t.Error(err)
		}
	}
}

// Events report uploads, deletions and settings, and contain no text.
func TestNews(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	o := api.Default()
	o.Events, o.Ready = f.Events, func() api.Ready { return api.Ready{Ready: true} }
	o.Authorize = func(context.Context, string) (api.Grant, error) {
		return api.Grant{Token: "t", Role: api.RoleAdmin}, nil
	}
	o.Spec = []byte("openapi: 3.0.3\n")
	server, err := api.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	defer f.Events.Close()
	r, err := http.NewRequestWithContext(ctx, "GET", web.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	resp, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := api.InSpace{Space: nodetest.Space}
	given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: nodetest.Space, Wait: true, Each: files("note.txt", "The password is swordfish.")}))
	given[api.Space](t)(b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(`{"k":4,"prompts":{"instructions":"swordfish"}}`)}))
	given[api.Receipt](t)(b.DeleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: in, Document: f.publicID(t, nodetest.Letter(0, 0).Key)}}))
	given[api.Config](t)(b.ChangeConfig(ctx, api.ConfigChange{"tensor-limit": "3MiB"}))
	var heard []string
	for lines := bufio.NewScanner(resp.Body); len(heard) < 6 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e api.Event
		if !ok || json.Unmarshal([]byte(data), &e) != nil || e.Type == "" {
			continue
		}
		if strings.Contains(data, "swordfish") {
			t.Errorf("it holds text: %s", data)
		}
		said := e.Type + " " + e.Space
		for _, key := range []string{"state", "added", "documents", "keys"} {
			if v, ok := e.Data[key]; ok {
				b, _ := json.Marshal(v)
				said += " " + string(b)
			}
		}
		heard = append(heard, said)
	}
	want := []string{
		"upload life \"queued\" 0", "upload life \"running\" 0", "upload life \"done\" 1", `settings life ["k","prompts/instructions"]`,
		"forgotten life 1", `settings  ["tensor-limit"]`,
	}
	for i := range want {
		want[i] = strings.Replace(want[i], "life", nodetest.Space, 1)
	}
	slices.Sort(want) // a waiting client may continue before the event arrives
	slices.Sort(heard)
	if d := cmp.Diff(want, heard); d != "" {
		t.Error(d)
	}
}

// publicID is the public ID of the document with a key.
func (f *Backend) publicID(t *testing.T, key string) percached.DocumentID {
	t.Helper()
	return given[percached.PublicIDs](t)(f.Knowledge.PublicIDs(nodetest.Space)).Document(percached.NewDocumentID(key))
}
