package qabank

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Forget removes the entries of a space that have one of the chunks in their
// evidence or their sources, and the vetoes on them. It tells how many entries there were.
func (b *Bank) Forget(ctx context.Context, space string, chunks []percached.ChunkID) (n int, err error) {
	const op = "qabank.Forget"
	b.write.Lock()
	defer b.write.Unlock()
	s, items, pairs := b.resting(space, chunks)
	err = b.remove(ctx, items, func(part []*item) {
		n += len(part)
		b.dropAll(part)
	})
	if err != nil {
		return n, fault.Wrap(op, err)
	}
	for part := range slices.Chunk(pairs, group) {
		var keys [][]byte
		for _, p := range part {
			keys = append(keys, key(vetoByte, s.hash, p[0], p[1]))
		}
		if err := b.deleteKeys(keys); err != nil {
			return n, fault.Wrap(op, err)
		}
		b.mu.Lock()
		for _, p := range part {
			s.allow(p)
		}
		b.mu.Unlock()
	}
	return n, nil
}

// Outdate marks the entries that Forget would remove as stale: their document
// was replaced. A question that came from it may be none any more, either.
func (b *Bank) Outdate(ctx context.Context, space string, chunks []percached.ChunkID) (n int, err error) {
	b.write.Lock()
	defer b.write.Unlock()
	_, items, _ := b.resting(space, chunks)
	if err := b.markStale(ctx, items, "a document that it rests on was replaced"); err != nil {
		return 0, fault.Wrap("qabank.Outdate", err)
	}
	return len(items), nil
}

// resting finds the entries and vetoes that rest on one of the chunks.
func (b *Bank) resting(space string, chunks []percached.ChunkID) (s *shelf, items []*item, pairs [][2]ID) {
	set := make(map[percached.ChunkID]bool, len(chunks))
	for _, c := range chunks {
		set[c] = true
	}
	in := func(c percached.ChunkID) bool { return set[c] }
	b.mu.RLock()
	defer b.mu.RUnlock()
	if s = b.spaces[space]; s == nil {
		return nil, nil, nil
	}
	for _, it := range s.items {
		if slices.ContainsFunc(it.rests, in) {
			items = append(items, it)
		}
	}
	for p, rest := range s.pairs {
		if slices.ContainsFunc(rest, in) {
			pairs = append(pairs, p)
		}
	}
	return s, items, pairs
}

// DropSpace removes all that a space holds, its vetoes too, and tells how many
// entries there were.
func (b *Bank) DropSpace(ctx context.Context, space string) (n int, err error) {
	const op = "qabank.DropSpace"
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.RLock()
	s := b.spaces[space]
	var items []*item
	var keys [][]byte
	if s != nil {
		for _, it := range s.items {
			items = append(items, it)
		}
		for p := range s.pairs {
			keys = append(keys, key(vetoByte, s.hash, p[0], p[1]))
		}
	}
	b.mu.RUnlock()
	if s == nil {
		return 0, nil
	}
	err = b.remove(ctx, items, func(part []*item) {
		n += len(part)
		b.dropAll(part)
	})
	if err == nil {
		err = b.deleteKeys(append(keys, key(spaceByte, s.hash)))
	}
	if err != nil {
		return n, fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spaces, space)
	return n, nil
}
