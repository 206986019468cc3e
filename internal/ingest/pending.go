package ingest

import (
	"encoding/json"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/kv"
)

// On disk, a note of what is being forgotten is a key and a value:
//
//	key: 'F' 'p', first 16 bytes of SHA-256 of the space's name, document (16 bytes; zeros: the whole space)
//	value: format version (1), pending in JSON
//
// It holds names and hashes, no text. When all but meta is clean, CleanUp puts one
// key in the place of all notes, and removes it last:
//
//	key: 'F' 'c'
//	value: format version (1)
const pendingVersion = 1

// pending is a document, or a whole space, that is being forgotten.
type pending struct {
	Space    string               `json:"space"`
	Whole    bool                 `json:"whole,omitempty"` // the space itself goes
	Document percached.DocumentID `json:"document"`
	Chunks   []percached.ChunkID  `json:"chunks"` // that may go with it
	// Gone says that the knowledge bank has let go of it, or could not: what goes
	// by this name now stays.
	Gone bool `json:"gone,omitempty"`
}

func (p *pending) key() []byte {
	id := kv.NewSpaceID(p.Space)
	return append(append([]byte("Fp"), id[:]...), p.Document[:]...)
}

// note writes down what is to be forgotten.
func (l *Library) note(p *pending) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fault.New(fault.Internal, "ingest: note", "%w", err)
	}
	return l.Meta.Update(func(tx *kv.Tx) error {
		return tx.Set(p.key(), append([]byte{pendingVersion}, b...))
	})
}

// noted reads all notes.
func (l *Library) noted() ([]*pending, error) {
	var all []*pending
	err := l.Meta.View(func(tx *kv.Tx) error {
		return tx.Each([]byte("Fp"), func(_, v []byte) error {
			p := &pending{}
			if len(v) == 0 || v[0] != pendingVersion || json.Unmarshal(v[1:], p) != nil {
				return fault.New(fault.Internal, "ingest: notes", "a note of what is to be forgotten cannot be read")
			}
			all = append(all, p)
			return nil
		})
	})
	return all, err
}

// strike removes notes, and notes that only meta is left to be cleaned.
func (l *Library) strike(ps []*pending) error {
	return l.Meta.Update(func(tx *kv.Tx) error {
		for _, p := range ps {
			if err := tx.Delete(p.key()); err != nil {
				return err
			}
		}
		return tx.Set(halfKey(), []byte{pendingVersion})
	})
}

// Soil notes that bytes of what was taken out of meta, by whomever, are still in
// its files: CleanUp is due.
func (l *Library) Soil() error { return fault.Wrap("ingest.Soil", l.strike(nil)) }

func halfKey() []byte { return []byte("Fc") }

// halfClean says that only meta is left to be cleaned.
func (l *Library) halfClean() (half bool, err error) {
	err = l.Meta.View(func(tx *kv.Tx) error {
		half, err = tx.Has(halfKey())
		return err
	})
	return half, err
}

// Untidy says that bytes of what was forgotten are still on the disk: CleanUp is
// due.
func (l *Library) Untidy() (bool, error) {
	notes, err := l.noted()
	if err != nil || len(notes) > 0 {
		return err == nil, fault.Wrap("ingest.Untidy", err)
	}
	half, err := l.halfClean()
	return half, fault.Wrap("ingest.Untidy", err)
}

// clean notes that nothing is left to be cleaned.
func (l *Library) clean() error {
	return l.Meta.Update(func(tx *kv.Tx) error { return tx.Delete(halfKey()) })
}
