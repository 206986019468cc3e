package qkvtree

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/kv"
)

// MinKey is the shortest key that Options.Key may be.
const MinKey = 16

// Options of a Store.
type Options struct {
	// Key signs headers: what was signed by another is damaged.
	Key []byte
}

// Store keeps slices in a database. It is safe for concurrent use.
type Store struct {
	db  *kv.DB
	key []byte
	put sync.Mutex // one slice is written at a time
}

// New makes a store in db, which stays the caller's to close.
func New(db *kv.DB, o Options) (*Store, error) {
	if len(o.Key) < MinKey {
		return nil, fault.New(fault.Invalid, "qkvtree.New", "the key has %d bytes, it needs %d", len(o.Key), MinKey)
	}
	return &Store{db: db, key: append([]byte(nil), o.Key...)}, nil
}

// Put stores a slice of a space, in place of one with the same path. It keeps
// nothing of s.
func (st *Store) Put(space string, pl percached.Placement, s *percached.Slice) error {
	const op = "qkvtree.Put"
	h, err := head(pl, s)
	if err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	st.put.Lock()
	defer st.put.Unlock()
	if err := st.remove(space, pl, s.Model, s.Path); err != nil {
		return fault.Wrap(op, err)
	}
	b := st.db.Bulk()
	defer b.Cancel()
	for i, p := range s.Pieces {
		value := p.KV
		if len(p.Q) > 0 {
			value = append(append(make([]byte, 0, len(p.KV)+len(p.Q)), p.KV...), p.Q...)
		}
		if err := b.Set(pieceKey(space, s.Model, pl, s.Path, i), value); err != nil {
			return fault.Wrap(op, err)
		}
	}
	if err := b.Flush(); err != nil {
		return fault.Wrap(op, err)
	}
	key := headerKey(space, s.Model, pl, s.Path)
	return fault.Wrap(op, st.db.Update(func(tx *kv.Tx) error {
		return tx.Set(key, h.encode(st.key, key))
	}))
}

// Delete removes a slice; ErrMissing if there is none.
func (st *Store) Delete(space string, pl percached.Placement, model string, p percached.Path) error {
	const op = "qkvtree.Delete"
	st.put.Lock()
	defer st.put.Unlock()
	found := false
	err := st.db.View(func(tx *kv.Tx) (err error) {
		found, err = tx.Has(headerKey(space, model, pl, p))
		return err
	})
	if err == nil {
		err = st.remove(space, pl, model, p)
	}
	if err == nil && !found {
		return lost(op, p, ErrMissing, "")
	}
	return fault.Wrap(op, err)
}

// remove takes away the header and then the pieces, also of a slice that never
// got its header.
func (st *Store) remove(space string, pl percached.Placement, model string, p percached.Path) error {
	header := headerKey(space, model, pl, p)
	var keys [][]byte
	err := st.db.View(func(tx *kv.Tx) error {
		found, err := tx.Has(header)
		if found {
			keys = append(keys, header)
		}
		if err != nil {
			return err
		}
		return tx.Keys(pieceKey(space, model, pl, p, -1), func(k []byte, _ int64) error {
			keys = append(keys, append([]byte(nil), k...))
			return nil
		})
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	b := st.db.Bulk()
	defer b.Cancel()
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return b.Flush()
}

// View lends the slices at these paths, in this order, until fn returns. Their
// tensors lie in the database's memory: fn must neither keep nor change them.
// If one of them cannot be had, fn is not called and the error is a
// *SliceError. The caller may write to the store inside fn.
func (st *Store) View(space string, pl percached.Placement, model string, paths []percached.Path, fn func([]*percached.Slice) error) error {
	return st.db.View(func(tx *kv.Tx) error {
		slices := make([]*percached.Slice, len(paths))
		for i, p := range paths {
			var err error
			if slices[i], err = st.lend(tx, space, pl, model, p); err != nil {
				return err
			}
		}
		return fn(slices)
	})
}

func (st *Store) lend(tx *kv.Tx, space string, pl percached.Placement, model string, p percached.Path) (*percached.Slice, error) {
	const op = "qkvtree.View"
	key := headerKey(space, model, pl, p)
	b, err := tx.Get(key)
	if fault.KindOf(err) == fault.NotFound {
		return nil, lost(op, p, ErrMissing, "")
	}
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	h, err := decode(b, st.key, key)
	if errors.Is(err, ErrNewer) {
		return nil, lost(op, p, ErrNewer, "")
	}
	if err == nil && (h.placement != pl || h.slice.Path != p || h.slice.Model != model) {
		err = errors.New("the header is another slice's")
	}
	if err != nil {
		return nil, lost(op, p, ErrDamaged, err.Error())
	}
	s := &h.slice
	for i := range s.Pieces {
		v, err := tx.Lend(pieceKey(space, model, pl, p, i))
		if fault.KindOf(err) == fault.NotFound {
			return nil, lost(op, p, ErrDamaged, fmt.Sprintf("piece %d is missing", i))
		}
		if errors.Is(err, kv.ErrDamaged) {
			return nil, lost(op, p, ErrDamaged, fmt.Sprintf("piece %d cannot be read", i))
		}
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		if n := h.sizes[i]; uint64(len(v)) != uint64(n.kv)+uint64(n.q) {
			return nil, lost(op, p, ErrDamaged, fmt.Sprintf("piece %d has %d bytes, not %d", i, len(v), uint64(n.kv)+uint64(n.q)))
		}
		pc := &s.Pieces[i]
		cut := int(h.sizes[i].kv)
		pc.KV = v[:cut:cut]
		if cut < len(v) {
			pc.Q = v[cut:]
		}
		if pc.Checksum() != pc.Sum {
			return nil, lost(op, p, ErrDamaged, fmt.Sprintf("piece %d does not match its checksum", i))
		}
	}
	return s, nil
}

func headerKey(space, model string, pl percached.Placement, p percached.Path) []byte {
	return appendKey('H', space, model, pl, p)
}

// pieceKey of index -1 is the prefix of all of a slice's pieces.
func pieceKey(space, model string, pl percached.Placement, p percached.Path, i int) []byte {
	k := appendKey('P', space, model, pl, p)
	if i < 0 {
		return k
	}
	return binary.BigEndian.AppendUint32(k, uint32(i))
}

func appendKey(kind byte, space, model string, pl percached.Placement, p percached.Path) []byte {
	s, m := sha256.Sum256([]byte(space)), sha256.Sum256([]byte(model))
	k := append(make([]byte, 0, 70), kind)
	k = append(k, s[:16]...)
	k = append(k, m[:16]...)
	return append(append(k, byte(pl)), p[:]...)
}
