package qkvtree

import (
	"errors"
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// store keeps the records of nodes. One caller writes at a time.
type store struct {
	db  *kv.DB
	key []byte // signs headers
}

// put writes a node's records, the header last, in place of what there is. If
// it fails nothing is there.
func (st *store) put(group [groupSize]byte, h *header, s *percached.Slice, c counters) error {
	if err := st.remove(group, s.Path); err != nil {
		return err
	}
	err := st.write(group, h, s, c)
	if err != nil {
		// What remains of it all the same is cleared away by the next put, or
		// by the next Open.
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

// remove removes all records of a node, the header first.
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

// delete removes keys, in this order.
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

// lend gives a slice in place, held against its checksums, and what all its
// records take. The error is a
// *SliceError if this slice cannot be had, and another if the database cannot.
func (st *store) lend(tx *kv.Tx, g groupID, group [groupSize]byte, p percached.Path) (*percached.Slice, int64, error) {
	key := nodeKey(headerKind, group, p)
	b, err := tx.Get(key)
	if err != nil {
		return nil, 0, loss(p, "the header", err)
	}
	h, err := decode(b, st.key, key)
	switch {
	case errors.Is(err, ErrNewer):
		return nil, 0, &SliceError{Path: p, Err: ErrNewer}
	case err != nil:
		return nil, 0, &SliceError{Path: p, Err: ErrDamaged, Detail: err.Error()}
	case h.id() != g || h.slice.Path != p:
		return nil, 0, &SliceError{Path: p, Err: ErrDamaged, Detail: "the header is another slice's"}
	}
	s, size := &h.slice, int64(len(key)+len(b)+nodeSize+counterSize)
	for i := range s.Pieces {
		v, err := tx.Lend(pieceKey(group, p, i))
		if err != nil {
			return nil, 0, loss(p, fmt.Sprintf("piece %d", i), err)
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

func isLoss(err error) bool {
	var lost *SliceError
	return errors.As(err, &lost)
}

// loss tells what is wrong with a slice from a database that does not work.
func loss(p percached.Path, what string, err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return &SliceError{Path: p, Err: ErrMissing, Detail: what + " is missing"}
	case fault.Unavailable:
		return err
	}
	return &SliceError{Path: p, Err: ErrDamaged, Detail: what + " cannot be read"}
}
