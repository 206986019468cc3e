package qabank

import (
	"context"
	"slices"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// group is how many records one transaction writes.
const group = 500

// Bank holds the entries of all spaces.
type Bank struct {
	db *kv.DB
	o  Options
	// write is held by whoever changes the disk, from looking at memory to
	// changing it.
	write sync.Mutex
	// mu guards what follows. It is never held while the disk is written.
	mu     sync.RWMutex
	spaces map[string]*shelf
	age    float64 // the rank of what was evicted last
	bytes  int64
	limit  int64
}

// Open reads what db holds into memory. The database stays the caller's, who
// closes it after the bank.
func Open(db *kv.DB, o Options) (*Bank, error) {
	const op = "qabank.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	b := &Bank{db: db, o: o, limit: o.Limit, spaces: map[string]*shelf{}}
	l := loader{bank: b, shelves: map[kv.SpaceID]*shelf{}, states: map[string]state{}}
	if err := db.View(l.load); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if err := b.deleteKeys(l.damaged); err != nil {
		return nil, fault.Wrap(op, err)
	}
	b.age = l.lowest()
	return b, nil
}

func (b *Bank) deleteKeys(keys [][]byte) error {
	for part := range slices.Chunk(keys, group) {
		err := b.db.Update(func(tx *kv.Tx) error {
			for _, k := range part {
				if err := tx.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Flush writes the hits and confirmations that were gathered.
func (b *Bank) Flush(ctx context.Context) error {
	b.write.Lock()
	defer b.write.Unlock()
	var dirty []*item
	b.mu.RLock()
	for _, s := range b.spaces {
		for _, it := range s.items {
			if it.dirty {
				dirty = append(dirty, it)
			}
		}
	}
	b.mu.RUnlock()
	for part := range slices.Chunk(dirty, group) {
		if err := b.saveStates(ctx, part, nil); err != nil {
			return fault.Wrap("qabank.Flush", err)
		}
	}
	return nil
}

// Close writes what Flush would. The bank must not be used any more.
func (b *Bank) Close() error {
	return fault.Wrap("qabank.Close", b.Flush(context.Background()))
}

// saveStates writes the states of items as change would have them, then
// changes them in memory. The caller holds write.
func (b *Bank) saveStates(ctx context.Context, items []*item, change func(*state)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	values := make([][]byte, len(items))
	written := make([]state, len(items))
	b.mu.RLock()
	for i, it := range items {
		written[i] = it.state
		if change != nil {
			change(&written[i])
		}
		values[i] = encodeState(written[i])
	}
	b.mu.RUnlock()
	err := b.db.Update(func(tx *kv.Tx) error {
		for i, it := range items {
			if err := tx.Set(key(stateByte, it.space.hash, it.id), values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, it := range items {
		grown := int64(len(values[i]) - len(encodeState(it.state)))
		it.size += grown
		b.bytes += grown
		// Hits that came meanwhile are not on disk yet.
		it.dirty = it.state.hits != written[i].hits || it.state.seen != written[i].seen
		it.state.stale, it.state.staleWhy = written[i].stale, written[i].staleWhy
	}
	return nil
}

func chunksOf(evidence []percached.Evidence) []percached.ChunkID {
	out := make([]percached.ChunkID, len(evidence))
	for i, e := range evidence {
		out[i] = e.Chunk
	}
	return out
}
