package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/percached/percached/api/client"
)

// backupScene backs up, deletes a document, and restores it without a restart.
func (w *world) backupScene(ctx context.Context) {
	asked := w.asks(ctx, client.Question{Question: budgetQ})
	archive, err := w.all.BackupWithResponse(ctx)
	w.is(200, archive, err)
	all, err := w.all.ListDocumentsWithResponse(ctx, mail, nil)
	w.is(200, all, err)
	gone, err := w.all.DeleteDocumentWithResponse(ctx, mail, all.JSON200.Documents[0].ID, nil)
	w.is(200, gone, err)

	const kind = "application/gzip"
	refused, err := w.all.RestoreWithBodyWithResponse(ctx, nil, kind, bytes.NewReader(archive.Body))
	w.is(409, refused, err)
	if !strings.Contains(string(refused.Body), "force=true") {
		w.Errorf("%s", refused.Body)
	}
	force := &client.RestoreParams{Force: new(true)}
	damaged, err := w.all.RestoreWithBodyWithResponse(ctx, force, kind, bytes.NewReader(archive.Body[:len(archive.Body)-9]))
	w.is(400, damaged, err)
	wrong, err := w.all.RestoreWithBodyWithResponse(ctx, force, "text/plain", strings.NewReader("text"))
	w.is(415, wrong, err)
	back, err := w.all.RestoreWithBodyWithResponse(ctx, force, kind, bytes.NewReader(archive.Body))
	w.is(200, back, err)
	// A daemon that restores drops the connections that it just accepted.
	until(w.T, "the daemon is ready", func() bool { return w.Ready(ctx) == nil })
	now, err := w.all.ListDocumentsWithResponse(ctx, mail, nil)
	w.is(200, now, err)
	if now.JSON200.Total != all.JSON200.Total {
		w.Errorf("%d documents, %d were backed up", now.JSON200.Total, all.JSON200.Total)
	}
	if a := w.asks(ctx, client.Question{Question: budgetQ}); a.Outcome != client.OutcomeAnswerHit || a.Answer != asked.Answer {
		w.Errorf("%+v", a)
	}
}

// moveScene exports a space, deletes it, and imports it again with its stored answers.
func (w *world) moveScene(ctx context.Context) {
	asked := w.asks(ctx, client.Question{Question: budgetQ})
	before, err := w.all.GetSpaceWithResponse(ctx, mail)
	w.is(200, before, err)
	export, err := w.all.ExportSpaceWithResponse(ctx, mail, nil)
	w.is(200, export, err)
	const kind = "application/gzip"
	refused, err := w.all.ImportSpaceWithBodyWithResponse(ctx, mail, nil, kind, bytes.NewReader(export.Body))
	w.is(409, refused, err)
	gone, err := w.all.DeleteSpaceWithResponse(ctx, mail, nil)
	w.is(200, gone, err)
	back, err := w.all.ImportSpaceWithBodyWithResponse(ctx, mail, nil, kind, bytes.NewReader(export.Body))
	w.is(201, back, err)
	if back.JSON201.Documents != before.JSON200.Documents || back.JSON201.Chunks != before.JSON200.Chunks {
		w.Errorf("%+v, exported were %+v", back.JSON201, before.JSON200)
	}
	if a := w.asks(ctx, client.Question{Question: budgetQ}); a.Outcome != client.OutcomeAnswerHit || a.Answer != asked.Answer {
		w.Errorf("%+v", a)
	}
}
