package qkvtree

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// loader finds out what is stored: headers first, then whether each has its
// pieces, its parent and its counters.
type loader struct {
	t     *Tree
	nodes map[string]*node // by key without kind
	seen  map[*node]int    // pieces that are there
	lost  []lost
	stale [][]byte // keys that belong to no slice
}

type lost struct {
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
	if !t.o.Spare { // a limit lower than what is stored holds from now on, if the disk lets it
		_, _ = t.evict("", 0, nil, false)
	}
	_ = t.flush()
	if !t.o.Spare {
		t.fitDisk()
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
		err = errors.New("the header is another slice's")
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
	l.lost = append(l.lost, lost{key: key, info: Info{Path: cause.Path}, cause: cause})
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

// check adds the nodes that have all their pieces and, under sequential
// placement, a node above them.
func (l *loader) check() {
	byPath := map[groupID]map[percached.Path]*node{}
	for _, n := range l.nodes {
		if byPath[n.group.id] == nil {
			byPath[n.group.id] = map[percached.Path]*node{}
		}
		byPath[n.group.id][n.path] = n
	}
	causes := map[*node]error{} // nil for what is sound, and added
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
			l.t.f.add(n) // behind its parent
		}
		return err
	}
	for k, n := range l.nodes {
		if err := judge(n); err != nil {
			l.lost = append(l.lost, lost{key: append([]byte{headerKind}, k...), info: n.info(), cause: err})
		}
	}
	for n, err := range causes {
		if err != nil {
			delete(l.t.changed, n)
		}
	}
}

// sweep deletes what belongs to no slice. What cannot be deleted now is found
// again by the next Open.
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
