package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/memory/fact"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// moving opens a node without a language model.
func moving(t *testing.T, dir string) *node.Node {
	t.Helper()
	c := node.Default()
	c.Create, c.Data = true, dir
	c.Embedder = llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	n, err := node.Open(t.Context(), c, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func inboxOf(t *testing.T, n *node.Node) *inbox.Inbox {
	t.Helper()
	in, err := node.OpenInbox(n, node.InboxLimits{Disk: node.InboxDisk, Documents: 1000, Expanded: 1 << 30}, slog.New(slog.DiscardHandler), inbox.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

const moves = nodetest.Space

// livedIn gives the space something in every layer.
func livedIn(t *testing.T, n *node.Node) {
	t.Helper()
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(nil, n.Knowledge.CreateSpace(percached.Space{Name: moves, Kind: "emails"}))
	must(nil, n.Knowledge.CreateSpace(percached.Space{Name: "stays", Kind: "notes"}))
	must(n.Library.Add(ctx, moves, nodetest.Letters, nil))
	must(n.Library.Add(ctx, "stays", nodetest.Letters, nil))
	docs, err := n.Knowledge.Documents(moves, percached.DocumentID{}, 2)
	must(nil, err)
	must(n.Library.DeleteForGood(ctx, moves, docs[0].ID))
	must(n.Bank.Put(ctx, qabank.Entry{
		Space: moves, Question: "Who leads Otter?", Answer: "Bo", Answered: true, Origin: "asked", Made: time.Now(),
		Evidence: []percached.Evidence{{Chunk: docs[1].Chunks[0], Version: 1}},
	}))
	for _, q := range []string{"Who leads Lark now?", "Who leads Lark?"} {
		must(n.Bank.Put(ctx, qabank.Entry{
			Space: moves, Question: q, Answer: "Cleo", Answered: true, Origin: "asked", Made: time.Now(),
			Evidence: []percached.Evidence{{Chunk: docs[1].Chunks[0], Version: 1}},
		}))
	}
	must(nil, n.Bank.Veto(ctx, moves, "Who leads Lark?", qabank.NewID(moves, "Who leads Lark now?")))
	must(nil, n.History.Add(moves, answer.Record{Asked: time.Now(), Question: "Who leads Otter?"}, true))
	must(nil, n.History.Advance(moves, "cursor", 1))
	talk, err := n.Conversations.Create(moves, conversation.Conversation{Title: "Trip"})
	must(nil, err)
	must(n.Conversations.Append(moves, talk.ID, conversation.Turn{Role: conversation.User, Text: "Hello", At: time.Now()}))
	_, _, err = n.Memory.Add(ctx, moves, fact.Record{What: "home", Value: "Bergen", Said: time.Now()})
	must(nil, err)
	must(nil, n.PromptFiles(moves).Write(node.Prompts{Instructions: new("Be brief.")}))
}

// recordsOf lists the keys of a space in the database.
func recordsOf(t *testing.T, n *node.Node) (keys []string) {
	t.Helper()
	id := kv.NewSpaceID(moves)
	if err := n.Meta.View(func(tx *kv.Tx) error {
		return tx.Keys(nil, func(k []byte, _ int64) error {
			if bytes.Contains(k, id[:]) {
				keys = append(keys, string(k))
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

func exported(t *testing.T, n *node.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := n.ExportSpace(t.Context(), inboxOf(t, n), moves, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func imports(ctx context.Context, n *node.Node, in *inbox.Inbox, archive []byte) error {
	return importsAlone(ctx, n, in, archive, func(do func() error) error { return do() })
}

func importsAlone(ctx context.Context, n *node.Node, in *inbox.Inbox, archive []byte, alone func(func() error) error) error {
	_, err := n.ImportSpace(ctx, in, moves, bytes.NewReader(archive), alone)
	return err
}

// An export has every record of the space, but for those of work in progress, and nothing of
// another space. The import has the same ones.
func TestExportIsWhole(t *testing.T) {
	from, to := moving(t, t.TempDir()), moving(t, t.TempDir())
	livedIn(t, from)
	archive := exported(t, from)
	var got []string
	if _, err := backup.Read(bytes.NewReader(archive), backup.Target{Record: func(k, _ []byte) error {
		got = append(got, string(k))
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	key := func(kind string) string { id := kv.NewSpaceID(moves); return kind + string(id[:]) }
	want := slices.DeleteFunc(recordsOf(t, from), func(k string) bool {
		return strings.HasPrefix(k, "S") || strings.HasPrefix(k, key("Fp"))
	})
	want = append(want, key("Fk"))
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (+exported):\n%q", d)
	}
	for _, kind := range []string{"Fd", "Hc", "Hn", "Hq", "KC", "KD", "KI", "KS", "KT", "KV", "M", "Qc", "Qe", "Qs", "Qv", "Vc", "Vs", "Vt", "Vv"} {
		if !slices.ContainsFunc(got, func(k string) bool { return strings.HasPrefix(k, key(kind)) }) {
			t.Errorf("the test has no record of the kind %s", kind)
		}
	}
	if err := imports(t.Context(), to, inboxOf(t, to), archive); err != nil {
		t.Fatal(err)
	}
	there := slices.DeleteFunc(recordsOf(t, to), func(k string) bool { return strings.HasPrefix(k, "S") })
	slices.Sort(there)
	if d := cmp.Diff(want, there); d != "" {
		t.Errorf("records (+imported):\n%q", d)
	}
	if p, err := to.PromptFiles(moves).Read(); err != nil || p == nil || *p.Instructions != "Be brief." {
		t.Errorf("%v %v", p, err)
	}
	if found, ok, err := to.Bank.Exact(moves, "Who leads Otter?"); !ok || err != nil || found.Answer != "Bo" {
		t.Errorf("%+v %v", found, err)
	}
}

// A deletion that failed is completed before an export, which has no note of it.
func TestExportCompletesDeletions(t *testing.T) {
	n := moving(t, t.TempDir())
	livedIn(t, n)
	docs, err := n.Knowledge.Documents(moves, percached.DocumentID{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	id := kv.NewSpaceID(moves)
	note, err := json.Marshal(map[string]any{"space": moves, "document": docs[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Meta.Update(func(tx *kv.Tx) error {
		return tx.Set(slices.Concat([]byte("Fp"), id[:], docs[0].ID[:]), append([]byte{1}, note...))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Read(bytes.NewReader(exported(t, n)), backup.Target{Record: func(k, _ []byte) error {
		if bytes.HasPrefix(k, []byte("KD")) && bytes.HasSuffix(k, docs[0].ID[:]) {
			t.Error("the export has the document")
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Knowledge.Document(moves, docs[0].ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the document exists: %v", err)
	}
}

// notThere checks that nothing of the space is in the node.
func notThere(t *testing.T, n *node.Node) {
	t.Helper()
	if _, err := n.Knowledge.Space(moves); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the space exists: %v", err)
	}
	for _, k := range recordsOf(t, n) {
		t.Errorf("a record is left: %q", k)
	}
	if p, err := n.PromptFiles(moves).Read(); p != nil || err != nil {
		t.Errorf("prompts are left: %v %v", p, err)
	}
	if st := n.Bank.Stats(moves); st.Entries > 0 || n.Conversations.Count(moves) > 0 {
		t.Errorf("%d answers and %d conversations are left", st.Entries, n.Conversations.Count(moves))
	}
}

// After an error or a crash in the middle of an import, nothing of the space exists, and it can
// be imported again.
func TestImportIsAtomic(t *testing.T) {
	from := moving(t, t.TempDir())
	livedIn(t, from)
	archive := exported(t, from)
	dir := t.TempDir()
	to := moving(t, dir)
	in := inboxOf(t, to)
	loads := to.Library.Loads
	failed := errors.New("failed")
	crashed := filepath.Join(t.TempDir(), "crashed")
	to.Library.Loads = append(slices.Clone(loads), func(string) error { // all records but one are written
		return errors.Join(failed, os.CopyFS(crashed, os.DirFS(dir)))
	})
	if err := imports(t.Context(), to, in, archive); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	to.Library.Loads = loads
	notThere(t, to)
	if err := imports(t.Context(), to, in, archive); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(crashed, "lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	after := moving(t, crashed)
	notThere(t, after)
	if err := imports(t.Context(), after, inboxOf(t, after), archive); err != nil {
		t.Error(err)
	}
	if due, err := moving(t, t.TempDir()).Library.NeedsCleanUp(); due || err != nil {
		t.Errorf("a new folder needs a clean up: %v", err)
	}
}

// Two imports of a space at once: one of them is refused. Nobody creates the space meanwhile.
func TestImportAlone(t *testing.T) {
	from, to := moving(t, t.TempDir()), moving(t, t.TempDir())
	livedIn(t, from)
	archive := exported(t, from)
	livedIn(t, to)
	if _, err := to.Library.DeleteSpace(t.Context(), moves); err != nil {
		t.Fatal(err)
	}
	in := inboxOf(t, to)
	if err := importsAlone(t.Context(), to, in, archive, func(do func() error) error {
		if err := do(); err != nil {
			return err
		}
		if err := to.Library.CleanUp(t.Context(), nil); err != nil {
			t.Errorf("a clean up after the deletion of an earlier space: %v", err)
		}
		if due, err := to.Library.NeedsCleanUp(); due || err != nil {
			t.Errorf("the earlier space is not cleaned up: %v", err)
		}
		if err := imports(t.Context(), to, in, archive); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second import: %v", err)
		}
		if err := to.Library.FinishDeletion(t.Context(), moves); fault.KindOf(err) != fault.Conflict {
			t.Errorf("creating the space: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := recordsOf(t, to)
	if err := to.Library.CleanUp(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, recordsOf(t, to)); d != "" {
		t.Errorf("a clean up changed the imported space:\n%q", d)
	}
	if err := imports(t.Context(), to, in, archive); fault.KindOf(err) != fault.Conflict {
		t.Errorf("an import over a space: %v", err)
	}
}

// An import takes the place of an empty space, but not if uploads of it wait, if it remembers
// deleted documents, or if the archive is not one of this space.
func TestImportIntoEmpty(t *testing.T) {
	from, to := moving(t, t.TempDir()), moving(t, t.TempDir())
	livedIn(t, from)
	archive, in := exported(t, from), inboxOf(t, to)
	empty := percached.Space{Name: moves, Kind: "notes", Settings: percached.Settings{K: new(3)}}
	if err := to.Knowledge.CreateSpace(empty); err != nil {
		t.Fatal(err)
	}
	refused := func(why string, kind fault.Kind, archive []byte) {
		t.Helper()
		if err := imports(t.Context(), to, in, archive); fault.KindOf(err) != kind {
			t.Errorf("%s: %v", why, err)
		}
		if sp, err := to.Knowledge.Space(moves); err != nil || cmp.Diff(empty, sp) != "" {
			t.Errorf("%s: the empty space is now %+v: %v", why, sp, err)
		}
	}
	refused("not an archive", fault.Invalid, []byte("text"))
	sent, err := in.Accept(t.Context(), moves, "", func(take inbox.Take) error {
		return take("boat.txt", strings.NewReader("The boat is red."))
	})
	if err != nil {
		t.Fatal(err)
	}
	refused("an upload waits", fault.Conflict, archive)
	if err := in.Cancel(moves, sent.ID); err != nil {
		t.Fatal(err)
	}
	if err := imports(t.Context(), to, in, archive); err != nil {
		t.Error(err)
	}
}

// An import does not replace marks of deleted documents.
func TestImportOverMarks(t *testing.T) {
	from, to := moving(t, t.TempDir()), moving(t, t.TempDir())
	livedIn(t, from)
	archive := exported(t, from)
	if err := to.Knowledge.CreateSpace(percached.Space{Name: moves, Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Library.Add(t.Context(), moves, nodetest.Letters, nil); err != nil {
		t.Fatal(err)
	}
	docs, err := to.Knowledge.Documents(moves, percached.DocumentID{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if _, err := to.Library.DeleteForGood(t.Context(), moves, d.ID); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := to.Knowledge.Stats(moves); err != nil || st.Documents > 0 {
		t.Fatalf("%d documents are left: %v", st.Documents, err)
	}
	if err := imports(t.Context(), to, inboxOf(t, to), archive); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	if n, err := to.Library.Remembered(moves); n != len(docs) || err != nil {
		t.Errorf("%d marks are left of %d: %v", n, len(docs), err)
	}
}
