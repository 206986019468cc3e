package qabank

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// evictionGrace protects an entry that was just served from eviction while others can be
// evicted: its reader may ask again or veto it.
const evictionGrace = time.Minute

// Put stores an entry. It replaces the entry with the same normalised question in the
// space; the hits are kept, and the entry is no longer stale. It is on disk when Put
// returns. Evictions happen in the same transaction, or before it if they are too many.
func (b *Bank) Put(ctx context.Context, e Entry) (ID, error) {
	id, _, err := b.PutIf(ctx, e, nil)
	return id, err
}

// PutNew is Put for a question without an answer in the bank, or with a stale one. It
// returns whether the entry was stored; the ID is always that of the question.
func (b *Bank) PutNew(ctx context.Context, e Entry) (id ID, put bool, err error) {
	return b.PutIf(ctx, e, func(old Info, there bool) bool { return !there || !old.Answered || old.Stale })
}

// PutIf is Put if want accepts the entry that would be replaced. want is called while the
// bank is locked for changes and must not call it. A nil want accepts everything.
func (b *Bank) PutIf(ctx context.Context, e Entry, want func(old Info, there bool) bool) (id ID, put bool, err error) {
	const op = "qabank.Put"
	if err := e.validate(); err != nil {
		return ID{}, false, fault.New(fault.Invalid, op, "%w", err)
	}
	if err := ctx.Err(); err != nil {
		return ID{}, false, fault.Wrap(op, err)
	}
	e.ID = NewIDUnder(e.Space, e.Question, e.Under)
	if e.Made.IsZero() {
		e.Made = b.o.Now()
	}
	b.write.Lock()
	defer b.write.Unlock()
	if want != nil && !want(b.Info(e.Space, e.ID)) {
		return e.ID, false, nil
	}
	it, victims, err := b.planPut(&e)
	if err == nil && len(victims) > deleteBatch {
		if err = b.evictAhead(ctx, victims); err == nil {
			it, victims, err = b.planPut(&e) // the rank depends on the evicted entries
		}
	}
	if err != nil {
		return ID{}, false, fault.Wrap(op, err)
	}
	content, st := encodeContent(&e), encodeState(it.state)
	it.size = recordBytes(content, st)
	err = b.db.Update(func(tx *kv.Tx) error {
		if err := b.writeSpaceName(tx, it.space); err != nil {
			return err
		}
		for _, v := range victims {
			if err := deleteRecords(tx, v); err != nil {
				return err
			}
		}
		if err := tx.Set(key(contentByte, it.space.hash, it.id), content); err != nil {
			return err
		}
		return tx.Set(key(stateByte, it.space.hash, it.id), st)
	})
	if err != nil {
		return ID{}, false, fault.Wrap(op, err)
	}
	b.mu.Lock()
	b.spaces[e.Space] = it.space
	if old := it.space.items[it.id]; old != nil {
		if old.dirty { // hits that came during the write
			it.state.hits, it.state.used, it.dirty = old.state.hits, old.state.used, true
		}
		b.removeItem(old)
	}
	freed := b.evict(victims)
	it.space.items[it.id] = it
	it.space.addVector(it, e.Vector)
	b.bytes += it.size
	b.mu.Unlock()
	b.notifyEvicted(len(victims), freed)
	if b.o.Observer.Stored != nil {
		b.o.Observer.Stored(1, it.size)
	}
	return e.ID, true, nil
}

// planPut creates the item of an entry and picks what to evict for it.
func (b *Bank) planPut(e *Entry) (it *item, victims []*item, err error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.spaces[e.Space]
	if s == nil {
		s = newSpaceIndex(e.Space)
	}
	if len(e.Vector) > 0 && !s.matchesDimension(e.Embedder, e.Vector) {
		return nil, nil, fault.New(fault.Invalid, "qabank.plan", "a vector of %d dimensions does not match this embedder's other vectors", len(e.Vector))
	}
	it = newItem(e.ID, s, e)
	it.state = state{hits: e.Hits, used: e.Made, seen: e.Seen, stale: e.Stale, staleWhy: e.StaleWhy}
	need := recordBytes(encodeContent(e), encodeState(it.state))
	old := s.items[e.ID]
	if old != nil {
		it.state.hits, it.state.used = old.state.hits, old.state.used
		need -= old.size
	}
	it.state.rank = b.age + 1 + float64(it.state.hits)
	if recordBytes(encodeContent(e), encodeState(it.state)) > b.limit {
		return nil, nil, fault.New(fault.Invalid, "qabank.plan", "the entry is larger than the bank's limit of %d bytes", b.limit)
	}
	return it, b.victims(b.bytes+need-b.limit, old), nil
}

// victims picks items that free this many bytes: lowest rank first, recently served ones
// last, never keep. The caller holds mu.
func (b *Bank) victims(over int64, keep *item) []*item {
	if over <= 0 {
		return nil
	}
	o := evictionHeap{recent: b.o.Now().Add(-evictionGrace)}
	for _, s := range b.spaces {
		for _, it := range s.items {
			if it != keep {
				o.items = append(o.items, it)
			}
		}
	}
	heap.Init(&o)
	var out []*item
	for over > 0 && o.Len() > 0 {
		it := heap.Pop(&o).(*item)
		out = append(out, it)
		over -= it.size
	}
	return out
}

// evict removes items from memory and ages the rest. The caller holds mu.
func (b *Bank) evict(victims []*item) (freed int64) {
	for _, it := range victims {
		b.age = max(b.age, it.state.rank)
		freed += it.size
		b.removeItem(it)
	}
	return freed
}

func (b *Bank) notifyEvicted(n int, freed int64) {
	if n > 0 && b.o.Observer.Evicted != nil {
		b.o.Observer.Evicted(n, freed)
	}
}

// removeItem removes an item from memory. The caller holds mu.
func (b *Bank) removeItem(it *item) {
	delete(it.space.items, it.id)
	it.space.removeVector(it)
	b.bytes -= it.size
}

func deleteRecords(tx *kv.Tx, it *item) error {
	if err := tx.Delete(key(contentByte, it.space.hash, it.id)); err != nil {
		return err
	}
	return tx.Delete(key(stateByte, it.space.hash, it.id))
}

// writeSpaceName writes a space's name with its first record.
func (b *Bank) writeSpaceName(tx *kv.Tx, s *spaceIndex) error {
	b.mu.RLock()
	known := b.spaces[s.name] != nil
	b.mu.RUnlock()
	if known {
		return nil
	}
	w := sealed.NewWriter(formatVersion, nil)
	w.Text(s.name)
	return tx.Set(key(spaceByte, s.hash), w.Seal())
}

// SetLimit changes the byte limit and evicts at once what exceeds it.
func (b *Bank) SetLimit(ctx context.Context, limit int64) error {
	const op = "qabank.SetLimit"
	if limit < 1 {
		return fault.New(fault.Invalid, op, "limit of %d bytes", limit)
	}
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.Lock()
	b.limit = limit
	b.mu.Unlock()
	return fault.Wrap(op, b.shrink(ctx))
}

// shrink evicts what exceeds the limit. The caller holds write.
func (b *Bank) shrink(ctx context.Context) error {
	b.mu.RLock()
	victims := b.victims(b.bytes-b.limit, nil)
	b.mu.RUnlock()
	return b.evictAhead(ctx, victims)
}

// evictAhead evicts any number of items. The caller holds write.
func (b *Bank) evictAhead(ctx context.Context, victims []*item) error {
	var n int
	var freed int64
	err := b.remove(ctx, victims, func(part []*item) {
		n += len(part)
		freed += b.evict(part)
	})
	b.notifyEvicted(n, freed)
	return err
}

// remove deletes items on disk and then, by gone, in memory. The caller holds write.
func (b *Bank) remove(ctx context.Context, items []*item, gone func([]*item)) error {
	for part := range slices.Chunk(items, deleteBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := b.db.Update(func(tx *kv.Tx) error {
			for _, it := range part {
				if err := deleteRecords(tx, it); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		b.mu.Lock()
		gone(part)
		b.mu.Unlock()
	}
	return nil
}
