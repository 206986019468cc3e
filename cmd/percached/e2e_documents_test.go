package main

import (
	"bytes"
	"context"
	"mime/multipart"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
)

func (w *world) documentsScene(ctx context.Context) {
	// Texts as JSON, waited for.
	key, title := "note-1", "Parking"
	texts := client.Texts{Documents: []client.NewDocument{{Key: &key, Title: &title, Text: "The code of the parking garage is 4711. It changes in June."}}}
	in, err := w.all.UploadWithResponse(ctx, mail, &client.UploadParams{Wait: new(true)}, texts)
	w.is(200, in, err)
	if u := in.JSON200; u.State != client.UploadStateDone || u.Added != 1 {
		w.Errorf("%+v", u)
	}
	// A mailbox as a form, under a key, twice.
	form, kind := boxed(w)
	params := &client.UploadParams{IdempotencyKey: new("box-1")}
	first, err := w.all.UploadWithBodyWithResponse(ctx, mail, params, kind, bytes.NewReader(form))
	w.is(202, first, err)
	done := w.taken(ctx, first.JSON202.ID)
	if done.Added < 10 || done.Failed > 0 {
		w.Errorf("%+v", done)
	}
	second, err := w.all.UploadWithBodyWithResponse(ctx, mail, params, kind, bytes.NewReader(form))
	w.is(202, second, err)
	if second.JSON202.ID != first.JSON202.ID {
		w.Error("the same upload under the same key is another")
	}
	third, err := w.all.UploadDocumentsWithBodyWithResponse(ctx, mail, &client.UploadDocumentsParams{IdempotencyKey: new("box-1")}, kind, bytes.NewReader(form))
	w.is(202, third, err)
	if third.JSON202.ID != first.JSON202.ID {
		w.Error("the same files are another upload in the operation for files")
	}
	other, err := w.all.UploadWithResponse(ctx, mail, params, texts)
	w.is(409, other, err)
	// A file as it is.
	raw, err := w.all.UploadWithBodyWithResponse(ctx, mail, &client.UploadParams{Wait: new(true), Name: new("plan.md")}, "text/markdown",
		strings.NewReader("# Picnic\n\nThe picnic is at the mill pond on 14 June."))
	w.is(200, raw, err)
	w.folders(ctx)
	uploads, err := w.all.ListUploadsWithResponse(ctx, mail, nil)
	w.is(200, uploads, err)
	if n := len(uploads.JSON200.Uploads); n != 3 {
		w.Errorf("%d uploads", n)
	}
	seen := map[string]bool{}
	for after := (*string)(nil); ; {
		page, err := w.all.ListDocumentsWithResponse(ctx, mail, &client.ListDocumentsParams{Limit: new(5), After: after})
		w.is(200, page, err)
		for _, d := range page.JSON200.Documents {
			seen[d.ID] = true
		}
		if after = page.JSON200.Next; after == nil {
			break
		}
	}
	if want := done.Added + 2; len(seen) != want {
		w.Errorf("%d documents by pages, want %d", len(seen), want)
	}
	for id := range seen {
		one, err := w.all.GetDocumentWithResponse(ctx, mail, id)
		w.is(200, one, err)
		if len(one.JSON200.Text) == 0 {
			w.Errorf("%+v", one.JSON200)
		}
		break
	}
}

// folders checks that names of files with folders are kept, and are never used as paths on
// disk.
func (w *world) folders(ctx context.Context) {
	w.Helper()
	const space = "folders"
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: space})
	w.is(201, made, err)
	for _, edition := range []string{"old", "new"} {
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		for name, text := range map[string]string{
			"a/notes.md": "The pond is deep.", `b\notes.md`: "The " + edition + " pond is wide.", "/box/cur/1700000000.M1.host:2,S": "The " + edition + " swans.",
		} {
			part, _ := m.CreateFormFile("files", name) // a buffer takes all
			part.Write([]byte(text))
		}
		m.Close()
		in, err := w.all.UploadWithBodyWithResponse(ctx, space, &client.UploadParams{Wait: new(true)}, m.FormDataContentType(), &form)
		w.is(200, in, err)
		got := [3]int{in.JSON200.Added, in.JSON200.Replaced, in.JSON200.Unchanged}
		if want := map[string][3]int{"old": {3, 0, 0}, "new": {1, 1, 1}}[edition]; got != want { // a mail is known by what it says
			w.Errorf("%s: %v added, replaced, unchanged; want %v", edition, got, want)
		}
	}
	up, err := w.all.UploadWithBodyWithResponse(ctx, space, &client.UploadParams{Name: new("a/../../notes.md")}, "text/markdown", strings.NewReader("# Up"))
	w.is(400, up, err)
	docs, err := w.all.ListDocumentsWithResponse(ctx, space, nil)
	w.is(200, docs, err)
	formats := map[string]int{}
	for _, d := range docs.JSON200.Documents {
		formats[string(d.Format)+" "+d.Title]++
	}
	if d := cmp.Diff(map[string]int{"markdown notes": 2, "mail No subject": 2}, formats); d != "" {
		w.Error(d)
	}
	last, err := w.all.UploadWithBodyWithResponse(ctx, space, &client.UploadParams{Wait: new(true), Name: new("last.txt")}, "text/plain", strings.NewReader("The last."))
	w.is(200, last, err)
	cancelled, err := w.all.CancelUploadWithResponse(ctx, space, last.JSON200.ID)
	w.is(204, cancelled, err)
	unknown, err := w.all.GetUploadWithResponse(ctx, space, last.JSON200.ID)
	w.is(404, unknown, err)
	gone, err := w.all.DeleteSpaceWithResponse(ctx, space, nil)
	w.is(200, gone, err)
}

// boxed is the demo's mailbox as a form.
func boxed(w *world) (body []byte, kind string) {
	b, err := os.ReadFile(mailbox)
	if err != nil {
		w.Fatal(err)
	}
	if testing.Short() { // idle work over all 62 mails takes long
		const first = 16
		b = []byte(strings.Join(strings.SplitN(string(b), "\n\nFrom ", first+1)[:first], "\n\nFrom ") + "\n")
	}
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, _ := m.CreateFormFile("files", "inbox.mbox") // a buffer takes all
	part.Write(b)
	m.Close()
	return form.Bytes(), m.FormDataContentType()
}

// taken waits until an upload has ended, which an event reports.
func (w *world) taken(ctx context.Context, id string) *client.UploadStatus {
	w.Helper()
	events := w.listen(ctx)
	defer events.close()
	for {
		got, err := w.all.GetUploadWithResponse(ctx, mail, id)
		w.is(200, got, err)
		if s := got.JSON200.State; s == client.UploadStateDone || s == client.UploadStateFailed {
			return got.JSON200
		}
		events.next("upload")
	}
}
