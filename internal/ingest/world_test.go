package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is the history and the asker.
type asked struct {
	mu      sync.Mutex
	chunks  map[string][]percached.ChunkID // by question
	settles int
	settled func() // is told of each
	fails   error
}

func (a *asked) Cited(string) (all []percached.ChunkID, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cs := range a.chunks {
		all = append(all, cs...)
	}
	return all, a.fails
}

func (a *asked) Forget(_ string, gone []percached.ChunkID) (n int, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for q, cs := range a.chunks {
		if slices.ContainsFunc(cs, func(c percached.ChunkID) bool { return slices.Contains(gone, c) }) {
			delete(a.chunks, q)
			n++
		}
	}
	return n, nil
}

func (a *asked) DropSpace(string) (int, error) {
	if a.fails != nil {
		return 0, a.fails
	}
	n := len(a.chunks)
	a.chunks = map[string][]percached.ChunkID{}
	return n, nil
}

func (a *asked) Settle() {
	a.settles++
	if a.settled != nil {
		a.settled()
	}
}

// predicted counts what it is told to forget, as predictor and scheduler.
type predicted struct {
	gone    []percached.ChunkID
	changed int
	dropped int
}

func (p *predicted) Cited(string) ([]percached.ChunkID, error) { return nil, nil }

func (p *predicted) Changed(string) { p.changed++ }

type jobs struct{ *predicted }

func (p *predicted) Forget(_ string, chunks []percached.ChunkID) (parts, predictions int, err error) {
	for _, c := range chunks {
		if !slices.Contains(p.gone, c) {
			p.gone = append(p.gone, c)
			parts++
		}
	}
	return parts, 1, nil
}

func (p *predicted) DropSpace(string) (parts, predictions int, err error) {
	p.dropped++
	return 0, 0, nil
}

func (j jobs) Forget(string) error { return nil }

func (j jobs) DropSpace(string) error { j.dropped++; return nil }

// world is a library with all its layers, on a folder that outlives it.
type world struct {
	*testing.T
	dir string
	ingest.Layers
	*ingest.Library
	asked    *asked
	pred     *predicted
	engine   *llmtest.Fake
	embedder *llmtest.FakeEmbedder
	use      percachedEmbedder // in its place; nil: itself
	close    func()
}

const space = "s"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, dir: t.TempDir(), asked: &asked{chunks: map[string][]percached.ChunkID{}}, pred: &predicted{},
		engine: llmtest.NewFake(llmtest.DefaultOptions()), embedder: llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions()),
	}
	w.open()
	t.Cleanup(func() {
		w.close()
		w.engine.Close()
		w.embedder.Close()
	})
	w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// reembed acts like the next process with another embedder of the same name.
func (w *world) reembed(e percachedEmbedder) {
	w.Helper()
	w.close()
	w.use = e
	w.open()
	w.ok(w.Recover(context.Background(), false))
}

func (w *world) open() {
	w.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	var err error
	w.Meta, err = kv.Open(filepath.Join(w.dir, "meta"), o)
	w.ok(err)
	w.Tensors, err = kv.Open(filepath.Join(w.dir, "tensors"), o)
	w.ok(err)
	k := knowledgebank.Default()
	k.Now = time.Now
	w.Knowledge, err = knowledgebank.Open(w.Meta, k)
	w.ok(err)
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed, r.MinFree = filepath.Join(w.dir, "index"), w.Meta, w.embedder, w.Knowledge, 0
	if w.use != nil {
		r.Embedder = w.use
	}
	w.Index, err = retrieval.Open(r)
	w.ok(err)
	b := qabank.Default()
	b.Now = time.Now
	w.Bank, err = qabank.Open(w.Meta, b)
	w.ok(err)
	tr := qkvtree.Default()
	tr.Key, tr.Now = []byte("0123456789abcdef"), time.Now
	w.Tree, err = qkvtree.Open(w.Tensors, tr)
	w.ok(err)
	w.History, w.Conversations, w.Asker, w.Logger = w.asked, &asked{}, w.asked, slog.New(slog.DiscardHandler)
	w.Predictor, w.Jobs = w.pred, jobs{w.pred}
	w.Library = ingest.New(w.Layers)
	w.close = func() {
		if err := errors.Join(w.Tree.Close(), w.Bank.Close(), w.Index.Close(), w.Tensors.Close(), w.Meta.Close()); err != nil {
			w.Error(err)
		}
	}
}

// reopen acts like the next process.
func (w *world) reopen(unclean bool) {
	w.Helper()
	w.close()
	w.open()
	w.ok(w.Recover(context.Background(), unclean))
	w.ok(w.CleanUp(context.Background(), nil))
	w.ok(w.Recover(context.Background(), false))
	if due, err := w.NeedsCleanUp(); due || err != nil {
		w.Error("something is left to be done", due, err)
	}
}

func note(key, text string) *knowledgebank.Source {
	return &knowledgebank.Source{Key: key, Title: key, Source: "note", Format: "text", Blocks: []knowledgebank.Block{{Text: text}}}
}

func from(notes ...*knowledgebank.Source) ingest.Source {
	return func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		for _, n := range notes {
			if err := emit(n); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *world) add(notes ...*knowledgebank.Source) ingest.Report {
	w.Helper()
	r, err := w.Add(context.Background(), space, from(notes...), nil)
	w.ok(err)
	return r
}

// ask stores what a question about a document leaves behind.
func (w *world) ask(question, key string) []percached.ChunkID {
	w.Helper()
	ctx := context.Background()
	d, err := w.Knowledge.Document(space, percached.NewDocumentID(key))
	w.ok(err)
	chunks, err := w.Knowledge.Chunks(space, d.Chunks)
	w.ok(err)
	var texts []string
	e := qabank.Entry{Space: space, Question: question, Answer: "It says: " + chunks[0].Body, Answered: true}
	for _, c := range chunks {
		texts = append(texts, c.Rendered())
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: c.ID, Version: c.Version})
	}
	_, err = w.Bank.Put(ctx, e)
	w.ok(err)
	segments := w.engine.Info().Chat.Ask("Answer.", texts, question)
	tokens, err := w.engine.Tokenize(segments)
	w.ok(err)
	req := qkvtree.Request{Space: space, Model: w.engine.Info().Fingerprint}
	for i := range segments {
		segments[i].Tokens = tokens[i]
		if i == len(segments)-1 {
			break
		}
		segments[i].Capture = true
		n := qkvtree.Node{Tokens: tokens[i]}
		if i > 0 {
			n.Chunk = chunks[i-1].ID
		}
		req.Segments = append(req.Segments, n)
	}
	res, err := w.engine.Prefill(ctx, percached.Prompt{Segments: segments, MaxTokens: 1})
	w.ok(err)
	w.ok(w.Tree.Insert(req, res.Slices[:len(req.Segments)]))
	w.asked.mu.Lock()
	defer w.asked.mu.Unlock()
	w.asked.chunks[question] = d.Chunks
	return d.Chunks
}

// stored counts what is in the layers.
type stored struct{ Chunks, Indexed, Vectors, Slices, Entries, Stale, History int }

func (w *world) stored() stored {
	w.Helper()
	k, err := w.Knowledge.Stats(space)
	w.ok(err)
	x, err := w.Index.Stats(space)
	w.ok(err)
	b := w.Bank.Stats(space)
	s := stored{Chunks: k.Chunks, Indexed: x.Chunks, Vectors: x.Vectors, Entries: b.Entries, Stale: b.Stale, History: len(w.asked.chunks)}
	w.Tree.Nodes(space, func(n qkvtree.Info) {
		if n.Chunk != (percached.ChunkID{}) {
			s.Slices++
		}
	})
	return s
}

// traces lists the files that contain a word.
func (w *world) traces(word string) (found []string) {
	w.Helper()
	w.ok(filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(b), []byte(word)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func kind(err error) fault.Kind { return fault.KindOf(err) }
