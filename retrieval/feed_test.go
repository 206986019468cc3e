package retrieval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryFeed behaves like the knowledge bank: every change raises a space's seq, one
// change may add several chunks, and deletions leave tombstones.
type memoryFeed struct {
	mu     sync.Mutex
	spaces map[string]*memorySpace
	calls  int // of Changes
}

type memorySpace struct {
	seq  uint64
	live map[percached.ChunkID]percached.Chunk
	gone map[percached.ChunkID]uint64
	// trimmed is the seq from which tombstones are known.
	trimmed uint64
}

func newFeed(spaces ...string) *memoryFeed {
	f := &memoryFeed{spaces: map[string]*memorySpace{}}
	for _, s := range spaces {
		f.spaces[s] = &memorySpace{live: map[percached.ChunkID]percached.Chunk{}, gone: map[percached.ChunkID]uint64{}}
	}
	return f
}

func chunk(head, body string) percached.Chunk {
	c := percached.Chunk{Head: head, Body: body}
	c.ID = percached.NewChunkID(c.Rendered())
	return c
}

// add adds chunks in one change.
func (f *memoryFeed) add(space string, chunks ...percached.Chunk) []percached.ChunkID {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spaces[space]
	s.seq++
	var ids []percached.ChunkID
	for _, c := range chunks {
		c.Version = s.seq
		s.live[c.ID] = c
		delete(s.gone, c.ID)
		ids = append(ids, c.ID)
	}
	return ids
}

func (f *memoryFeed) remove(space string, ids ...percached.ChunkID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spaces[space]
	s.seq++
	for _, id := range ids {
		delete(s.live, id)
		s.gone[id] = s.seq
	}
}

// backup copies the whole feed.
func (f *memoryFeed) backup() map[string]*memorySpace {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]*memorySpace{}
	for name, s := range f.spaces {
		out[name] = &memorySpace{seq: s.seq, live: maps.Clone(s.live), gone: maps.Clone(s.gone)}
	}
	return out
}

func (f *memoryFeed) Seq(space string) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spaces[space]
	if s == nil {
		return 0, fault.New(fault.NotFound, "feed", "no such space")
	}
	return s.seq, nil
}

func (f *memoryFeed) Changes(space string, after uint64, fn func(percached.Chunk) error) ([]percached.ChunkID, uint64, error) {
	f.mu.Lock()
	f.calls++
	s := f.spaces[space]
	if s == nil {
		f.mu.Unlock()
		return nil, 0, fault.New(fault.NotFound, "feed", "no such space")
	}
	if after > s.seq || after > 0 && after < s.trimmed {
		f.mu.Unlock()
		return nil, 0, fault.New(fault.Conflict, "feed", "not known any more")
	}
	var chunks []percached.Chunk
	for _, c := range s.live {
		if c.Version > after {
			chunks = append(chunks, c)
		}
	}
	var gone []percached.ChunkID
	for id, at := range s.gone {
		if at > after {
			gone = append(gone, id)
		}
	}
	upto := s.seq
	f.mu.Unlock()
	slices.SortFunc(chunks, func(a, b percached.Chunk) int {
		if a.Version != b.Version {
			return int(a.Version) - int(b.Version)
		}
		return strings.Compare(a.ID.String(), b.ID.String())
	})
	for _, c := range chunks {
		if err := fn(c); err != nil {
			return nil, 0, fault.Wrap("feed", err)
		}
	}
	return gone, upto, nil
}

// wordsEmbedder makes a vector from a text's letters: texts with common words are near
// each other. It counts the vectors that it made.
type wordsEmbedder struct {
	mu     sync.Mutex
	name   string
	dim    int
	made   int
	before func(n int) error // called with the number of texts embedded so far
}

func (e *wordsEmbedder) Info() percached.EmbedderInfo {
	return percached.EmbedderInfo{Name: e.name, Dimensions: e.dim, Fingerprint: e.name}
}

func (e *wordsEmbedder) Embed(_ context.Context, _ percached.Priority, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.before != nil {
		if err := e.before(e.made); err != nil {
			return nil, err
		}
	}
	var out [][]float32
	for _, t := range texts {
		out = append(out, e.vector(t))
		e.made++
	}
	return out, nil
}

func (e *wordsEmbedder) vector(t string) []float32 {
	v := make([]float32, e.dim)
	for _, w := range strings.Fields(strings.ToLower(t)) {
		h := uint32(2166136261)
		for _, b := range []byte(e.name + strings.Trim(w, ".,?!()#")) {
			h = (h ^ uint32(b)) * 16777619
		}
		v[h%uint32(e.dim)]++
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// bench holds all that a test needs. reopen makes a new Index over the same data.
type bench struct {
	*Index
	t    testing.TB
	o    Options
	feed *memoryFeed
	emb  *wordsEmbedder
}

func openDB(t testing.TB) *kv.DB {
	t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 8<<20, 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func newBench(t testing.TB, change func(o *Options)) *bench {
	t.Helper()
	o := Default()
	o.Dir, o.DB, o.MinFree = t.TempDir(), openDB(t), 0
	b := &bench{t: t, o: o, feed: newFeed("s", "other"), emb: &wordsEmbedder{name: "one", dim: 64}}
	b.o.Feed, b.o.Embedder = b.feed, b.emb
	if change != nil {
		change(&b.o)
	}
	b.open()
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	x, err := Open(b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Index = x
}

func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *bench) update() {
	b.t.Helper()
	if err := b.Update(b.t.Context(), "s"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) stats() Stats {
	b.t.Helper()
	s, err := b.Stats("s")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// knows fails unless words and vectors have both caught up with exactly this seq.
func (b *bench) knows(seq uint64) {
	b.t.Helper()
	if st, err := b.Standing("s"); err != nil || st.Seq != seq {
		b.t.Errorf("a search knows %d, %v; want %d", st.Seq, err, seq)
	}
}

// ask searches by words and, with an embedder, by vector.
func (b *bench) ask(q string, k int) []Hit {
	b.t.Helper()
	query := Query{Space: "s", Text: q, K: k}
	if b.o.Embedder != nil {
		query.Vector = b.emb.vector(q)
	}
	hits, err := b.Search(b.t.Context(), query)
	if err != nil {
		b.t.Fatal(err)
	}
	return hits
}

// numbered returns chunks that each have a word of their own.
func numbered(from, n int) []percached.Chunk {
	var out []percached.Chunk
	for i := from; i < from+n; i++ {
		out = append(out, chunk(fmt.Sprintf("### Note %d (note)", i), fmt.Sprintf("The item%d lies on shelf %d beside the others.", i, i%7)))
	}
	return out
}

var errBroken = errors.New("broken")

func countKeys(t testing.TB, db *kv.DB, prefix []byte) int {
	t.Helper()
	n := 0
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Keys(prefix, func([]byte, int64) error { n++; return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
