package qabank

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// Exact finds the entry whose normalised question is that of this one.
func (b *Bank) Exact(space, question string) (Entry, bool, error) {
	e, err := b.Get(space, NewID(space, question))
	if fault.KindOf(err) == fault.NotFound {
		return Entry{}, false, nil
	}
	return e, err == nil, fault.Wrap("qabank.Exact", err)
}

// Get reads an entry; NotFound if there is none.
func (b *Bank) Get(space string, id ID) (Entry, error) {
	const op = "qabank.Get"
	b.mu.RLock()
	snap, ok := b.snapshot(space, id)
	b.mu.RUnlock()
	if !ok {
		return Entry{}, fault.New(fault.NotFound, op, "no entry %v", id)
	}
	var e Entry
	err := b.db.View(func(tx *kv.Tx) (err error) {
		e, err = snap.read(tx)
		return err
	})
	return e, fault.Wrap(op, err)
}

// snapshot is what memory knows of an entry at one moment. It is taken before
// the disk is read: so the content may be newer than the state, never older.
type snapshot struct {
	space      string
	id         ID
	state      state
	vetoed     []ID
	similarity float64
}

// snapshot needs mu.
func (b *Bank) snapshot(space string, id ID) (snapshot, bool) {
	s := b.spaces[space]
	if s == nil || s.items[id] == nil {
		return snapshot{}, false
	}
	return s.snapshot(s.items[id]), true
}

func (s *spaceIndex) snapshot(it *item) snapshot {
	return snapshot{space: s.name, id: it.id, state: it.state, vetoed: slices.Clone(s.vetoes[it.id])}
}

func (n snapshot) read(tx *kv.Tx) (Entry, error) {
	v, err := tx.Get(key(contentByte, kv.NewSpaceID(n.space), n.id))
	if err != nil {
		return Entry{}, err
	}
	e, err := decodeContent(v)
	if err != nil {
		return Entry{}, err
	}
	e.Space, e.ID, e.Vetoed = n.space, n.id, n.vetoed
	e.Seen, e.Used, e.Hits = n.state.seen, n.state.used, n.state.hits
	e.Stale, e.StaleWhy = n.state.stale, n.state.staleWhy
	return e, nil
}

// Match finds the n entries most like a vector that the same embedder made, with
// a cosine of at least threshold, best first; equal ones by ID. All are looked
// at, those without an answer too: what may be served is for Judge to say. What
// cannot be read is left out.
func (b *Bank) Match(space string, vector []float32, embedder string, threshold float64, n int) []Candidate {
	found := b.nearest(space, vector, embedder, threshold, n)
	out := make([]Candidate, 0, len(found))
	// The error is that of a closed database, in which nothing is found.
	_ = b.db.View(func(tx *kv.Tx) error {
		for _, f := range found {
			if e, err := f.read(tx); err == nil {
				out = append(out, Candidate{Entry: e, Similarity: f.similarity})
			}
		}
		return nil
	})
	return out
}

func (b *Bank) nearest(space string, vector []float32, embedder string, threshold float64, n int) []snapshot {
	var query block
	query.dim = len(vector)
	query.add(&item{}, vector)
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.spaces[space]
	if s == nil || n < 1 {
		return nil
	}
	at := s.blocks[embedder]
	if at == nil || at.dim != len(vector) {
		return nil
	}
	type hit struct {
		it  *item
		cos float32
	}
	worse := func(x, y hit) int {
		return cmp.Or(cmp.Compare(y.cos, x.cos), slices.Compare(x.it.id[:], y.it.id[:]))
	}
	var best []hit // sorted
	least := float32(threshold)
	for i, it := range at.items {
		cos := at.cosine(&query, i, least)
		if cos < least || float64(cos) < threshold {
			continue
		}
		h := hit{it, cos}
		where, _ := slices.BinarySearchFunc(best, h, worse)
		if best = slices.Insert(best, where, h); len(best) > n {
			best = best[:n]
		}
		if len(best) == n {
			least = max(least, best[n-1].cos)
		}
	}
	out := make([]snapshot, len(best))
	for i, h := range best {
		out[i] = s.snapshot(h.it)
		out[i].similarity = float64(h.cos)
	}
	return out
}

// Each calls fn with every entry of a space, by ID, until it fails. Entries
// that come or go meanwhile may be missing; those that are damaged are left out.
func (b *Bank) Each(space string, fn func(Entry) error) error {
	for _, id := range b.idsAfter(space, ID{}) {
		e, err := b.Get(space, id)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return fault.Wrap("qabank.Each", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// absent says that Get found no entry, or one that cannot be read any more.
func isAbsent(err error) bool {
	return fault.KindOf(err) == fault.NotFound || errors.Is(err, sealed.ErrDamaged) || errors.Is(err, kv.ErrDamaged)
}

// Page gives the n entries of a space that come next behind an ID, by ID; the
// zero ID stands before all. Fewer than n are the last. Those that are damaged are
// left out.
func (b *Bank) Page(space string, after ID, n int) ([]Entry, error) {
	var page []Entry
	for _, id := range b.idsAfter(space, after) {
		if len(page) >= n {
			break
		}
		switch e, err := b.Get(space, id); {
		case err == nil:
			page = append(page, e)
		case isAbsent(err):
		default:
			return nil, fault.Wrap("qabank.Page", err)
		}
	}
	return page, nil
}

// behind lists the entries of a space behind an ID, in order.
func (b *Bank) idsAfter(space string, after ID) (ids []ID) {
	b.mu.RLock()
	if s := b.spaces[space]; s != nil {
		for id := range s.items {
			if slices.Compare(id[:], after[:]) > 0 {
				ids = append(ids, id)
			}
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(ids, func(x, y ID) int { return slices.Compare(x[:], y[:]) })
	return ids
}

// Stats counts what a space holds.
type Stats struct {
	Entries  int
	Answered int
	Stale    int
	Vetoes   int
	Hits     uint64
	Bytes    int64
}

// Stats counts what a space holds; nothing if there is no such space.
func (b *Bank) Stats(space string) Stats {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.spaces[space]
	if s == nil {
		return Stats{}
	}
	out := Stats{Entries: len(s.items), Vetoes: len(s.pairs)}
	for _, it := range s.items {
		out.Hits += it.state.hits
		out.Bytes += it.size
		if it.answered {
			out.Answered++
		}
		if it.state.stale {
			out.Stale++
		}
	}
	return out
}

// Usage tells the bytes that the entries of all spaces take, and their limit.
func (b *Bank) Usage() (bytes, limit int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.bytes, b.limit
}

// Info is what memory knows of an entry.
type Info struct {
	ID       ID
	Answered bool
	Stale    bool
	Seen     uint64
	Hits     uint64
	Used     time.Time // when it was made, if it has no hits
	Rank     float64   // what eviction goes by: the lowest goes first
	Embedder string
	Origin   string
	Settings string
	// Chunks are those of its evidence and its sources. They must not be changed.
	Chunks []percached.ChunkID
}

func (it *item) summary() Info {
	return Info{
		ID: it.id, Answered: it.answered, Stale: it.state.stale, Seen: it.state.seen, Hits: it.state.hits, Used: it.state.used,
		Rank: it.state.rank, Embedder: it.embedder, Origin: it.origin.Value(), Settings: it.settings.Value(), Chunks: it.cites,
	}
}

// Info tells what memory knows of an entry, if it is there.
func (b *Bank) Info(space string, id ID) (i Info, there bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	it := b.find(space, id)
	if it == nil {
		return Info{}, false
	}
	return it.summary(), true
}

// Has says whether there is an entry, and whether it has an answer. It reads
// nothing from the disk.
func (b *Bank) Has(space string, id ID) (exists, answered bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	it := b.find(space, id)
	return it != nil, it != nil && it.answered
}

// Scan calls fn with every entry that a space had when it was called, until fn
// fails: most useful first, so that what would be evicted next comes last. It
// reads nothing from the disk. Fn may call the bank.
func (b *Bank) Scan(space string, fn func(Info) error) error {
	for _, it := range b.itemsByRank(space) {
		if err := fn(it.summary()); err != nil {
			return err
		}
	}
	return nil
}

// ranked copies the items of a space, the last to go first. They are sorted when
// the lock is free again.
func (b *Bank) itemsByRank(space string) []*item {
	b.mu.RLock()
	var copies []*item
	if s := b.spaces[space]; s != nil {
		copies = make([]*item, 0, len(s.items))
		for _, it := range s.items {
			same := *it
			copies = append(copies, &same)
		}
	}
	b.mu.RUnlock()
	o := evictionHeap{recent: b.o.Now().Add(-evictionGrace)}
	slices.SortFunc(copies, func(x, y *item) int {
		switch {
		case o.evictsBefore(y, x):
			return -1
		case o.evictsBefore(x, y):
			return 1
		}
		return 0
	})
	return copies
}
