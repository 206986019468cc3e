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

// pending is a document or a space that is being forgotten.
type pending struct {
	Space    string               `json:"space"`
	Whole    bool                 `json:"whole,omitempty"` // the whole space
	Document percached.DocumentID `json:"document"`
	Chunks   []percached.ChunkID  `json:"chunks"` // that may be deleted with it
	// Gone means that the knowledge bank has deleted it, or failed to: whatever has this
	// name now stays.
	Gone bool `json:"gone,omitempty"`
}

func (p *pending) key() []byte {
	id := kv.NewSpaceID(p.Space)
	return append(append([]byte("Fp"), id[:]...), p.Document[:]...)
}

// note writes a note, and what also writes, in one transaction.
func (l *Library) note(p *pending, also ...func(*kv.Tx) error) error {
	l.setUnclean(p.Space)
	b, err := json.Marshal(p)
	if err != nil {
		return fault.New(fault.Internal, "ingest: note", "%w", err)
	}
	return l.Meta.Update(func(tx *kv.Tx) error {
		for _, write := range also {
			if err := write(tx); err != nil {
				return err
			}
		}
		return tx.Set(p.key(), append([]byte{pendingVersion}, b...))
	})
}

// notes reads all notes.
func (l *Library) notes() ([]*pending, error) {
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
		return nil, fault.New(fault.Internal, "ingest: notes", "a note of what is to be forgotten is unreadable")
	}
	return p, nil
}

// deleteNotes deletes notes and records that only meta must still be cleaned.
func (l *Library) deleteNotes(ps []*pending) error {
	const together = 1000 // fit into one transaction
	for {
		some := ps[:min(together, len(ps))]
		ps = ps[len(some):]
		err := l.Meta.Update(func(tx *kv.Tx) error {
			for _, p := range some {
				if err := tx.Delete(p.key()); err != nil {
					return err
				}
			}
			return tx.Set(cleanMarkKey(), []byte{pendingVersion})
		})
		if err != nil || len(ps) == 0 {
			return err
		}
	}
}

// keepIncoming records that incoming documents and their space stay. Otherwise completing
// a failed Delete would delete them.
func (l *Library) keepIncoming(space string, coming []*knowledgebank.Source) error {
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
			if err == nil && !p.Gone { // an unreadable note also stops CleanUp, so nothing is deleted then
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

// RemoveFromMeta runs remove, which deletes something of a space from meta. It first records that
// CleanUp is due, because the deleted bytes will still be in the files. It excludes
// CleanUp meanwhile, which might have copied those bytes already and would delete the
// record.
func (l *Library) RemoveFromMeta(ctx context.Context, space string, remove func() error) error {
	const op = "ingest.RemoveFromMeta"
	done, err := l.turns.shared(ctx)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	l.setUnclean(space)
	if err := l.deleteNotes(nil); err != nil {
		return fault.Wrap(op, err)
	}
	defer l.signalDeletion()
	return fault.Wrap(op, remove())
}

func cleanMarkKey() []byte { return []byte("Fc") }

// onlyMetaDirty reports whether only meta must still be cleaned.
func (l *Library) onlyMetaDirty() (bool, error) { return l.has(cleanMarkKey()) }

func (l *Library) has(key []byte) (there bool, err error) {
	err = l.Meta.View(func(tx *kv.Tx) error {
		there, err = tx.Has(key)
		return err
	})
	return there, err
}

// Unclean counts the deletions in a space whose bytes are still on disk; an empty name counts
// for all spaces. The last step cleans up after all deletions together, and counts as one in
// each space that had any. After a crash it is not known which had, so it counts in all.
func (l *Library) Unclean(space string) (n int, err error) {
	const op = "ingest.Unclean"
	notes, err := l.notes()
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	for _, p := range notes {
		if space == "" || p.Space == space {
			n++
		}
	}
	if half, err := l.onlyMetaDirty(); err != nil || !half || !l.isUnclean(space) {
		return n, fault.Wrap(op, err)
	}
	return max(n, 1), nil
}

// NeedsCleanUp reports whether bytes of forgotten documents are still on disk.
func (l *Library) NeedsCleanUp() (bool, error) {
	notes, err := l.notes()
	if err != nil || len(notes) > 0 {
		return err == nil, fault.Wrap("ingest.NeedsCleanUp", err)
	}
	half, err := l.onlyMetaDirty()
	return half, fault.Wrap("ingest.NeedsCleanUp", err)
}

// deleteCleanMark records that nothing must be cleaned. Nothing may change at the same time.
func (l *Library) deleteCleanMark() error {
	err := l.Meta.Update(func(tx *kv.Tx) error { return tx.Delete(cleanMarkKey()) })
	if err == nil {
		l.setClean()
	}
	return err
}

// isUnclean reports whether something of a space was deleted since the last CleanUp.
func (l *Library) isUnclean(space string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return space == "" || l.uncleanAll || l.unclean[space]
}

func (l *Library) setUnclean(space string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unclean[space] = true
}

func (l *Library) setClean() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncleanAll = false
	clear(l.unclean)
}
