package answer_test

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDocuments is a knowledge bank and its search in memory. It finds a chunk by the words
// that the chunk shares with the question.
type fakeDocuments struct {
	mu     sync.Mutex
	seq    uint64
	chunks map[percached.ChunkID]percached.Chunk
	set    percached.Settings
	asked  int    // searches
	upto   uint64 // later changes are not found yet; 0: all are
	words  bool   // the search uses words alone
	hurt   percached.ChunkID
	closed bool // the spaces do not exist any more
	fails  error
}

func (s *fakeDocuments) put(body string) percached.ChunkID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	c := percached.Chunk{Head: "### " + strings.Fields(body)[0], Body: body, Version: s.seq}
	c.ID = percached.NewChunkID(c.Rendered())
	c.Documents = []percached.DocumentID{percached.NewDocumentID(body)}
	s.chunks[c.ID] = c
	return c.ID
}

func (s *fakeDocuments) drop(id percached.ChunkID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	delete(s.chunks, id)
}

func (s *fakeDocuments) configure(set percached.Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set
}

func (s *fakeDocuments) closeSpace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *fakeDocuments) Space(name string) (percached.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != "s" && name != "t" || s.closed {
		return percached.Space{}, fault.New(fault.NotFound, "documents", "there is no space %s", name)
	}
	return percached.Space{Name: name, Kind: "notes", Settings: s.set}, nil
}

func (s *fakeDocuments) Seq(string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fault.New(fault.NotFound, "documents", "there is no space")
	}
	return s.seq, nil
}

func (s *fakeDocuments) Chunks(_ string, ids []percached.ChunkID) ([]percached.Chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []percached.Chunk
	var err error
	if s.closed {
		return nil, fault.New(fault.NotFound, "documents", "there is no space")
	}
	for _, id := range ids {
		if id == s.hurt {
			err = fault.New(fault.Internal, "documents", "a chunk is damaged")
		} else if c, ok := s.chunks[id]; ok {
			found = append(found, c)
		}
	}
	return found, err
}

func (s *fakeDocuments) Standing(string) (retrieval.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.words:
		return retrieval.Standing{EmbedderStale: true}, nil
	case s.upto > 0:
		return retrieval.Standing{Seq: s.upto}, nil
	}
	return retrieval.Standing{Seq: s.seq}, nil
}

func (s *fakeDocuments) Search(_ context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked++; s.fails != nil {
		return nil, s.fails
	}
	words := strings.Fields(strings.ToLower(strings.Trim(q.Text, "?")))
	var hits []retrieval.Hit
	for _, c := range s.chunks {
		n := 0
		for _, w := range strings.Fields(strings.ToLower(c.Body)) {
			if slices.Contains(words, strings.Trim(w, ".,")) {
				n++
			}
		}
		if n > 0 && !q.Without[c.ID] && (s.upto == 0 || c.Version <= s.upto) {
			hits = append(hits, retrieval.Hit{Chunk: c.ID, Version: c.Version, Score: float64(n)})
		}
	}
	slices.SortFunc(hits, func(a, b retrieval.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), slices.Compare(a.Chunk[:], b.Chunk[:]))
	})
	return hits[:min(len(hits), q.K)], nil
}

// world is an Asker with all its parts.
type world struct {
	*answer.Asker
	docs    *fakeDocuments
	bank    *qabank.Bank
	tree    *qkvtree.Tree
	history *answer.History
	talks   *conversation.Store
	now     time.Time
}

func open(t *testing.T, dir string, o kv.Options) *kv.DB {
	t.Helper()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// newWorld makes a world; change may change its parts first.
func newWorld(t *testing.T, set answer.Settings, o llmtest.Options, change func(*answer.Parts)) *world {
	t.Helper()
	w := &world{docs: &fakeDocuments{chunks: map[percached.ChunkID]percached.Chunk{}}, now: time.Date(2025, 3, 4, 12, 0, 0, 0, time.UTC)}
	meta, tensors := open(t, t.TempDir(), kv.Default()), open(t, t.TempDir(), kv.Default())
	var err error
	b := qabank.Default()
	b.Now = func() time.Time { return w.now }
	if w.bank, err = qabank.Open(meta, b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.bank.Close() })
	tr := qkvtree.Default()
	tr.Key, tr.Limit = []byte("0123456789abcdef"), 1<<20
	if w.tree, err = qkvtree.Open(tensors, tr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.tree.Close() })
	if w.history, err = answer.OpenHistory(meta, 10); err != nil {
		t.Fatal(err)
	}
	if w.talks, err = conversation.Open(meta, func() time.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	engine, embedder := llmtest.NewFake(o), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	t.Cleanup(func() { engine.Close(); embedder.Close() })
	p := answer.Parts{
		Knowledge: w.docs, Searcher: w.docs, Bank: w.bank, Tree: w.tree, Embedder: embedder, Engine: engine, History: w.history, Conversations: w.talks, Patience: time.Hour,
		Unchecked: true, // this engine's words stand in no document
		Now:       func() time.Time { return w.now }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&p)
	}
	if w.Asker, err = answer.New(p, set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Asker.Close)
	return w
}

func (w *world) ask(t *testing.T, text string) answer.Answer {
	t.Helper()
	return w.asks(t, answer.Question{Space: "s", Text: text})
}

func (w *world) asks(t *testing.T, q answer.Question) answer.Answer {
	t.Helper()
	a, err := w.Ask(context.Background(), q, answer.Listener{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
