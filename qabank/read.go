package qabank

import (
	"cmp"
	"errors"
	"slices"
	"time"
	"unique"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// Exact finds the entry with the same normalised question.
func (b *Bank) Exact(space, question string) (Entry, bool, error) {
	return b.ExactUnder(space, question, "")
}

// ExactUnder is Exact for an answer under a client's instructions.
func (b *Bank) ExactUnder(space, question, under string) (Entry, bool, error) {
	e, err := b.Get(space, NewIDUnder(space, question, under))
	if fault.KindOf(err) == fault.NotFound {
		return Entry{}, false, nil
	}
	return e, err == nil, fault.Wrap("qabank.Exact", err)
}

// Get reads an entry. NotFound means that it does not exist.
func (b *Bank) Get(space string, id ID) (Entry, error) {
	const op = "qabank.Get"
	b.mu.RLock()
	snap, ok := b.snapshot(space, id)
	b.mu.RUnlock()
	if !ok {
		return Entry{}, fault.New(fault.NotFound, op, "entry %v does not exist", id)
	}
	var e Entry
	err := b.db.View(func(tx *kv.Tx) (err error) {
		e, err = snap.read(tx)
		return err
	})
	return e, fault.Wrap(op, err)
}

// snapshot is what memory knows of an entry at one moment. It is taken before the disk is
// read, so the content may be newer than the state, never older.
type snapshot struct {
	space      string
	id         ID
	state      state
	vetoed     []ID
	similarity float64
}

// The caller of snapshot holds mu.
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
	e.Changed = e.Changed && e.Used.Before(e.Made)
	e.Stale, e.StaleWhy = n.state.stale, n.state.staleWhy
	return e, nil
}

// Match finds the n entries most similar to a vector of the same embedder, with a cosine
// of at least threshold, best first, equal ones by ID. It includes entries without an
// answer; Judge decides what may be served. It skips unreadable ones.
func (b *Bank) Match(space string, vector []float32, embedder string, threshold float64, n int) []Candidate {
	return b.match(b.nearest(space, vector, embedder, threshold, n, func(*item) bool { return true }))
}

// MatchUnder is Match for the answers under a client's instructions.
func (b *Bank) MatchUnder(space, under string, vector []float32, embedder string, threshold float64, n int) []Candidate {
	want := unique.Make(under)
	return b.match(b.nearest(space, vector, embedder, threshold, n, func(it *item) bool { return it.under == want }))
}

func (b *Bank) match(found []snapshot) []Candidate {
	out := make([]Candidate, 0, len(found))
	// The only error is that of a closed database, where nothing is found.
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

func (b *Bank) nearest(space string, vector []float32, embedder string, threshold float64, n int, want func(*item) bool) []snapshot {
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
		if cos < least || float64(cos) < threshold || !want(it) {
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

// Citing returns n answered entries of a space that cite one of the chunks, those that
// cite most of them first. It skips unreadable ones.
func (b *Bank) Citing(space string, chunks []percached.ChunkID, n int) []Entry {
	type match struct {
		snapshot
		shared int
	}
	var found []match
	b.mu.RLock()
	if s := b.spaces[space]; s != nil {
		for _, it := range s.items {
			shared := 0
			for _, c := range it.cites {
				if slices.Contains(chunks, c) {
					shared++
				}
			}
			if shared > 0 && it.answered {
				found = append(found, match{s.snapshot(it), shared})
			}
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(found, func(x, y match) int {
		return cmp.Or(cmp.Compare(y.shared, x.shared), slices.Compare(x.id[:], y.id[:]))
	})
	var out []Entry
	// The only error is that of a closed database, where nothing is found.
	_ = b.db.View(func(tx *kv.Tx) error {
		for _, f := range found[:min(len(found), n)] {
			if e, err := f.read(tx); err == nil {
				out = append(out, e)
			}
		}
		return nil
	})
	return out
}

// Each calls fn with every entry of a space, by ID, until fn fails. It may miss entries
// that come or go meanwhile, and skips damaged ones.
func (b *Bank) Each(space string, fn func(Entry) error) error {
	for _, id := range b.idsAfter(space, ID{}, false) {
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

// isAbsent reports whether Get found no entry, or an unreadable one.
func isAbsent(err error) bool {
	return fault.KindOf(err) == fault.NotFound || errors.Is(err, sealed.ErrDamaged) || errors.Is(err, kv.ErrDamaged)
}

// Page returns the next n entries of a space after an ID, by ID; the zero ID precedes
// all. Fewer than n entries are the last page. It skips damaged ones.
func (b *Bank) Page(space string, after ID, n int) ([]Entry, error) {
	page, err := b.page(space, b.idsAfter(space, after, false), n)
	return page, fault.Wrap("qabank.Page", err)
}

// PageChanged is Page for the entries that are Changed.
func (b *Bank) PageChanged(space string, after ID, n int) ([]Entry, error) {
	page, err := b.page(space, b.idsAfter(space, after, true), n)
	return page, fault.Wrap("qabank.PageChanged", err)
}

func (b *Bank) page(space string, ids []ID, n int) ([]Entry, error) {
	var page []Entry
	for _, id := range ids {
		if len(page) >= n {
			break
		}
		switch e, err := b.Get(space, id); {
		case err == nil:
			page = append(page, e)
		case isAbsent(err):
		default:
			return nil, err
		}
	}
	return page, nil
}

// idsAfter lists the entries of a space after an ID, in order, or only the changed ones.
func (b *Bank) idsAfter(space string, after ID, changed bool) (ids []ID) {
	b.mu.RLock()
	if s := b.spaces[space]; s != nil {
		for id, it := range s.items {
			if slices.Compare(id[:], after[:]) > 0 && (it.changed || !changed) {
				ids = append(ids, id)
			}
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(ids, func(x, y ID) int { return slices.Compare(x[:], y[:]) })
	return ids
}

// Stats are the counts of a space.
type Stats struct {
	Entries  int
	Answered int
	Stale    int
	Vetoes   int
	Hits     uint64
	Bytes    int64
}

// Stats returns the counts of a space, or zeros if it does not exist.
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

// Usage returns the bytes of all entries, and their limit.
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
	Used     time.Time // time of the last hit, or when it was made
	Rank     float64   // order of eviction, lowest first
	Embedder string
	Origin   string
	Settings string
	Under    string
	// Chunks are those of its evidence and sources. They must not be changed.
	Chunks []percached.ChunkID
}

func (it *item) summary() Info {
	return Info{
		ID: it.id, Answered: it.answered, Stale: it.state.stale, Seen: it.state.seen, Hits: it.state.hits, Used: it.state.used,
		Rank: it.state.rank, Embedder: it.embedder, Origin: it.origin.Value(), Settings: it.settings.Value(), Under: it.under.Value(), Chunks: it.cites,
	}
}

// Info returns what memory knows of an entry, if it exists.
func (b *Bank) Info(space string, id ID) (i Info, there bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	it := b.find(space, id)
	if it == nil {
		return Info{}, false
	}
	return it.summary(), true
}

// Has reports whether an entry exists, and whether it has an answer. It does not access
// the disk.
func (b *Bank) Has(space string, id ID) (exists, answered bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	it := b.find(space, id)
	return it != nil, it != nil && it.answered
}

// Scan calls fn with every entry that a space had at the time of the call, until fn
// fails: most useful first, next to be evicted last. It does not access the disk. fn may
// call the bank.
func (b *Bank) Scan(space string, fn func(Info) error) error {
	for _, it := range b.itemsByRank(space) {
		if err := fn(it.summary()); err != nil {
			return err
		}
	}
	return nil
}

// itemsByRank copies the items of a space, last to be evicted first. It sorts them after
// releasing the lock.
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
