package retrieval

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// FORMAT.md describes what is in the database.
const (
	prefix        = 'V'
	kindSpace     = 's'
	kindVector    = 'v'
	formatSpace   = 1
	formatVector  = 1
	vectorHead    = 1 + 8
	maxDimensions = 1 << 14
)

// spaceID is the part of a key that names a space.
type spaceID kv.SpaceID

func idOf(space string) spaceID { return spaceID(kv.NewSpaceID(space)) }

func (id spaceID) record() []byte { return append([]byte{prefix, kindSpace}, id[:]...) }

func (id spaceID) vectors() []byte { return append([]byte{prefix, kindVector}, id[:]...) }

func (id spaceID) generation(g uint32) []byte { return binary.BigEndian.AppendUint32(id.vectors(), g) }

func (id spaceID) vector(g uint32, c percached.ChunkID) []byte {
	return append(id.generation(g), c[:]...)
}

// record is what the database keeps of a space.
type record struct {
	// Seen is written before the index of words catches up with it. An index that is
	// ahead of it belongs to another database.
	Seen uint64 `json:"seen"`
	// Active vectors are searched. Reembed is making the Next ones.
	Active generation  `json:"active"`
	Next   *generation `json:"next,omitempty"`
}

// generation is a set of vectors that one embedder made.
type generation struct {
	Number     uint32 `json:"number"`
	Embedder   string `json:"embedder"` // fingerprint; empty: there never was one
	Dimensions int    `json:"dimensions"`
	Seq        uint64 `json:"seq"` // what it has caught up with
}

func (r record) encode() []byte {
	b, _ := json.Marshal(r) // plain numbers and texts
	return append([]byte{formatSpace}, b...)
}

func decodeRecord(b []byte) (record, error) {
	if len(b) == 0 || b[0] != formatSpace {
		return record{}, errors.New("unknown format")
	}
	var r record
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return record{}, err
	}
	for _, g := range []*generation{&r.Active, r.Next} {
		if g != nil && (g.Dimensions < 0 || g.Dimensions > maxDimensions) {
			return record{}, fmt.Errorf("%d dimensions are not between 0 and %d", g.Dimensions, maxDimensions)
		}
	}
	return r, nil
}

// encodeVector is a chunk's vector as it is stored.
func encodeVector(version uint64, row []uint16) []byte {
	b := make([]byte, vectorHead, vectorHead+2*len(row))
	b[0] = formatVector
	binary.BigEndian.PutUint64(b[1:], version)
	for _, x := range row {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

// decodeVector reads into row. It refuses a vector of another length.
func decodeVector(b []byte, row []uint16) (version uint64, ok bool) {
	if len(b) != vectorHead+2*len(row) || b[0] != formatVector {
		return 0, false
	}
	version = binary.BigEndian.Uint64(b[1:])
	for i := range row {
		row[i] = binary.LittleEndian.Uint16(b[vectorHead+2*i:])
	}
	return version, version > 0
}

// readRecord returns an empty record if there is no readable one; then everything is
// rebuilt.
func readRecord(db *kv.DB, id spaceID) (r record, err error) {
	err = db.View(func(tx *kv.Tx) error {
		b, err := tx.Get(id.record())
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		if err == nil {
			if r, err = decodeRecord(b); err != nil {
				r, err = record{}, nil
			}
		}
		return err
	})
	return r, err
}

// clearKeys removes the keys that begin with prefix, except those that keep accepts.
func clearKeys(db *kv.DB, prefix []byte, keep func(key []byte) bool) error {
	var keys [][]byte
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Keys(prefix, func(k []byte, _ int64) error {
			if keep == nil || !keep(k) {
				keys = append(keys, append([]byte{}, k...))
			}
			return nil
		})
	}); err != nil {
		return err
	}
	if len(keys) == 0 {
		return nil
	}
	b := db.Bulk()
	defer b.Cancel()
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return b.Flush()
}

// saveRecord writes a space's record.
func (x *Index) saveRecord(sp *space, rec record) error {
	if err := x.o.DB.Update(func(tx *kv.Tx) error { return tx.Set(sp.id.record(), rec.encode()) }); err != nil {
		return err
	}
	sp.mu.Lock()
	sp.rec = rec
	sp.mu.Unlock()
	return nil
}
