package qabank

import (
	"slices"
	"sync"
	"time"
	"unique"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank/gate"
)

// item is what memory holds of an entry: everything except its texts.
type item struct {
	id       ID
	space    *spaceIndex
	embedder string
	origin   unique.Handle[string] // many entries share these
	settings unique.Handle[string]
	under    unique.Handle[string]
	block    *block // nil without a vector
	row      int
	cites    []percached.ChunkID // chunks of its evidence and sources; never changed
	answered bool
	changed  bool  // and has served nobody since
	size     int64 // of its records on disk
	state    state
	dirty    bool // state is newer than on disk
}

// newItem creates an item without state, size and vector.
func newItem(id ID, s *spaceIndex, e *Entry) *item {
	return &item{
		id: id, space: s, embedder: e.Embedder, origin: unique.Make(e.Origin), settings: unique.Make(e.Settings), under: unique.Make(e.Under), cites: e.citedChunks(), answered: e.Answered, changed: e.Changed,
	}
}

// spaceIndex is what memory holds of one space.
type spaceIndex struct {
	name   string
	hash   kv.SpaceID
	items  map[ID]*item
	blocks map[string]*block // by embedder
	vetoes map[ID][]ID       // both directions
	pairs  map[[2]ID][]percached.ChunkID

	checks      map[[2]ID]*check // by question and entry
	dropped     [][2]ID          // from checks, and still on disk
	counts      counts
	countsDirty bool
	gate        *gate.Gate // nil: not needed yet
	building    sync.Mutex // held while a gate is built; taken before Bank.mu
}

func newSpaceIndex(name string) *spaceIndex {
	return &spaceIndex{
		name: name, hash: kv.NewSpaceID(name),
		items: map[ID]*item{}, blocks: map[string]*block{}, vetoes: map[ID][]ID{}, pairs: map[[2]ID][]percached.ChunkID{},
		checks: map[[2]ID]*check{},
	}
}

// matchesDimension reports whether a vector is as long as its embedder's others.
func (s *spaceIndex) matchesDimension(embedder string, vector []float32) bool {
	b := s.blocks[embedder]
	return b == nil || len(vector) == b.dim
}

func (s *spaceIndex) addVector(it *item, vector []float32) {
	if len(vector) == 0 {
		return
	}
	b := s.blocks[it.embedder]
	if b == nil {
		b = &block{dim: len(vector)}
		s.blocks[it.embedder] = b
	}
	b.add(it, vector)
}

func (s *spaceIndex) removeVector(it *item) {
	b := it.block
	if b == nil {
		return
	}
	b.remove(it)
	if len(b.items) == 0 {
		delete(s.blocks, it.embedder)
	}
}

func (s *spaceIndex) addVeto(v veto) {
	s.pairs[[2]ID{v.a, v.b}] = v.chunks
	for _, p := range [][2]ID{{v.a, v.b}, {v.b, v.a}} {
		if !slices.Contains(s.vetoes[p[0]], p[1]) {
			s.vetoes[p[0]] = append(s.vetoes[p[0]], p[1])
		}
	}
}

func (s *spaceIndex) removeVeto(pair [2]ID) {
	delete(s.pairs, pair)
	for _, p := range [][2]ID{pair, {pair[1], pair[0]}} {
		// A new slice, because readers hold the old one.
		var rest []ID
		for _, id := range s.vetoes[p[0]] {
			if id != p[1] {
				rest = append(rest, id)
			}
		}
		if s.vetoes[p[0]] = rest; len(rest) == 0 {
			delete(s.vetoes, p[0])
		}
	}
}

// evictionHeap orders items for eviction: first those not served since recent, then the
// lowest rank, then the longest unused.
type evictionHeap struct {
	items  []*item
	recent time.Time
}

func (o *evictionHeap) Len() int           { return len(o.items) }
func (o *evictionHeap) Swap(i, j int)      { o.items[i], o.items[j] = o.items[j], o.items[i] }
func (o *evictionHeap) Less(i, j int) bool { return o.evictsBefore(o.items[i], o.items[j]) }

func (o *evictionHeap) evictsBefore(a, b *item) bool {
	if x, y := o.servedRecently(a), o.servedRecently(b); x != y {
		return y
	}
	if a.state.rank != b.state.rank {
		return a.state.rank < b.state.rank
	}
	if !a.state.used.Equal(b.state.used) {
		return a.state.used.Before(b.state.used)
	}
	return string(a.id[:]) < string(b.id[:])
}

func (o *evictionHeap) servedRecently(it *item) bool {
	return it.state.hits > 0 && it.state.used.After(o.recent)
}

// Push implements heap.Interface.
func (o *evictionHeap) Push(x any) { o.items = append(o.items, x.(*item)) }

// Pop implements heap.Interface.
func (o *evictionHeap) Pop() any {
	last := len(o.items) - 1
	it := o.items[last]
	o.items = o.items[:last]
	return it
}
