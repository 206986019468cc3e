package qabank

import (
	"bytes"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Hit counts that an entry was served. The next Flush writes it. An entry's
// rank is its count of uses above the rank that was evicted last: so what was
// used much, but long ago, goes in the end.
func (b *Bank) Hit(space string, id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.find(space, id); it != nil {
		it.state.hits++
		it.state.used = b.o.Now()
		it.state.rank = b.age + 1 + float64(it.state.hits)
		it.dirty = true
	}
}

// find needs mu.
func (b *Bank) find(space string, id ID) *item {
	if s := b.spaces[space]; s != nil {
		return s.items[id]
	}
	return nil
}

// Confirm notes that an entry is still right as of a space's seq. The next
// Flush writes it.
func (b *Bank) Confirm(ctx context.Context, space string, id ID, seen uint64) error {
	const op = "qabank.Confirm"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.find(space, id)
	if it == nil {
		return fault.New(fault.NotFound, op, "no entry %v", id)
	}
	if seen > it.state.seen {
		it.state.seen, it.dirty = seen, true
	}
	return nil
}

// MarkStale keeps entries from being served until they are answered again.
// Those that are gone are passed over.
func (b *Bank) MarkStale(ctx context.Context, space string, ids []ID, why string) error {
	const op = "qabank.MarkStale"
	if len(why) > maxName {
		return fault.New(fault.Invalid, op, "a reason of %d bytes", len(why))
	}
	b.write.Lock()
	defer b.write.Unlock()
	var items []*item
	b.mu.RLock()
	for _, id := range ids {
		if it := b.find(space, id); it != nil {
			items = append(items, it)
		}
	}
	b.mu.RUnlock()
	return fault.Wrap(op, b.markStale(ctx, items, why))
}

// markStale is for those who hold write.
func (b *Bank) markStale(ctx context.Context, items []*item, why string) error {
	for part := range slices.Chunk(items, deleteBatch) {
		err := b.saveStates(ctx, part, func(s *state) { s.stale, s.staleWhy = true, why })
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete removes an entry, if it is there.
func (b *Bank) Delete(ctx context.Context, space string, id ID) error {
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.RLock()
	it := b.find(space, id)
	b.mu.RUnlock()
	if it == nil {
		return nil
	}
	return fault.Wrap("qabank.Delete", b.remove(ctx, []*item{it}, b.dropAll))
}

// dropAll is for those who hold both locks.
func (b *Bank) dropAll(items []*item) {
	for _, it := range items {
		b.removeItem(it)
	}
}

// Veto says that an entry's answer was wrong for the question asked: the answer
// is removed, and the two questions are never again served for each other,
// whichever comes first and however either is written (see Normalise). Where
// both are the same question, that question is always computed anew. It works
// for entries that are gone, too.
func (b *Bank) Veto(ctx context.Context, space, asked string, id ID) error {
	const op = "qabank.Veto"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	if space == "" || len(space) > maxName || len(asked) > maxQuestion {
		return fault.New(fault.Invalid, op, "a space or question of this length cannot be vetoed")
	}
	v := veto{a: id, b: NewID(space, asked)}
	if bytes.Compare(v.a[:], v.b[:]) > 0 {
		v.a, v.b = v.b, v.a
	}
	b.write.Lock()
	defer b.write.Unlock()
	e, err := b.Get(space, id)
	there := err == nil
	if err != nil && !isAbsent(err) {
		return fault.Wrap(op, err)
	}
	b.mu.RLock()
	s := b.spaces[space]
	if s == nil {
		s = newSpaceIndex(space)
	}
	v.chunks = slices.Clone(s.pairs[[2]ID{v.a, v.b}])
	b.mu.RUnlock()
	for _, c := range e.citedChunks() {
		if !slices.Contains(v.chunks, c) && len(v.chunks) < maxEvidence {
			v.chunks = append(v.chunks, c)
		}
	}
	e.Answer, e.Answered, e.Refused, e.Cut = "", false, false, false
	content := encodeContent(&e)
	err = b.db.Update(func(tx *kv.Tx) error {
		if err := b.writeSpaceName(tx, s); err != nil {
			return err
		}
		if there {
			if err := tx.Set(key(contentByte, s.hash, id), content); err != nil {
				return err
			}
		}
		return tx.Set(key(vetoByte, s.hash, v.a, v.b), encodeVeto(v))
	})
	if err != nil {
		return fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spaces[space] = s
	s.addVeto(v)
	if it := s.items[id]; it != nil && there {
		size := recordBytes(content, encodeState(it.state))
		b.bytes += size - it.size
		it.size, it.answered = size, false
	}
	return nil
}

// Forget removes the entries of a space that have one of the chunks in their
// evidence or their sources, and the vetoes on them. It tells how many entries there were.
func (b *Bank) Forget(ctx context.Context, space string, chunks []percached.ChunkID) (n int, err error) {
	const op = "qabank.Forget"
	b.write.Lock()
	defer b.write.Unlock()
	s, items, pairs := b.citing(space, chunks)
	err = b.remove(ctx, items, func(part []*item) {
		n += len(part)
		b.dropAll(part)
	})
	if err != nil {
		return n, fault.Wrap(op, err)
	}
	for part := range slices.Chunk(pairs, deleteBatch) {
		var keys [][]byte
		for _, p := range part {
			keys = append(keys, key(vetoByte, s.hash, p[0], p[1]))
		}
		if err := b.deleteKeys(keys); err != nil {
			return n, fault.Wrap(op, err)
		}
		b.mu.Lock()
		for _, p := range part {
			s.removeVeto(p)
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
	_, items, _ := b.citing(space, chunks)
	if err := b.markStale(ctx, items, "a document that it rests on was replaced"); err != nil {
		return 0, fault.Wrap("qabank.Outdate", err)
	}
	return len(items), nil
}

// resting finds the entries and vetoes that rest on one of the chunks.
func (b *Bank) citing(space string, chunks []percached.ChunkID) (s *spaceIndex, items []*item, pairs [][2]ID) {
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
		if slices.ContainsFunc(it.cites, in) {
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
