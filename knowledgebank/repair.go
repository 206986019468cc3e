package knowledgebank

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Repaired is what happened to a space.
type Repaired struct {
	Whole   int                  // documents that are whole
	Lost    []percached.Document // damaged documents, which are deleted now; the title is empty if it is lost, too
	Changed bool                 // something was wrong
}

// Repair makes a space consistent after some of its records were lost: it deletes
// incomplete documents and chunks that no document holds. A space without its own
// record gets one if s names it.
func (b *Bank) Repair(s percached.Space) (Repaired, error) {
	const op = "knowledgebank.Repair"
	b.mu.Lock()
	id := newSpaceID(s.Name)
	sp := b.spaces[id]
	if sp == nil {
		sp = &space{id: id}
		b.spaces[id] = sp
	}
	b.mu.Unlock()
	sp.writing.Lock()
	defer sp.writing.Unlock()
	if err := b.finish(sp); err != nil && !damaged(err) && fault.KindOf(err) != fault.NotFound {
		return Repaired{}, fault.Wrap(op, err)
	}
	old := sp.record.Load()
	if old != nil && !old.Live {
		return Repaired{}, nil
	}
	r := &spaceRecord{Live: true, Space: s}
	if old != nil {
		*r = *old
	}
	var done Repaired
	var writes []write
	err := b.db.View(func(tx *kv.Tx) error {
		d := newDraft(id, tx, r)
		if err := d.rebuild(&done); err != nil {
			return err
		}
		secret, err := b.mendSecret(tx, id, &d.space)
		if err != nil {
			return err
		}
		done.Changed = done.Changed || old == nil || *old != d.space
		if !done.Changed {
			return nil
		}
		// Everybody who follows the space starts again.
		if err := raiseCount(tx, id, &d.space); err != nil {
			return err
		}
		writes = append(d.all(), secret...)
		return nil
	})
	if err == nil && done.Changed {
		err = b.commit(context.Background(), sp, writes)
	}
	return done, fault.Wrap(op, err)
}

// rebuild keeps the whole documents of a space and makes all other records agree with
// them.
func (d *draft) rebuild(done *Repaired) error {
	names, err := d.keys(documentType, 16)
	if err != nil {
		return err
	}
	holders := map[percached.ChunkID][]percached.DocumentID{}
	known := map[percached.DocumentID]bool{}
	pages := map[string]bool{}
	d.space.Documents, d.space.Chunks, d.space.Words = 0, 0, 0
	for _, name := range names {
		id := percached.DocumentID([]byte(name))
		known[id] = true
		doc, err := d.wholeDocument(id)
		if err != nil {
			return err
		}
		if doc == nil {
			done.Lost = append(done.Lost, d.titleOf(id))
			d.delete(d.id.document(id))
			continue
		}
		done.Whole++
		d.space.Documents++
		d.space.Words += int64(doc.Words)
		for n := 0; (n+1)*pageIDs < doc.Count; n++ {
			pages[string(d.id.page(id, n))] = true
		}
		for _, c := range doc.Chunks {
			if !slices.Contains(holders[c], id) {
				holders[c] = append(holders[c], id)
			}
		}
	}
	if err := d.repairHolders(holders, known); err != nil {
		return err
	}
	for id, here := range known {
		if !here { // chunks name it, and its record is lost
			done.Lost = append(done.Lost, percached.Document{ID: id})
		}
	}
	if err := d.dropOthers(pageType, 20, pages); err != nil {
		return err
	}
	done.Changed = len(d.writes) > 0
	return nil
}

// wholeDocument returns a document if all of its records can be read, else nil.
func (d *draft) wholeDocument(id percached.DocumentID) (*documentRecord, error) {
	lost := func(err error) bool { return damaged(err) || fault.KindOf(err) == fault.NotFound }
	doc, err := d.document(id)
	if err != nil {
		if lost(err) {
			err = nil
		}
		return nil, err
	}
	for _, c := range doc.Chunks {
		if _, err := d.chunk(c); lost(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// titleOf reads what it can of an incomplete document.
func (d *draft) titleOf(id percached.DocumentID) percached.Document {
	if payload, err := d.read(d.id.document(id)); err == nil {
		if r, err := decodeDocument(id, payload); err == nil {
			return r.Document
		}
	}
	return percached.Document{ID: id}
}

// repairHolders makes chunks name the documents that hold them, and lists them as existing. It
// enters unknown documents that chunks name as false.
func (d *draft) repairHolders(holders map[percached.ChunkID][]percached.DocumentID, known map[percached.DocumentID]bool) error {
	names, err := d.keys(chunkType, 16)
	if err != nil {
		return err
	}
	live := map[string]bool{}
	for _, name := range names {
		id := percached.ChunkID([]byte(name))
		c, err := d.chunk(id)
		if err != nil && !damaged(err) {
			return err
		}
		if c != nil {
			for _, h := range c.Documents {
				if _, ok := known[h]; !ok {
					known[h] = false
				}
			}
		}
		if len(holders[id]) == 0 { // a chunk of a whole document can be read
			d.delete(d.id.chunk(id))
			continue
		}
		d.space.Chunks++
		now := slices.DeleteFunc(slices.Clone(c.Documents), func(h percached.DocumentID) bool { return !slices.Contains(holders[id], h) })
		for _, h := range holders[id] {
			if !slices.Contains(now, h) {
				now = append(now, h)
			}
		}
		if !slices.Equal(now, c.Documents) {
			c.Documents = now
			d.setChunk(c)
		}
		key := d.id.change(liveType, c.Version, id)
		live[string(key)] = true
		if there, err := d.tx.Has(key); err != nil {
			return err
		} else if !there {
			d.set(key, nil)
		}
	}
	return d.dropOthers(liveType, 8+16, live)
}

// dropOthers removes the keys of a type that are not wanted.
func (d *draft) dropOthers(typ byte, n int, wanted map[string]bool) error {
	names, err := d.keys(typ, n)
	for _, name := range names {
		if key := d.id.key(typ, []byte(name)); !wanted[string(key)] {
			d.delete(key)
		}
	}
	return err
}

// Lost returns the number of documents in spaces without a record.
func (b *Bank) Lost() (documents int, err error) {
	spaces := map[spaceID]bool{}
	err = b.db.View(func(tx *kv.Tx) error {
		if err := tx.Keys([]byte{owner, spaceType}, func(key []byte, _ int64) error {
			if len(key) == 18 {
				spaces[spaceID(key[2:])] = true
			}
			return nil
		}); err != nil {
			return err
		}
		return tx.Keys([]byte{owner, documentType}, func(key []byte, _ int64) error {
			if len(key) == 34 && !spaces[spaceID(key[2:18])] {
				documents++
			}
			return nil
		})
	})
	return documents, fault.Wrap("knowledgebank.Lost", err)
}
