package qabank

import (
	"errors"
	"slices"

	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// loader fills a bank that nobody else sees yet.
type loader struct {
	bank    *Bank
	shelves map[kv.SpaceID]*shelf
	states  map[string]state // by key, until an entry takes them
	damaged [][]byte         // keys
}

func (l *loader) load(tx *kv.Tx) error {
	for _, step := range []struct {
		kind byte
		read func(k, v []byte) error
	}{{spaceByte, l.space}, {stateByte, l.state}, {contentByte, l.entry}, {vetoByte, l.veto}} {
		// What the database cannot read comes without a value, and is damaged to each step.
		err := tx.Scan([]byte{bankByte, step.kind}, func(k, v []byte, _ error) error {
			err := step.read(k, v)
			if !errors.Is(err, sealed.ErrDamaged) {
				return err
			}
			l.damaged = append(l.damaged, slices.Clone(k))
			if l.bank.o.Observer.Damaged != nil {
				l.bank.o.Observer.Damaged(err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for rest := range l.states { // no entry took them
		l.damaged = append(l.damaged, append([]byte{bankByte, stateByte}, rest...))
	}
	return nil
}

func (l *loader) space(k, v []byte) error {
	r, err := sealed.NewReader(nil, v, formatVersion, formatVersion)
	if err != nil {
		return err
	}
	name := r.Text(maxName)
	hash, _, ok := splitKey(k, 0)
	if err := r.End("a space"); err != nil {
		return err
	}
	if !ok || hash != kv.NewSpaceID(name) {
		return sealed.ErrDamaged
	}
	s := newShelf(name)
	l.bank.spaces[name], l.shelves[hash] = s, s
	return nil
}

func (l *loader) state(k, v []byte) error {
	s, err := decodeState(v)
	if err == nil {
		l.states[string(k[2:])] = s
	}
	return err
}

// entry takes an entry only with its state: without that nobody knows if it
// is stale.
func (l *loader) entry(k, v []byte) error {
	e, err := decodeContent(v)
	if err != nil {
		return err
	}
	hash, ids, ok := splitKey(k, 1)
	s := l.shelves[hash]
	st, known := l.states[string(k[2:])]
	if !ok || s == nil || !known || ids[0] != NewID(s.name, e.Question) || !s.fits(e.Embedder, e.Vector) {
		return sealed.ErrDamaged
	}
	delete(l.states, string(k[2:]))
	it := newItem(ids[0], s, &e)
	it.state, it.size = st, recordBytes(v, encodeState(st))
	s.items[it.id] = it
	s.place(it, e.Vector)
	l.bank.bytes += it.size
	return nil
}

// veto keeps a pair apart even when what stands behind its key is damaged.
func (l *loader) veto(k, v []byte) error {
	chunks, err := decodeVeto(v)
	if err != nil && !errors.Is(err, sealed.ErrDamaged) {
		return err
	}
	hash, ids, ok := splitKey(k, 2)
	s := l.shelves[hash]
	if !ok || s == nil {
		return sealed.ErrDamaged
	}
	s.forbid(veto{ids[0], ids[1], chunks})
	return nil
}

// lowest is the rank from which ageing goes on: what was evicted last had none
// above it.
func (l *loader) lowest() float64 {
	low, first := 0.0, true
	for _, s := range l.bank.spaces {
		for _, it := range s.items {
			if first || it.state.rank < low {
				low, first = it.state.rank, false
			}
		}
	}
	return low
}
