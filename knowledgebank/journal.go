package knowledgebank

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// journalRow is the size of a row of the journal: it stays out of the value log, as all
// our values do.
const journalRow = 16 << 10

// write is a key's new value; nil removes the key.
type write struct {
	key, value []byte
}

// commit writes all writes durably, or none. The caller holds the space for writing. If
// a transaction cannot hold the writes, commit writes a journal first, then a mark that
// it is complete, then the keys. After a crash behind the mark, the keys are written
// again. Until the mark, and no longer, ctx may end it.
func (b *Bank) commit(ctx context.Context, sp *space, writes []write) error {
	err := b.db.Update(func(tx *kv.Tx) error {
		for _, w := range writes {
			if err := apply(tx, w); err != nil {
				return err
			}
		}
		return nil
	})
	if fault.KindOf(err) == fault.Invalid { // more than a transaction holds
		err = b.commitLong(ctx, sp, writes)
	}
	if loadErr := b.load(sp); err == nil {
		err = loadErr
	}
	return err
}

type writer interface {
	Set(key, value []byte) error
	Delete(key []byte) error
}

func apply(to writer, w write) error {
	if w.value == nil {
		return to.Delete(w.key)
	}
	return to.Set(w.key, w.value)
}

func (b *Bank) commitLong(ctx context.Context, sp *space, writes []write) error {
	rows, err := b.writeJournal(ctx, sp, writes)
	sp.begin.Lock()
	defer sp.begin.Unlock()
	sp.staleRows = true
	if err == nil {
		sp.unfinished = true
		err = b.db.Update(func(tx *kv.Tx) error {
			key := sp.id.key(markType)
			return tx.Set(key, seal(key, binary.AppendUvarint(nil, uint64(rows))))
		})
	}
	if err != nil {
		return err // finish finds out whether the mark was written
	}
	return b.finishLocked(sp)
}

// writeJournal returns the number of rows.
func (b *Bank) writeJournal(ctx context.Context, sp *space, writes []write) (rows int, err error) {
	bulk := b.db.Bulk()
	defer bulk.Cancel()
	var payload []byte
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := sp.id.journal(rows)
		rows++
		err := bulk.Set(key, seal(key, payload))
		payload = nil
		return err
	}
	for _, w := range writes {
		if len(payload) > 0 && len(payload)+len(w.key)+len(w.value) > journalRow {
			if err := flush(); err != nil {
				return 0, err
			}
		}
		payload = appendWrite(payload, w)
	}
	if err := flush(); err != nil {
		return 0, err
	}
	return rows, bulk.Flush()
}

func appendWrite(b []byte, w write) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(w.key))), w.key...)
	if w.value == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(append(b, 1), uint64(len(w.value))), w.value...)
}

// decodeJournal returns the writes of a row of a space's journal.
func decodeJournal(id spaceID, payload []byte) ([]write, error) {
	r := reader{b: payload}
	var writes []write
	for len(r.b) > 0 {
		w := write{key: r.bytes()}
		if r.byte() == 1 {
			w.value = r.bytes()
		}
		if r.bad || len(w.key) < 18 || w.key[0] != owner || spaceID(w.key[2:18]) != id {
			return nil, ErrDamaged
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// finish finishes an interrupted journal. The caller holds the space for writing.
func (b *Bank) finish(sp *space) error {
	sp.begin.Lock()
	defer sp.begin.Unlock()
	if !sp.unfinished && !sp.staleRows {
		return nil
	}
	if err := b.finishLocked(sp); err != nil {
		return err
	}
	return b.load(sp)
}

func (b *Bank) finishLocked(sp *space) error {
	const op = "knowledgebank.finish"
	mark := sp.id.key(markType)
	whole, rows := false, uint64(0)
	err := b.db.View(func(tx *kv.Tx) error {
		payload, err := read(tx, mark)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		r := reader{b: payload}
		whole, rows = true, r.uvarint()
		if err == nil && r.bad {
			err = ErrDamaged
		}
		return err
	})
	if err == nil && whole {
		if err = b.replay(sp, int(rows)); err == nil {
			err = b.db.Update(func(tx *kv.Tx) error { return tx.Delete(mark) })
		}
	}
	if err != nil {
		return fault.New(fault.KindOf(err), op, "cannot finish an interrupted change: %w", err)
	}
	// The change is written; the next writer removes the rest of the journal.
	sp.unfinished, sp.staleRows = false, b.remove(sp.id.key(journalType)) != nil
	return nil
}

// replay writes the journal's keys. It may run more than once.
func (b *Bank) replay(sp *space, rows int) error {
	bulk := b.db.Bulk()
	defer bulk.Cancel()
	for n := range rows {
		var payload []byte
		err := b.db.View(func(tx *kv.Tx) (err error) {
			payload, err = read(tx, sp.id.journal(n))
			return err
		})
		if fault.KindOf(err) == fault.NotFound {
			err = ErrDamaged
		}
		if err != nil {
			return err
		}
		writes, err := decodeJournal(sp.id, payload)
		if err != nil {
			return err
		}
		for _, w := range writes {
			if err := apply(bulk, w); err != nil {
				return err
			}
		}
	}
	return bulk.Flush()
}

// remove deletes all keys with a prefix, in as many transactions as it takes.
func (b *Bank) remove(prefix []byte) error {
	bulk := b.db.Bulk()
	defer bulk.Cancel()
	err := b.db.View(func(tx *kv.Tx) error {
		return tx.Keys(prefix, func(key []byte, _ int64) error { return bulk.Delete(slices.Clone(key)) })
	})
	if err != nil {
		return err
	}
	return bulk.Flush()
}
