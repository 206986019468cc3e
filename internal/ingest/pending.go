package ingest

import (
	"context"
	"encoding/json"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
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
			p, err := readPending(v)
			all = append(all, p)
			return err
		})
	})
	return all, err
}

func readPending(v []byte) (*pending, error) {
	p := &pending{}
	if len(v) == 0 || v[0] != pendingVersion || json.Unmarshal(v[1:], p) != nil {
		return nil, fault.New(fault.Internal, "ingest: notes", "a note of what is to be forgotten cannot be read")
	}
	return p, nil
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

// pardon notes that documents which come in stay, and their space with them: what
// is left of a Delete that failed would take them away.
func (l *Library) pardon(space string, coming []*knowledgebank.Source) error {
	names := []*pending{{Space: space}}
	for _, s := range coming {
		names = append(names, &pending{Space: space, Document: percached.NewDocumentID(s.Key)})
	}
	var spared []*pending
	if err := l.Meta.View(func(tx *kv.Tx) error {
		for _, name := range names {
			v, err := tx.Get(name.key())
			switch {
			case fault.KindOf(err) == fault.NotFound:
				continue
			case err != nil:
				return err
			}
			p, err := readPending(v)
			if err == nil && !p.Gone { // one that cannot be read stops CleanUp, too: then nothing goes
				spared = append(spared, p)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, p := range spared {
		p.Gone = true
		if err := l.note(p); err != nil {
			return err
		}
	}
	return nil
}

// Soil runs remove, which takes something out of meta. It is noted before that
// bytes of it will still be in the files: CleanUp is due. No CleanUp is under way
// meanwhile, which might have copied them already, and would strike that note out.
func (l *Library) Soil(ctx context.Context, remove func() error) error {
	const op = "ingest.Soil"
	done, err := l.turns.beside(ctx)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if err := l.strike(nil); err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, remove())
}

func halfKey() []byte { return []byte("Fc") }

// halfClean says that only meta is left to be cleaned.
func (l *Library) halfClean() (bool, error) { return l.has(halfKey()) }

func (l *Library) has(key []byte) (there bool, err error) {
	err = l.Meta.View(func(tx *kv.Tx) error {
		there, err = tx.Has(key)
		return err
	})
	return there, err
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
