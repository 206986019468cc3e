package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/commands"
)

// put adds a text under a key.
func (w *world) put(space, key, text string) {
	w.Helper()
	in, err := w.all.UploadWithResponse(w.Context(), space, &client.UploadParams{Wait: new(true)}, client.Texts{
		Documents: []client.NewDocument{{Key: new(key), Title: new(key), Text: text, Date: new("2025-05-30T10:00:00+02:00")}},
	})
	w.is(200, in, err)
	if in.JSON200.Failed > 0 {
		w.Fatalf("%+v", in.JSON200)
	}
}

// copied returns what readers see of the documents: text by title.
func (w *world) copied(space string) map[string]string {
	w.Helper()
	list, err := w.all.ListDocumentsWithResponse(w.Context(), space, nil)
	w.is(200, list, err)
	all := map[string]string{}
	for _, d := range list.JSON200.Documents {
		one, err := w.all.GetDocumentWithResponse(w.Context(), space, d.ID)
		w.is(200, one, err)
		for _, c := range one.JSON200.Text {
			all[d.Title] += c.Body
		}
	}
	return all
}

// A copy has the documents of its writer after each round, and nothing else of it. It refuses
// other changes. What the writer deleted or replaced is in no file of the reader.
func TestFollowSpace(t *testing.T) {
	writer, token := otherWorld(t)
	reader := newWorld(t)
	ctx := t.Context()
	writer.livedIn(alpha)
	round := func(ctx context.Context) (string, string, int) {
		return called(ctx, "spaces", "follow", alpha, "--data", reader.data, "--from", writer.URL, "--from-token-file", token, "--once")
	}
	follow := func(want string) {
		t.Helper()
		out, errs, status := round(patiently(t))
		if status != commands.ExitDone || !strings.Contains(out, want) || want == "" && out != "" {
			t.Fatalf("status %d, want %q: %s%s", status, want, out, errs)
		}
	}
	writer.put(alpha, "kept", "The canteen opens at noon.")
	writer.put(alpha, "secret", "The password of "+canary+" is swordfish.")
	writer.put(alpha, "changed", "The "+canary+" meets on Monday.")
	follow("Updated alpha from " + writer.URL + ": 5 documents")
	same := func() {
		t.Helper()
		want := writer.copied(alpha)
		for title := range want {
			if strings.Contains(want[title], "Bergen") { // the fact
				delete(want, title)
			}
		}
		got := reader.copied(alpha)
		if len(got) != len(want) {
			t.Errorf("the copy has %d documents instead of %d", len(got), len(want))
		}
		for title, text := range want {
			if got[title] != text {
				t.Errorf("%s: %q, want %q", title, got[title], text)
			}
		}
	}
	same()
	for _, private := range []string{"/conversations", "/history", "/facts", "/entries"} {
		if status, body := reader.raw(ctx, "GET", "/v1/spaces/"+alpha+private, "", reader.Token); status != 200 ||
			strings.Contains(body, "Bergen") || strings.Contains(body, "Trip") || strings.Contains(body, "Quillfeather") {
			t.Errorf("%s was copied: %d %s", private, status, body)
		}
	}
	follow("") // nothing changed
	refused, err := reader.all.AddFactWithResponse(ctx, alpha, client.NewFact{Text: new("I live in Oslo.")})
	reader.is(503, refused, err)

	for _, question := range []string{"What is the password of " + canary + "?", "When does the " + canary + " meet?"} {
		asked, err := reader.all.AskWithResponse(ctx, alpha, client.Question{Question: question})
		reader.is(200, asked, err)
	}
	if len(traces(t, reader.data, []byte(canary))) == 0 {
		t.Fatal("the search finds nothing where there is something")
	}
	docs, err := writer.all.ListDocumentsWithResponse(ctx, alpha, nil)
	writer.is(200, docs, err)
	for _, d := range docs.JSON200.Documents {
		if d.Title == "secret" || d.Title == "changed" {
			gone, err := writer.all.DeleteDocumentWithResponse(ctx, alpha, d.ID, &client.DeleteDocumentParams{Remember: new(false)})
			writer.is(200, gone, err)
		}
	}
	writer.put(alpha, "changed", "The committee meets on Friday.")
	follow("Updated")
	same()
	until(t, "the bytes are gone", func() bool {
		d, err := reader.all.GetDeletionsWithResponse(ctx, alpha)
		reader.is(200, d, err)
		return d.JSON200.Bytes == client.BytesStateGone
	})
	if found := traces(t, reader.data, []byte(canary)); len(found) > 0 {
		t.Errorf("left at the reader: %q", found)
	}

	if err := writer.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := round(patiently(t)); status != commands.ExitFailed {
		t.Errorf("the writer is down, and the status is %d: %s", status, errs)
	}
	found, err := reader.all.SearchDocumentsWithResponse(ctx, alpha, &client.SearchDocumentsParams{Q: "committee Friday"})
	reader.is(200, found, err)
	if p := found.JSON200.Passages; len(p) == 0 || !strings.Contains(p[0].Quote, "Friday") {
		t.Errorf("%+v", p)
	}
	writer.start() // its cleanup stops it
}

// A space that is not a copy is left alone.
func TestFollowRefuses(t *testing.T) {
	writer, token := otherWorld(t)
	reader := newWorld(t)
	for _, w := range []*world{writer, reader} {
		made, err := w.all.CreateSpaceWithResponse(t.Context(), client.NewSpace{Name: alpha})
		w.is(201, made, err)
	}
	writer.put(alpha, "a", "The canteen opens at noon.")
	reader.put(alpha, "mine", "My own note.")
	_, errs, status := called(patiently(t), "spaces", "follow", alpha, "--data", reader.data, "--from", writer.URL, "--from-token-file", token, "--once")
	if status != commands.ExitFailed || !strings.Contains(errs, "is not a copy") {
		t.Errorf("status %d: %s", status, errs)
	}
	if got := reader.copied(alpha); len(got) != 1 {
		t.Errorf("%v", got)
	}
	tag, err := writer.all.ExportSpaceWithResponse(t.Context(), alpha, &client.ExportSpaceParams{Documents: new(true), Unless: new("*")})
	writer.is(204, tag, err)
	if tag.HTTPResponse.Header.Get("ETag") == "" {
		t.Error("there is no ETag")
	}
	export, err := writer.all.ExportSpaceWithResponse(t.Context(), alpha, &client.ExportSpaceParams{Documents: new(true)})
	writer.is(200, export, err)
	for _, update := range []bool{true, false} {
		got, err := reader.all.ImportSpaceWithBodyWithResponse(t.Context(), alpha, &client.ImportSpaceParams{Update: &update}, "application/gzip", bytes.NewReader(export.Body))
		reader.is(409, got, err)
	}
}

// If the reader is killed within a round, the next one completes the copy.
func TestFollowKilled(t *testing.T) {
	writer, token := otherWorld(t)
	reader := newWorld(t)
	made, err := writer.all.CreateSpaceWithResponse(t.Context(), client.NewSpace{Name: alpha})
	writer.is(201, made, err)
	batches := repeated(4, 2)
	for batch := range batches {
		var texts client.Texts
		for i := range 100 {
			name := strings.Repeat("x", batch+1) + strings.Repeat("y", i+1)
			texts.Documents = append(texts.Documents, client.NewDocument{Key: new(name), Title: new(name), Text: "Note of " + name + "."})
		}
		in, err := writer.all.UploadWithResponse(t.Context(), alpha, &client.UploadParams{Wait: new(true)}, texts)
		writer.is(200, in, err)
	}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(ended)
		called(ctx, "spaces", "follow", alpha, "--data", reader.data, "--from", writer.URL, "--from-token-file", token, "--once")
	}()
	until(t, "a part of the documents is there", func() bool {
		sp, err := reader.all.GetSpaceWithResponse(t.Context(), alpha)
		return err == nil && sp.StatusCode() == 200 && sp.JSON200.Documents > 0
	})
	reader.Kill()
	<-ended
	reader.start()
	out, errs, status := called(patiently(t), "spaces", "follow", alpha, "--data", reader.data, "--from", writer.URL, "--from-token-file", token, "--once")
	if status != commands.ExitDone {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	sp, err := reader.all.GetSpaceWithResponse(t.Context(), alpha)
	reader.is(200, sp, err)
	if sp.JSON200.Documents != 100*batches {
		t.Errorf("the copy has %d documents", sp.JSON200.Documents)
	}
}

// Without --once it follows until it is interrupted.
func TestFollowRuns(t *testing.T) {
	writer, token := otherWorld(t)
	reader := newWorld(t)
	made, err := writer.all.CreateSpaceWithResponse(t.Context(), client.NewSpace{Name: alpha})
	writer.is(201, made, err)
	writer.put(alpha, "first", "The canteen opens at noon.")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int)
	go func() {
		_, _, status := called(ctx, "spaces", "follow", alpha, "--data", reader.data, "--from", writer.URL, "--from-token-file", token, "--every", "1s")
		ended <- status
	}()
	has := func(n int) func() bool {
		return func() bool {
			sp, err := reader.all.GetSpaceWithResponse(t.Context(), alpha)
			return err == nil && sp.StatusCode() == 200 && sp.JSON200.Documents == n
		}
	}
	until(t, "the first document is there", has(1))
	writer.put(alpha, "second", "The garage closes at ten.")
	until(t, "the second document is there", has(2))
	interrupt()
	if status := <-ended; status != commands.ExitInterrupted {
		t.Errorf("status %d", status)
	}
}
