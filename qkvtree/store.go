package qkvtree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// store reads and writes the records of nodes. One caller writes at a time.
type store struct {
	db  *kv.DB
	key []byte // signs headers
}

// put writes a node's records, the header last, and replaces existing ones. After a
// failure nothing is stored.
func (st *store) put(group [groupSize]byte, h *header, s *percached.Slice, c counters) error {
	if err := st.remove(group, s.Path); err != nil {
		return err
	}
	err := st.write(group, h, s, c)
	if err != nil {
		// The next put or Open deletes what remains.
		_ = st.remove(group, s.Path)
	}
	return err
}

func (st *store) write(group [groupSize]byte, h *header, s *percached.Slice, c counters) error {
	b := st.db.Bulk()
	defer b.Cancel()
	for i, p := range s.Pieces {
		value := p.KV
		if len(p.Q) > 0 {
			value = append(append(make([]byte, 0, len(p.KV)+len(p.Q)), p.KV...), p.Q...)
		}
		if err := b.Set(pieceKey(group, s.Path, i), value); err != nil {
			return err
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return st.db.Update(func(tx *kv.Tx) error {
		hk, ck := nodeKey(headerKind, group, s.Path), nodeKey(counterKind, group, s.Path)
		return errors.Join(tx.Set(ck, c.encode(ck)), tx.Set(hk, h.encode(st.key, hk)))
	})
}

// remove deletes all records of a node, the header first.
func (st *store) remove(group [groupSize]byte, p percached.Path) error {
	keys := [][]byte{nodeKey(headerKind, group, p), nodeKey(counterKind, group, p)}
	there := keys[:0]
	if err := st.db.View(func(tx *kv.Tx) error {
		for _, k := range keys {
			ok, err := tx.Has(k)
			if err != nil {
				return err
			}
			if ok {
				there = append(there, k)
			}
		}
		return tx.Keys(nodeKey(pieceKind, group, p), func(k []byte, _ int64) error {
			there = append(there, append([]byte(nil), k...))
			return nil
		})
	}); err != nil {
		return err
	}
	return st.delete(there)
}

// delete deletes keys in this order.
func (st *store) delete(keys [][]byte) error {
	b := st.db.Bulk()
	defer b.Cancel()
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return b.Flush()
}

// set writes small records.
func (st *store) set(records [][2][]byte) error {
	b := st.db.Bulk()
	defer b.Cancel()
	for _, r := range records {
		if err := b.Set(r[0], r[1]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// view returns a slice in place after checking it, and the size of all its records. The
// error is a *SliceError if this slice is unusable, another one if the database is.
func (st *store) view(tx *kv.Tx, g groupID, group [groupSize]byte, p percached.Path) (*percached.Slice, int64, error) {
	key := nodeKey(headerKind, group, p)
	b, err := tx.Get(key)
	if err != nil {
		return nil, 0, lossError(p, "the header", err)
	}
	h, err := decode(b, st.key, key)
	switch {
	case errors.Is(err, ErrNewer):
		return nil, 0, &SliceError{Path: p, Err: ErrNewer}
	case err != nil:
		return nil, 0, &SliceError{Path: p, Err: ErrDamaged, Detail: err.Error()}
	case h.id() != g || h.slice.Path != p:
		return nil, 0, &SliceError{Path: p, Err: ErrDamaged, Detail: "the header belongs to another slice"}
	}
	s, size := &h.slice, int64(len(key)+len(b)+nodeSize+counterSize)
	for i := range s.Pieces {
		v, err := tx.Lend(pieceKey(group, p, i))
		if err != nil {
			return nil, 0, lossError(p, fmt.Sprintf("piece %d", i), err)
		}
		size += pieceSize + int64(len(v))
		if err := fill(&s.Pieces[i], h.sizes[i], v); err != nil {
			return nil, 0, &SliceError{Path: p, Err: ErrDamaged, Detail: fmt.Sprintf("piece %d %s", i, err)}
		}
	}
	return s, size, nil
}

func fill(p *percached.Piece, n size, v []byte) error {
	if uint64(len(v)) != uint64(n.kv)+uint64(n.q) {
		return fmt.Errorf("has %d bytes, not %d", len(v), uint64(n.kv)+uint64(n.q))
	}
	p.KV = v[:n.kv:n.kv]
	if n.q > 0 {
		p.Q = v[n.kv:]
	}
	if p.Checksum() != p.Sum {
		return errors.New("does not match its checksum")
	}
	return nil
}

func isLossError(err error) bool {
	var lost *SliceError
	return errors.As(err, &lost)
}

// lossError distinguishes a damaged slice from a broken database.
func lossError(p percached.Path, what string, err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return &SliceError{Path: p, Err: ErrMissing, Detail: what + " is missing"}
	case fault.Unavailable:
		return err
	}
	return &SliceError{Path: p, Err: ErrDamaged, Detail: what + " cannot be read"}
}

// loader finds out what is stored: first the headers, then whether each has its pieces,
// its parent and its counters.
type loader struct {
	t     *Tree
	nodes map[string]*node // by key without kind
	seen  map[*node]int    // pieces found
	lost  []damagedSlice
	stale [][]byte // keys without a slice
}

type damagedSlice struct {
	key   []byte // of the header
	info  Info
	cause error
}

func (t *Tree) load() error {
	l := &loader{t: t, nodes: map[string]*node{}, seen: map[*node]int{}}
	if err := t.store.db.View(l.read); err != nil {
		return err
	}
	l.check()
	t.f.tick = max(t.f.tick, t.f.newest())
	l.sweep()
	if !t.o.Spare { // apply a limit below the stored size now, if the disk allows it
		_, err := t.evict("", 0, nil, false)
		t.overdue = err != nil
	}
	_ = t.flush()
	if !t.o.Spare {
		t.shrinkDisk()
	}
	t.stats = tally{dropped: t.stats.dropped}
	return nil
}

func (l *loader) read(tx *kv.Tx) error {
	for _, step := range []struct {
		kind byte
		fn   func(key, value []byte, damage error) error
	}{{headerKind, l.header}, {counterKind, l.counters}, {ageKind, l.age}} {
		if err := tx.Scan([]byte{step.kind}, step.fn); err != nil {
			return err
		}
	}
	return tx.Keys([]byte{pieceKind}, l.piece)
}

func (l *loader) header(key, value []byte, damage error) error {
	key = bytes.Clone(key)
	var h *header
	err := damage
	if err == nil {
		h, err = decode(value, l.t.store.key, key)
	}
	if err == nil && !bytes.Equal(key, nodeKey(headerKind, h.id().prefix(), h.slice.Path)) {
		err = errors.New("the header belongs to another slice")
	}
	if err == nil {
		g := l.t.f.group(h.id())
		l.t.f.groups[g.id] = g
		n := newNode(g, h)
		// Until its counters are read.
		n.counters = counters{hits: 1, priority: 1}
		l.t.changed[n] = true
		l.nodes[string(key[1:])] = n
		return nil
	}
	cause := &SliceError{Err: ErrDamaged, Detail: err.Error()}
	if errors.Is(err, ErrNewer) {
		cause = &SliceError{Err: ErrNewer}
	}
	if len(key) == nodeSize {
		copy(cause.Path[:], key[nodeSize-len(cause.Path):])
	}
	l.lost = append(l.lost, damagedSlice{key: key, info: Info{Path: cause.Path}, cause: cause})
	return nil
}

func (l *loader) counters(key, value []byte, damage error) error {
	n := l.nodes[string(key[1:])]
	if n == nil {
		l.stale = append(l.stale, bytes.Clone(key))
		return nil
	}
	if damage != nil {
		return nil
	}
	if c, err := decodeCounters(value, key); err == nil {
		n.counters = c
		delete(l.t.changed, n)
	}
	return nil
}

func (l *loader) age(key, value []byte, damage error) error {
	if a, err := decodeAge(value, key); damage == nil && err == nil {
		l.t.f.age, l.t.written = a, a
	}
	return nil
}

func (l *loader) piece(key []byte, _ int64) error {
	if len(key) == pieceSize {
		n := l.nodes[string(key[1:nodeSize])]
		if n != nil && binary.BigEndian.Uint32(key[nodeSize:]) < uint32(n.pieces) {
			l.seen[n]++
			return nil
		}
	}
	l.stale = append(l.stale, bytes.Clone(key))
	return nil
}

// check adds the nodes that have all their pieces and, under sequential placement, a
// stored parent.
func (l *loader) check() {
	byPath := map[groupID]map[percached.Path]*node{}
	for _, n := range l.nodes {
		if byPath[n.group.id] == nil {
			byPath[n.group.id] = map[percached.Path]*node{}
		}
		byPath[n.group.id][n.path] = n
	}
	causes := map[*node]error{} // nil for intact nodes that were added
	var judge func(n *node) error
	judge = func(n *node) error {
		if err, ok := causes[n]; ok {
			return err
		}
		var err error
		if l.seen[n] != n.pieces {
			err = &SliceError{Path: n.path, Err: ErrMissing}
		} else if n.group.id.placement == percached.Sequential && !n.root() {
			p := byPath[n.group.id][n.above]
			if p == nil || judge(p) != nil {
				err = &SliceError{Path: n.path, Err: ErrOrphan}
			}
		}
		causes[n] = err
		if err == nil {
			n.local = n.priority
			l.t.f.add(n) // after its parent
		}
		return err
	}
	for k, n := range l.nodes {
		if err := judge(n); err != nil {
			l.lost = append(l.lost, damagedSlice{key: append([]byte{headerKind}, k...), info: n.info(), cause: err})
		}
	}
	for n, err := range causes {
		if err != nil {
			delete(l.t.changed, n)
		}
	}
}

// sweep deletes keys without a slice. If that fails, the next Open finds them again.
func (l *loader) sweep() {
	t := l.t
	for _, x := range l.lost {
		if len(x.key) == nodeSize {
			_ = t.store.remove([groupSize]byte(x.key[1:]), percached.Path(x.key[1+groupSize:]))
		} else {
			_ = t.store.delete([][]byte{x.key})
		}
		t.stats.dropped++
		if fn := t.o.Observer.Dropped; fn != nil {
			fn(x.info, x.cause)
		}
	}
	_ = t.store.delete(l.stale)
	for id, g := range t.f.groups {
		if len(g.nodes) == 0 {
			delete(t.f.groups, id)
		}
	}
}
