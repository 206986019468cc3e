package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// world is an inbox with a real library and database.
type world struct {
	ingest.Layers
	*ingest.Library
	*inbox.Inbox
	closers []func() error
}

// These replace layers that the tests do not use: there are no questions, no
// predictions and no idle work.
type (
	asking     struct{}
	predicting struct{}
	working    struct{}
)

func (asking) Cited(string) ([]percached.ChunkID, error)                { return nil, nil }
func (asking) Forget(string, []percached.ChunkID) (int, error)          { return 0, nil }
func (asking) DropSpace(string) (int, error)                            { return 0, nil }
func (asking) Settle()                                                  {}
func (predicting) Cited(string) ([]percached.ChunkID, error)            { return nil, nil }
func (predicting) Forget(string, []percached.ChunkID) (int, int, error) { return 0, 0, nil }
func (predicting) DropSpace(string) (int, int, error)                   { return 0, 0, nil }
func (working) Changed(string)                                          {}
func (working) Forget(string) error                                     { return nil }
func (working) DropSpace(string) error                                  { return nil }

// openWorld opens a folder, also after a crash. Change, if not nil, changes the
// options of the inbox.
func openWorld(dir string, change func(*inbox.Options)) (w *world, err error) {
	w = &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	key, err := keyIn(dir)
	if err != nil {
		return w, err
	}
	for name, db := range map[string]**kv.DB{"meta": &w.Meta, "tensors": &w.Tensors} {
		if key != nil {
			o.Key = key.Derive(name)
		}
		if *db, err = kv.Open(filepath.Join(dir, name), o); err != nil {
			return w, err
		}
		w.closers = append(w.closers, (*db).Close)
	}
	k := knowledgebank.Default()
	if w.Knowledge, err = knowledgebank.Open(w.Meta, k); err != nil {
		return w, err
	}
	embedder := llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	w.closers = append(w.closers, embedder.Close)
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed, r.MinFree = filepath.Join(dir, "index"), w.Meta, embedder, w.Knowledge, 0
	if key != nil {
		r.Key = key.Derive("index")
	}
	if w.Index, err = retrieval.Open(r); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.Index.Close)
	b := qabank.Default()
	b.Now = time.Now
	if w.Bank, err = qabank.Open(w.Meta, b); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.Bank.Close)
	t := qkvtree.Default()
	t.Key, t.Now = []byte("0123456789abcdef"), time.Now
	if w.Tree, err = qkvtree.Open(w.Tensors, t); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.Tree.Close)
	w.History, w.Conversations, w.Asker, w.Predictor, w.Jobs, w.Logger = asking{}, asking{}, asking{}, predicting{}, working{}, slog.New(slog.DiscardHandler)
	w.Library = ingest.New(w.Layers)
	if err := w.Recover(context.Background(), true); err != nil {
		return w, err
	}
	if err := w.Knowledge.CreateSpace(percached.Space{Name: "mail", Kind: "notes"}); err != nil {
		return w, err
	}
	rd, err := reader.New(reader.Default())
	if err != nil {
		return w, err
	}
	io := inbox.Default()
	io.Library, io.Spaces, io.Reader, io.Key = w.Library, w.Knowledge, rd, key
	if change != nil {
		change(&io)
	}
	w.Inbox, err = inbox.Open(filepath.Join(dir, "inbox"), w.Meta, io)
	return w, err
}

// encryptedEnd ends the name of a folder that is encrypted.
const encryptedEnd = "encrypted"

// keyIn returns the key of a folder, or nil if it is plain.
func keyIn(dir string) (*encryption.Key, error) {
	if !strings.HasSuffix(dir, encryptedEnd) {
		return nil, nil
	}
	file, secret := filepath.Join(dir, "encryption.json"), []byte("the passphrase")
	text, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return encryption.Open(text, secret)
	}
	key, text, err := encryption.New(secret, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1})
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o700), durable.Write(file, text))
	}
	return key, err
}

// create makes a space.
func (w *world) create(t *testing.T, space string) {
	t.Helper()
	if err := w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) close() error {
	var errs []error
	if w.Inbox != nil {
		errs = append(errs, w.Inbox.Close())
	}
	for i := len(w.closers) - 1; i >= 0; i-- {
		errs = append(errs, w.closers[i]())
	}
	return errors.Join(errs...)
}

// documents are the texts of a space's documents, by key.
func (w *world) documents(t *testing.T, space string) map[string]string {
	t.Helper()
	docs, err := w.Knowledge.Documents(space, percached.DocumentID{}, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range docs {
		chunks, err := w.Knowledge.Chunks(space, d.Chunks)
		if err != nil {
			t.Fatal(err)
		}
		var bodies []string
		for _, c := range chunks {
			bodies = append(bodies, c.Body)
		}
		texts[d.Key] = strings.Join(bodies, " ")
	}
	return texts
}

func mustOpenWorld(t *testing.T, dir string, change func(*inbox.Options)) *world {
	t.Helper()
	w, err := openWorld(dir, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// More records than fit into a transaction are deleted when they are too old.
func TestOpenPrunesMany(t *testing.T) {
	dir := t.TempDir()
	w, err := openWorld(dir, nil)
	if err == nil {
		err = errors.Join(inbox.PutEnded(w.Meta, 2000), w.close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := mustOpenWorld(t, dir, nil).List("mail", 10); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
}

// One upload with mail, JSON lines and a file that cannot be read.
func TestRealLibrary(t *testing.T) {
	w := mustOpenWorld(t, t.TempDir(), nil)
	box, err := os.ReadFile("../../models/demo/inbox.mbox")
	if err != nil {
		t.Fatal(err)
	}
	u := accept(t, w.Inbox, "mail", "", sent{"inbox.mbox", string(box)}, sent{"documents.jsonl", `{"id": "1", "title": "Locks", "text": "The shed has the code 1212."}` + "\n"},
		sent{"broken.pdf", "%PDF-1.4\nThis is none."})
	run(t, w.Inbox)
	got := wait(t, w.Inbox, u.ID)
	stats, err := w.Knowledge.Stats("mail")
	if err != nil || got.State != inbox.Done || got.Report.Failed != 1 || got.Report.Added < 50 || stats.Documents != got.Report.Added || got.Report.Failures[0].Name != "broken.pdf" {
		t.Errorf("%+v, %+v, %v", got, stats, err)
	}
	if text := w.documents(t, "mail")["json:documents.jsonl#1"]; text != "The shed has the code 1212." {
		t.Errorf("%q", text)
	}
}

// Documents are named after the whole names of their files: two files in two folders
// are two documents with the same title. Each keeps the name that it was sent under.
func TestNamesWithFolders(t *testing.T) {
	w := mustOpenWorld(t, t.TempDir(), nil)
	run(t, w.Inbox)
	for _, edition := range []string{"first", "second"} {
		u := accept(t, w.Inbox, "mail", "", sent{"a/notes.md", "The pond is deep, in the " + edition + "."}, sent{"/b/notes.md", "The pond is wide."})
		wait(t, w.Inbox, u.ID)
	}
	want := map[string]string{"file:a/notes.md": "The pond is deep, in the second.", "file:/b/notes.md": "The pond is wide."}
	if d := cmp.Diff(want, w.documents(t, "mail")); d != "" {
		t.Error(d)
	}
	docs, err := w.Knowledge.Documents("mail", percached.DocumentID{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if d.Title != "notes" || "file:"+d.Path != d.Key {
			t.Errorf("%+v", d)
		}
	}
}

// interrupted is the real library, which reports its progress to a func.
type interrupted struct {
	*ingest.Library
	progress func(ingest.Report)
}

func (i interrupted) Add(ctx context.Context, space string, read ingest.Source, progress func(ingest.Report)) (ingest.Report, error) {
	return i.Library.Add(ctx, space, read, func(r ingest.Report) {
		progress(r)
		i.progress(r)
	})
}

// A document that is deleted while the real library reads ahead does not return, also
// after a crash in the middle.
func TestRealForgetting(t *testing.T) {
	for _, crash := range []bool{false, true} {
		dir := t.TempDir()
		at, on := make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(context.Background())
		batches := 0
		w := mustOpenWorld(t, dir, func(o *inbox.Options) {
			o.Library = interrupted{o.Library.(*ingest.Library), func(ingest.Report) {
				switch batches++; batches {
				case 1:
					at <- struct{}{}
					<-on
				case 2: // read before the pause
					if crash {
						cancel()
					}
				}
			}}
		})
		var files []sent
		for i := range 400 {
			files = append(files, notes(i, i+1)...)
		}
		u := accept(t, w.Inbox, "mail", "", files...)
		end := make(chan error, 1)
		go func() { end <- w.Inbox.Run(ctx) }()
		<-at
		// The first is stored; the hundredth is read.
		held := make(chan error)
		for _, name := range []string{"n00.txt", "n100.txt"} {
			go func() {
				held <- w.Inbox.Withhold(context.Background(), "mail", percached.NewDocumentID("file:"+name))
			}()
		}
		close(on)
		for range 2 {
			if err := <-held; err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"n00.txt", "n100.txt"} {
			if _, err := w.Library.Delete(context.Background(), "mail", percached.NewDocumentID("file:"+name)); err != nil && kind(err) != fault.NotFound {
				t.Fatal(err)
			}
		}
		if crash {
			if err := errors.Join(<-end, w.close()); err != nil {
				t.Fatal(err)
			}
			w.closers, w.Inbox = nil, nil
			w = mustOpenWorld(t, dir, nil)
			ctx, cancel = context.WithCancel(context.Background())
			go func() { end <- w.Inbox.Run(ctx) }()
		}
		got := wait(t, w.Inbox, u.ID)
		want := documentsOf(files)
		delete(want, "file:n00.txt")
		delete(want, "file:n100.txt")
		docs := w.documents(t, "mail")
		for key, text := range want {
			if docs[key] != text {
				t.Errorf("%s is %q", key, docs[key])
			}
			delete(docs, key)
		}
		if len(docs) > 0 || got.State != inbox.Done {
			t.Error(docs, got.State)
		}
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
}
