package qabank

import (
	"slices"
	"time"

	"github.com/percached/percached"
)

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

func (it *item) info() Info {
	return Info{
		ID: it.id, Answered: it.answered, Stale: it.state.stale, Seen: it.state.seen, Hits: it.state.hits, Used: it.state.used,
		Rank: it.state.rank, Embedder: it.embedder, Origin: it.origin.Value(), Settings: it.settings.Value(), Chunks: it.rests,
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
	return it.info(), true
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
	for _, it := range b.ranked(space) {
		if err := fn(it.info()); err != nil {
			return err
		}
	}
	return nil
}

// ranked copies the items of a space, the last to go first. They are sorted when
// the lock is free again.
func (b *Bank) ranked(space string) []*item {
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
	o := order{recent: b.o.Now().Add(-served)}
	slices.SortFunc(copies, func(x, y *item) int {
		switch {
		case o.before(y, x):
			return -1
		case o.before(x, y):
			return 1
		}
		return 0
	})
	return copies
}
