package backend

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/internal/token"
)

// accepts makes the inbox accept files, and add them if it runs.
func accepts(t *testing.T, in *inbox.Inbox, work bool, namesAndTexts ...string) {
	t.Helper()
	u, err := in.Accept(t.Context(), nodetest.Space, "", func(take inbox.Take) error { return files(namesAndTexts...)(take) })
	if err != nil {
		t.Fatal(err)
	}
	if work {
		works(t, in, u.ID)
	}
}

// works runs the inbox until an upload has ended.
func works(t *testing.T, in *inbox.Inbox, id string) inbox.Upload {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- in.Run(ctx) }()
	u, err := in.Wait(t.Context(), id)
	stop()
	if late := <-ran; err != nil || late != nil || u.State != inbox.Done {
		t.Fatalf("%+v, %v, %v", u, err, late)
	}
	return u
}

// A deletion also covers uploads that are accepted but not yet added: neither a document nor
// a space reappears.
func TestCommandForgetsWhatWaits(t *testing.T) {
	s, ctx := scriptedService(t, t.TempDir()), t.Context()
	in, err := node.OpenInbox(s, node.InboxLimits{Disk: node.InboxDisk, Documents: 1000, Expanded: 1 << 30}, slog.New(slog.DiscardHandler), inbox.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	accepts(t, in, true, "note.txt", "The soup is on the stove.")
	accepts(t, in, false, "note.txt", "The soup is in the fridge.", "other.txt", "The bread is in the box.")
	if err := in.Close(); err != nil { // the daemon stops
		t.Fatal(err)
	}
	f := resting(t, s)
	again, tokens := f.Inbox, f.Tokens
	gone := api.DeleteRequest{InSpace: api.InSpace{Space: nodetest.Space}}
	titles := func() (all []string) {
		t.Helper()
		for _, d := range given[api.Documents](t)(f.pageOfDocuments(t.Context(), api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 100, After: ""}})).Documents {
			all = append(all, d.Title)
		}
		return all
	}
	for _, d := range given[api.Documents](t)(f.pageOfDocuments(t.Context(), api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 100, After: ""}})).Documents {
		if d.Title == "note" || d.Title == "note.txt" {
			r, err := f.deleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: gone.InSpace, Document: d.ID, CleanUp: true}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Documents != 1 || r.CleanedUp {
				t.Errorf("the upload that waits holds it still: %+v", r)
			}
		}
	}
	queued := again.List(nodetest.Space, 10)
	if len(queued) != 1 {
		t.Fatalf("%+v", queued)
	}
	works(t, again, queued[0].ID)
	got := titles()
	if slices.ContainsFunc(got, func(s string) bool { return s == "note" || s == "note.txt" }) || len(got) != len(nodetest.Names())+1 {
		t.Errorf("%q", got)
	}

	accepts(t, again, false, "late.txt", "The tea is cold.")
	if _, _, err := tokens.Create("app", nodetest.Space, token.RoleAsk); err != nil {
		t.Fatal(err)
	}
	if _, err := f.deleteSpace(ctx, gone); err != nil {
		t.Fatal(err)
	}
	if left, err := tokens.List(); len(again.List(nodetest.Space, 10)) != 0 || len(left) != 0 || err != nil {
		t.Errorf("%+v, %v", left, err)
	}
	_, err = f.deleteSpace(ctx, gone)
	wantFault(t, "again", err, fault.NotFound)
}

// A space whose deletion failed halfway loses its uploads, and a new space of the same name
// shows nothing of it.
func TestSpaceAfterFailedDeletion(t *testing.T) {
	s, ctx := scriptedService(t, t.TempDir()), t.Context()
	f := resting(t, s)
	f.askAll(t)
	accepts(t, f.Inbox, false, "late.txt", "The tea is cold.")
	s.Library.History = fullHistory{s.History}
	_, err := f.deleteSpace(ctx, api.DeleteRequest{InSpace: api.InSpace{Space: nodetest.Space}})
	wantFault(t, "a history that fails", err, fault.Unavailable)
	if left := f.Inbox.List(nodetest.Space, 10); len(left) != 0 {
		t.Errorf("%+v", left)
	}
	s.Library.History = s.History
	given[api.Space](t)(f.createSpace(ctx, api.NewSpace{Name: nodetest.Space, Kind: "emails"}))
	if got := given[api.Records](t)(f.history(ctx, api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 10})); len(got.Questions) != 0 {
		t.Errorf("%+v", got)
	}
	if got := exported(t, f); got != "" {
		t.Error(got)
	}
}

// resting is a backend whose inbox is not running.
func resting(t *testing.T, s *node.Node) *Backend {
	t.Helper()
	f := &Backend{Node: s, Events: &api.EventBus{}, Logger: slog.New(slog.DiscardHandler)}
	f.recorder = &telemetry.Recorder{Metrics: telemetry.New(), Events: f.Events, Now: s.Now, Log: f.Logger, IDs: s.Knowledge.PublicIDs}
	var err error
	if f.Inbox, err = node.OpenInbox(s, node.InboxLimits{Disk: node.InboxDisk, Documents: 1000, Expanded: 1 << 30}, f.Logger, f.recorder.Inbox()); err != nil {
		t.Fatal(err)
	}
	if f.Tokens, err = token.Open(s.Home.Path()); err != nil {
		t.Fatal(err)
	}
	return f
}

// fullHistory fails to delete a space.
type fullHistory struct{ *answer.History }

func (fullHistory) DropSpace(string) (int, error) {
	return 0, fault.New(fault.Unavailable, "history", "the disk is full")
}
