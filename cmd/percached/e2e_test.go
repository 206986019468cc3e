package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
)

const (
	mail    = "mail"
	mailbox = "../../models/demo/inbox.mbox"
	budgetQ = "What is the budget for Heron?"
)

// TestEndToEnd uses the whole interface like an app.
func TestEndToEnd(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	t.Run("daemon", func(t *testing.T) { w.of(t).daemonScene(ctx) })
	t.Run("spaces", func(t *testing.T) { w.of(t).spacesScene(ctx) })
	t.Run("documents", func(t *testing.T) { w.of(t).documentsScene(ctx) })
	t.Run("questions", func(t *testing.T) { w.of(t).questionsScene(ctx) })
	t.Run("complete", func(t *testing.T) { w.of(t).completeScene(ctx) })
	t.Run("stream", func(t *testing.T) { w.of(t).streamScene(ctx) })
	t.Run("openai", func(t *testing.T) { w.of(t).openaiScene(ctx) })
	t.Run("conversations", func(t *testing.T) { w.of(t).conversationScene(ctx) })
	t.Run("entries", func(t *testing.T) { w.of(t).entriesScene(ctx) })
	t.Run("idle", func(t *testing.T) { w.of(t).idleScene(ctx) })
	t.Run("facts", func(t *testing.T) { w.of(t).factsScene(ctx) })
	t.Run("cache", func(t *testing.T) { w.of(t).cacheScene(ctx) })
	t.Run("config", func(t *testing.T) { w.of(t).configScene(ctx) })
	t.Run("restart", func(t *testing.T) { w.of(t).restartScene(ctx) })
	t.Run("backup", func(t *testing.T) { w.of(t).backupScene(ctx) })
	t.Run("move", func(t *testing.T) { w.of(t).moveScene(ctx) })
	t.Run("forget", func(t *testing.T) { w.of(t).forgetScene(ctx) })
	// No job of the real worker fails, so none was retried well.
	if d := cmp.Diff([]string{"retryJob"}, w.missed()); d != "" && !t.Failed() {
		t.Errorf("operations that never answered well (+):\n%s", d)
	}
}

func (w *world) daemonScene(ctx context.Context) {
	health, err := w.all.HealthWithResponse(ctx)
	w.is(200, health, err)
	ready, err := w.all.ReadyWithResponse(ctx)
	w.is(200, ready, err)
	spec, err := w.all.OpenapiWithResponse(ctx)
	w.is(200, spec, err)
	if !bytes.HasPrefix(spec.Body, []byte("openapi: 3.1.1")) {
		w.Errorf("%.60s", spec.Body)
	}
	about, err := w.all.AboutWithResponse(ctx)
	w.is(200, about, err)
	if a := about.JSON200; a.Model.Parameters == 0 || a.Embedder.Dimensions == 0 {
		w.Errorf("%+v", a)
	}
	page, err := w.all.PageWithResponse(ctx)
	w.is(200, page, err)
	for _, name := range regexp.MustCompile(`page/[\w.-]+`).FindAll(page.Body, -1) {
		file, err := w.all.PageFileWithResponse(ctx, strings.TrimPrefix(string(name), "page/"))
		w.is(200, file, err)
	}
	status, err := w.all.GetStatusWithResponse(ctx)
	w.is(200, status, err)
	if s := status.JSON200; s.Stored.Spaces != 0 || s.Stored.TensorLimit == 0 || !s.Started.Equal(about.JSON200.Started) {
		w.Errorf("%+v", s)
	}
	none, err := w.with("pc_wrong").AboutWithResponse(ctx)
	w.is(401, none, err)
	if p := none.ApplicationProblemJSONDefault; p == nil || p.Fix == "" || !strings.HasPrefix(p.Instance, "urn:percached:request:") {
		w.Errorf("%+v", p)
	}
	info, err := os.Stat(w.data + "/token")
	if err != nil || info.Mode().Perm() != 0o600 {
		w.Errorf("the token's file: %v, %v", info, err)
	}
}

func (w *world) spacesScene(ctx context.Context) {
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: mail, Settings: &client.SettingsChange{K: new(2)}})
	w.is(201, made, err)
	again, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: mail})
	w.is(409, again, err)
	wrong, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: "../etc"})
	w.is(400, wrong, err)
	bad, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: "other", Settings: &client.SettingsChange{K: new(0)}})
	w.is(400, bad, err)
	listed, err := w.all.ListSpacesWithResponse(ctx)
	w.is(200, listed, err)
	if s := listed.JSON200.Spaces; len(s) != 1 || s[0].Name != mail || *s[0].Settings.K != 2 || *s[0].Effective.K != 2 {
		w.Errorf("%+v", s)
	}
	changed, err := w.all.ChangeSpaceWithResponse(ctx, mail, client.SettingsChange{Stride: new(3), TensorLimit: new(int64(1 << 30))})
	w.is(200, changed, err)
	back, err := w.all.ChangeSpaceWithBodyWithResponse(ctx, mail, "application/json", strings.NewReader(`{"k":null,"prompts":{"instructions":null}}`))
	w.is(200, back, err)
	if s := back.JSON200; s.Settings.K != nil || *s.Settings.Stride != 3 {
		w.Errorf("%+v", s.Settings)
	}
	got, err := w.all.GetSpaceWithResponse(ctx, mail)
	w.is(200, got, err)
	none, err := w.all.GetSpaceWithResponse(ctx, "nobody")
	w.is(404, none, err)
}

func (w *world) questionsScene(ctx context.Context) {
	cold := w.asks(ctx, client.Question{Question: budgetQ})
	if cold.Outcome == client.OutcomeAnswerHit || len(cold.Citations) == 0 {
		w.Errorf("%+v", cold)
	}
	hit := w.asks(ctx, client.Question{Question: budgetQ})
	if hit.Outcome != client.OutcomeAnswerHit || hit.Answer != cold.Answer || hit.Gate.Why == "" || hit.Entry == nil {
		w.Errorf("%+v", hit)
	}
	warm := w.asks(ctx, client.Question{Question: budgetQ, Bypass: new(true)})
	if warm.Outcome != client.OutcomeTensorHit || warm.Answer != cold.Answer || warm.Tokens.Reused == 0 {
		w.Errorf("%+v", warm)
	}
	old := w.asks(ctx, client.Question{Question: budgetQ, MaxAgeSeconds: new(1e-9)})
	if old.Outcome == client.OutcomeAnswerHit {
		w.Errorf("an answer that is too old was served: %+v", old.Gate)
	}
	if n := w.metric(`percached_answers_total{outcome="answer_hit"}`); n != "1" {
		w.Errorf("%s hits in the metrics", n)
	}
	status, err := w.all.GetStatusWithResponse(ctx)
	w.is(200, status, err)
	if q := status.JSON200.Questions; q.AnswerHits != 1 || q.AnswerHits+q.VerifiedHits+q.TensorHits+q.Misses != 4 || q.ReusedTokens == 0 || q.SavedSeconds <= 0 {
		w.Errorf("%+v", q)
	}
	gate, err := w.all.GetGateWithResponse(ctx, mail)
	w.is(200, gate, err)
	if g := gate.JSON200; g.MaxWrong != 0.01 || g.State == "" || g.Wrong > g.Checked || g.Checked > g.Served {
		w.Errorf("%+v", g)
	}
	listed, err := w.all.ListHistoryWithResponse(ctx, mail, nil)
	w.is(200, listed, err)
	if n := len(listed.JSON200.Questions); n != 4 {
		w.Errorf("%d questions in the history", n)
	}
}

// conversationScene continues a conversation, and deletes it.
func (w *world) conversationScene(ctx context.Context) {
	made, err := w.all.CreateConversationWithResponse(ctx, mail, client.NewConversation{Title: new("Heron")})
	w.is(201, made, err)
	id := made.JSON201.ID
	turns := client.NewTurns{Turns: []client.NewTurn{{Role: client.NewTurnRoleUser, Text: "I live in Bergen."}, {Role: client.NewTurnRoleAssistant, Text: "Noted."}}}
	added, err := w.all.AddTurnsWithResponse(ctx, mail, id, turns)
	w.is(200, added, err)
	w.asks(ctx, client.Question{Question: budgetQ, Conversation: &id})
	w.asks(ctx, client.Question{Question: "And who leads it?", Conversation: &id})
	got, err := w.all.GetConversationWithResponse(ctx, mail, id, nil)
	w.is(200, got, err)
	if c := got.JSON200; c.Count != 6 || len(c.Turns) != 6 || c.Turns[4].Text != "And who leads it?" {
		w.Errorf("%s", got.Body)
	}
	listed, err := w.all.ListConversationsWithResponse(ctx, mail, nil)
	w.is(200, listed, err)
	if all := listed.JSON200.Conversations; len(all) != 1 || all[0].ID != id || all[0].Turns != nil {
		w.Errorf("%s", listed.Body)
	}
	gone, err := w.all.DeleteConversationWithResponse(ctx, mail, id)
	w.is(200, gone, err)
	if gone.JSON200.Turns != 6 {
		w.Errorf("%s", gone.Body)
	}
	none, err := w.all.GetConversationWithResponse(ctx, mail, id, nil)
	w.is(404, none, err)
}

// asks asks a question and returns the answer.
func (w *world) asks(ctx context.Context, q client.Question) *client.Answer {
	w.Helper()
	got, err := w.all.AskWithResponse(ctx, mail, q)
	w.is(200, got, err)
	return got.JSON200
}

func (w *world) entriesScene(ctx context.Context) {
	listed, err := w.all.ListEntriesWithResponse(ctx, mail, nil)
	w.is(200, listed, err)
	if listed.JSON200.Bank == nil || listed.JSON200.Bank.Entries != len(listed.JSON200.Entries) {
		w.Errorf("%+v", listed.JSON200)
	}
	found, err := w.all.SearchEntriesWithResponse(ctx, mail, &client.SearchEntriesParams{Q: budgetQ})
	w.is(200, found, err)
	passages, err := w.all.SearchDocumentsWithResponse(ctx, mail, &client.SearchDocumentsParams{Q: budgetQ})
	w.is(200, passages, err)
	if len(passages.JSON200.Passages) == 0 {
		w.Errorf("no passage is about %q", budgetQ)
	}
	first := found.JSON200.Entries[0]
	if first.Question != budgetQ || first.Similarity == nil {
		w.Errorf("%+v", first)
	}
	out, err := w.all.ExportEntriesWithResponse(ctx, mail)
	w.is(200, out, err)
	gone, err := w.all.DeleteEntryWithResponse(ctx, mail, first.ID)
	w.is(204, gone, err)
	none, err := w.all.GetEntryWithResponse(ctx, mail, first.ID)
	w.is(404, none, err)
	in, err := w.all.ImportEntriesWithBodyWithResponse(ctx, mail, "application/x-ndjson", bytes.NewReader(out.Body))
	w.is(200, in, err)
	if in.JSON200.Imported != 1 || len(in.JSON200.Refused) > 0 {
		w.Errorf("%+v", in.JSON200)
	}
	back, err := w.all.GetEntryWithResponse(ctx, mail, first.ID)
	w.is(200, back, err)
	if a := w.asks(ctx, client.Question{Question: budgetQ}); a.Outcome != client.OutcomeAnswerHit {
		w.Errorf("what was imported is not served: %+v", a.Gate)
	}
	veto, err := w.all.VetoEntryWithResponse(ctx, mail, first.ID, client.Veto{Asked: "How much may Heron cost?"})
	w.is(204, veto, err)
}

func (w *world) cacheScene(ctx context.Context) {
	w.asks(ctx, client.Question{Question: "When does the picnic take place?", Refresh: new(true)})
	all, err := w.all.GetCacheWithResponse(ctx)
	w.is(200, all, err)
	if c := all.JSON200; c.Slices == 0 || c.Bytes > c.Limit {
		w.Errorf("%+v", c)
	}
	own, err := w.all.GetSpaceCacheWithResponse(ctx, mail)
	w.is(200, own, err)
	tree, err := w.all.GetTreeWithResponse(ctx, mail, nil)
	w.is(200, tree, err)
	if n := len(tree.JSON200.Slices); n != own.JSON200.Slices || tree.JSON200.Slices[0].Depth != 0 {
		w.Errorf("%d slices in the tree, %d counted", n, own.JSON200.Slices)
	}
	sound, err := w.all.VerifyCacheWithResponse(ctx)
	w.is(200, sound, err)
	if !sound.JSON200.Clean {
		w.Errorf("%+v", sound.JSON200)
	}
	limit := all.JSON200.Bytes / 2
	less, err := w.all.LimitCacheWithResponse(ctx, client.CacheLimit{Limit: limit})
	w.is(200, less, err)
	if c := less.JSON200; c.Bytes > limit || c.Evicted == 0 {
		w.Errorf("the limit is %d: %+v", limit, c)
	}
	cleared, err := w.all.ClearSpaceCacheWithResponse(ctx, mail)
	w.is(200, cleared, err)
	rest, err := w.all.ClearCacheWithResponse(ctx)
	w.is(200, rest, err)
	if after, err := w.all.GetCacheWithResponse(ctx); err != nil || after.JSON200.Slices != 0 {
		w.Errorf("%+v, %v", after.JSON200, err)
	}
}

func (w *world) configScene(ctx context.Context) {
	got, err := w.all.GetConfigWithResponse(ctx)
	w.is(200, got, err)
	changed, err := w.all.ChangeConfigWithResponse(ctx, client.ConfigChange{"tensor-limit": "64MiB"})
	w.is(200, changed, err)
	for _, s := range changed.JSON200.Settings {
		if s.Key == "tensor-limit" && s.Source != client.SettingSourceRuntime {
			w.Errorf("%+v", s)
		}
	}
	if c, err := w.all.GetCacheWithResponse(ctx); err != nil || c.JSON200.Limit != 64<<20 {
		w.Errorf("%+v, %v", c.JSON200, err)
	}
	fixed, err := w.all.ChangeConfigWithResponse(ctx, client.ConfigChange{"listen": "127.0.0.1:1"})
	w.is(409, fixed, err)
	none, err := w.all.ChangeConfigWithResponse(ctx, client.ConfigChange{"tensor-limit": "128MiB", "nonsense": "1"})
	w.is(400, none, err)
	if c, err := w.all.GetCacheWithResponse(ctx); err != nil || c.JSON200.Limit != 64<<20 {
		w.Errorf("a change that failed changed something: %+v, %v", c.JSON200, err)
	}
}

func (w *world) idleScene(ctx context.Context) {
	paused, err := w.all.PauseIdleWithResponse(ctx)
	w.is(200, paused, err)
	if paused.JSON200.State != client.IdleStatePaused {
		w.Errorf("%+v", paused.JSON200)
	}
	resumed, err := w.all.ResumeIdleWithResponse(ctx)
	w.is(200, resumed, err)
	state, err := w.all.PostDeviceWithResponse(ctx, client.DeviceState{Charging: new(true), Battery: new(0.8)})
	w.is(200, state, err)
	if d := state.JSON200.Device; d.Battery == nil || *d.Battery != 0.8 {
		w.Errorf("%+v", d)
	}
	predicted, err := w.all.PredictWithResponse(ctx, mail)
	w.is(200, predicted, err)
	some, err := w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: new(mail), Kind: []client.JobKind{client.JobKindAbstract, client.JobKindClean}})
	w.is(200, some, err)
	strange, err := w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Kind: []client.JobKind{"dreams"}})
	w.is(400, strange, err)
	absent, err := w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: new("nobody")})
	w.is(404, absent, err)
	forgotten, err := w.all.ForgetPlacementsWithResponse(ctx)
	w.is(204, forgotten, err)
	status, err := w.all.GetStatusWithResponse(ctx)
	w.is(200, status, err)
	for _, p := range status.JSON200.Placements {
		if p.From != client.StatusPlacementFromModel || p.Placement != "parallel" || p.Questions != 0 || p.Why == "" {
			w.Errorf("%+v", p)
		}
	}
	if len(status.JSON200.Placements) == 0 {
		w.Error("the status tells no placement")
	}
	drained, err := w.all.DrainIdleWithResponse(ctx, nil)
	w.is(200, drained, err)
	queue, err := w.all.ListQueueWithResponse(ctx)
	w.is(200, queue, err)
	idle, err := w.all.GetIdleWithResponse(ctx)
	w.is(200, idle, err)
	if len(queue.JSON200.Jobs) != 0 || predicted.JSON200.Done == 0 {
		w.Errorf("after draining: %+v; predicting did %+v", queue.JSON200.Jobs, predicted.JSON200)
	}
	ledger, err := w.all.GetLedgerWithResponse(ctx, &client.GetLedgerParams{Space: new(mail)})
	w.is(200, ledger, err)
	if len(ledger.JSON200.Accounts) == 0 {
		w.Error("idle work cost nothing")
	}
	list, err := w.all.ListPredictionsWithResponse(ctx, mail)
	w.is(200, list, err)
	if list.JSON200.Stats.Summaries == 0 {
		w.Errorf("%+v", list.JSON200.Stats)
	}
	none, err := w.all.RetryJobWithResponse(ctx, "nothing")
	w.is(404, none, err)
}

func (w *world) forgetScene(ctx context.Context) {
	page, err := w.all.ListDocumentsWithResponse(ctx, mail, nil)
	w.is(200, page, err)
	gone, err := w.all.DeleteDocumentWithResponse(ctx, mail, page.JSON200.Documents[0].ID, &client.DeleteDocumentParams{CleanUp: new(true)})
	w.is(200, gone, err)
	if r := gone.JSON200; r.Documents != 1 || !r.CleanedUp {
		w.Errorf("%+v", r)
	}
	deletions, err := w.all.GetDeletionsWithResponse(ctx, mail)
	w.is(200, deletions, err)
	if d := deletions.JSON200; d.Bytes != client.BytesStateGone || d.Pending != 0 {
		w.Errorf("%+v", d)
	}
	again, err := w.all.DeleteDocumentWithResponse(ctx, mail, page.JSON200.Documents[0].ID, nil)
	w.is(404, again, err)
	cleared, err := w.all.ClearHistoryWithResponse(ctx, mail, nil)
	w.is(200, cleared, err)
	all, err := w.all.DeleteSpaceWithResponse(ctx, mail, nil)
	w.is(200, all, err)
	none, err := w.all.AskWithResponse(ctx, mail, client.Question{Question: budgetQ})
	w.is(404, none, err)
}

// restartScene: confirmed writes survive a restart and a crash. A listener that was away receives
// what it missed, or learns that events are lost.
func (w *world) restartScene(ctx context.Context) {
	events := w.listen(ctx)
	a := w.asks(ctx, client.Question{Question: budgetQ, Refresh: new(true)})
	last := events.next("answer").ID
	events.close()
	w.asks(ctx, client.Question{Question: budgetQ})
	events = w.listenAfter(ctx, &last)
	if next := events.next("answer"); as[client.Event](w, next).Data["outcome"] != "answer_hit" {
		w.Errorf("%s", next.Data)
	}
	events.close()
	if err := w.Stop(); err != nil {
		w.Error(err)
	}
	w.start()
	events = w.listenAfter(ctx, &last)
	if first := events.message(); first.Event != "lost" || first.ID == "" {
		w.Errorf("%+v", first)
	}
	events.close()
	if b := w.asks(ctx, client.Question{Question: budgetQ}); b.Outcome != client.OutcomeAnswerHit || b.Answer != a.Answer {
		w.Errorf("%+v", b)
	}
	lines := strings.Repeat("The mill pond lies behind the church, and swans live there.\n\n", 400)
	up, err := w.all.UploadWithBodyWithResponse(ctx, mail, &client.UploadParams{Name: new("pond.txt")}, "text/plain", strings.NewReader(lines))
	w.is(202, up, err)
	w.Kill()
	w.start()
	// It may have been in already, and not have been said to be.
	if s := w.taken(ctx, up.JSON202.ID); s.State != client.UploadStateDone || s.Added+s.Unchanged != 1 {
		w.Errorf("%+v", s)
	}
}

// of is the same world in another test.
func (w *world) of(t *testing.T) *world {
	w.T = t
	return w
}
