package qabank

import (
	"bytes"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Hit counts that an entry was served; the next Flush writes it. An entry's rank is its
// hits above the rank that was evicted last, so formerly popular entries are evicted in
// the end.
func (b *Bank) Hit(space string, id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.find(space, id); it != nil {
		it.state.hits++
		it.state.used = b.o.Now()
		it.changed = false
		it.state.rank = b.age + 1 + float64(it.state.hits)
		it.dirty = true
	}
}

// find returns an item or nil. The caller holds mu.
func (b *Bank) find(space string, id ID) *item {
	if s := b.spaces[space]; s != nil {
		return s.items[id]
	}
	return nil
}

// Confirm records that an entry is still correct at this seq of the space; the next Flush
// writes it.
func (b *Bank) Confirm(ctx context.Context, space string, id ID, seen uint64) error {
	const op = "qabank.Confirm"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.find(space, id)
	if it == nil {
		return fault.New(fault.NotFound, op, "entry %v does not exist", id)
	}
	if seen > it.state.seen {
		it.state.seen, it.dirty = seen, true
	}
	return nil
}

// MarkStale stops entries from being served until they are answered again. It skips
// missing ones.
func (b *Bank) MarkStale(ctx context.Context, space string, ids []ID, why string) error {
	const op = "qabank.MarkStale"
	if len(why) > maxName {
		return fault.New(fault.Invalid, op, "the reason has %d bytes, too many", len(why))
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

// The caller of markStale holds write.
func (b *Bank) markStale(ctx context.Context, items []*item, why string) error {
	for part := range slices.Chunk(items, deleteBatch) {
		err := b.saveStates(ctx, part, func(s *state) { s.stale, s.staleWhy = true, why })
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete removes an entry, if it exists.
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

// The caller of dropAll holds both locks.
func (b *Bank) dropAll(items []*item) {
	for _, it := range items {
		b.removeItem(it)
	}
}

// Veto records that an entry's answer was wrong for the question asked. It deletes the
// answer. The two questions are never again served for each other, in either order and
// any equivalent spelling (see Normalise). If both are the same question, it is always
// computed again. Veto also works for missing entries.
func (b *Bank) Veto(ctx context.Context, space, asked string, id ID) error {
	const op = "qabank.Veto"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	if space == "" || len(space) > maxName || len(asked) > maxQuestion {
		return fault.New(fault.Invalid, op, "the space or question is too long for a veto")
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
		if !slices.Contains(v.chunks, c) && len(v.chunks) < MaxEvidence {
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
	b.spaces[space] = s
	s.addVeto(v)
	if it := s.items[id]; it != nil && there {
		size := recordBytes(content, encodeState(it.state))
		b.bytes += size - it.size
		it.size, it.answered = size, false
	}
	served := s.checks[[2]ID{NewIDUnder(space, asked, e.Under), id}]
	b.mu.Unlock()
	if served == nil || !served.Served {
		return nil
	}
	return fault.Wrap(op, b.learn(space, served.Check, false))
}

// Forget deletes the entries of a space that cite one of the chunks in their evidence or
// sources, and the vetoes on them. It returns the number of entries.
func (b *Bank) Forget(ctx context.Context, space string, chunks []percached.ChunkID) (n int, err error) {
	const op = "qabank.Forget"
	b.write.Lock()
	defer b.write.Unlock()
	s, items, pairs, checks := b.citing(space, chunks)
	if s == nil {
		return 0, nil
	}
	if err := b.forgetChecks(s, checks); err != nil {
		return 0, fault.Wrap(op, err)
	}
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

// Outdate marks the entries that Forget would delete as stale, because their document was
// replaced. A question predicted from it may no longer make sense either.
func (b *Bank) Outdate(ctx context.Context, space string, chunks []percached.ChunkID) (n int, err error) {
	b.write.Lock()
	defer b.write.Unlock()
	_, items, _, _ := b.citing(space, chunks)
	if err := b.markStale(ctx, items, "a document that it rests on was replaced"); err != nil {
		return 0, fault.Wrap("qabank.Outdate", err)
	}
	return len(items), nil
}

// citing finds the entries, vetoes and checks that cite one of the chunks.
func (b *Bank) citing(space string, chunks []percached.ChunkID) (s *spaceIndex, items []*item, pairs [][2]ID, checks []*check) {
	set := make(map[percached.ChunkID]bool, len(chunks))
	for _, c := range chunks {
		set[c] = true
	}
	in := func(c percached.ChunkID) bool { return set[c] }
	b.mu.RLock()
	defer b.mu.RUnlock()
	if s = b.spaces[space]; s == nil {
		return nil, nil, nil, nil
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
	for _, c := range s.checks {
		if slices.ContainsFunc(c.Chunks, in) {
			checks = append(checks, c)
		}
	}
	return s, items, pairs, checks
}

// DropSpace deletes everything in a space, including vetoes, and returns the number of
// entries.
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
		for p := range s.checks {
			keys = append(keys, s.checkKey(p))
		}
		keys = append(keys, s.droppedKeys()...)
		keys = append(keys, key(countsByte, s.hash))
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
