package answer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// On disk, each record of the history, the counter of a space and each cursor have a key
// and a value of their own. Space is the first 16 bytes of the SHA-256 of its name;
// numbers have 8 bytes, big-endian.
//
//	key: 'H' 'q' space number        value: format version (1), Record in JSON
//	key: 'H' 'n' space               value: format version (1), number that the next record gets, sum
//	key: 'H' 'c' space cursor's name value: format version (1), number of the first record behind the cursor, sum
//
// The sum is CRC-32C over the key and the bytes before the sum, 4 bytes, big-endian.
// Numbers only grow until the space is dropped, even if records are forgotten: the
// counter is written together with records and with cursors. If the counter cannot be
// read, the next number is the first above all records and cursors. A space of an
// earlier release has no counter before its next record. A cursor that cannot be read
// counts as before all records. The oldest records make room for new ones.
const (
	historyVersion = 1
	// historyBatch is how many records of cheap answers are gathered before they are
	// written. A crash loses fewer than that, and those that came during a write.
	historyBatch = 32
)

// Record is one question in the history.
type Record struct {
	Asked    time.Time           `json:"asked"`
	Question string              `json:"question"`
	Outcome  Outcome             `json:"outcome"`
	Chunks   []percached.ChunkID `json:"chunks"` // that the answer rests on
	Took     time.Duration       `json:"took_ns"`
	// Answer, Memory and Wrong are kept only if trajectories are. Memory says whether facts
	// about the user were needed; nil: the space had none. Wrong: a user said so.
	Answer string `json:"answer,omitempty"`
	Memory *bool  `json:"memory,omitempty"`
	Wrong  bool   `json:"wrong,omitempty"`
	// Number identifies a record that Since returned, for Has.
	Number uint64 `json:"-"`
}

// History keeps the latest questions of each space. It is safe for concurrent use.
//
// Add does not wait for the disk if the record may be written later, except when it
// completes a batch.
type History struct {
	db    *kv.DB
	limit int

	// write guards the records on disk and what is known of them. It is locked before
	// mu.
	write  sync.Mutex
	mu     sync.Mutex // guards spaces, and the pending records in them
	spaces map[string]*past
}

// past is what is known of a space's history without reading it.
type past struct {
	// Guarded by mu.
	pending  []Record
	gathered int // records since the latest write

	// Guarded by write.
	loaded bool
	keys   [][]byte // of the records on disk, oldest first
	next   uint64
}

// OpenHistory opens the history in db, with at most limit records a space.
func OpenHistory(db *kv.DB, limit int) (*History, error) {
	if limit < 0 {
		return nil, fault.New(fault.Invalid, "answer.OpenHistory", "the limit is %d; set 0 or more", limit)
	}
	return &History{db: db, limit: limit, spaces: map[string]*past{}}, nil
}

// Add adds a record. It is written at once if now is set, otherwise with the batch.
func (h *History) Add(space string, r Record, now bool) error {
	if full := h.gather(space, r); !full && !now {
		return nil
	}
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil && (now || h.gathered(p) >= historyBatch) { // else another caller wrote meanwhile
		err = h.save(space, p)
	}
	return fault.Wrap("answer.History.Add", err)
}

// Flush writes the records that Add left for later.
func (h *History) Flush() error {
	h.write.Lock()
	defer h.write.Unlock()
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.spaces))
	h.mu.Unlock()
	for _, space := range names {
		p, err := h.past(space)
		if err == nil {
			err = h.save(space, p)
		}
		if err != nil {
			return fault.Wrap("answer.History.Flush", err)
		}
	}
	return nil
}

// Trim removes the records beyond the limit, after the limit was lowered. Otherwise the
// next record does so.
func (h *History) Trim(space string) error {
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil {
		err = h.trim(p)
	}
	return fault.Wrap("answer.History.Trim", err)
}

// Recent returns the latest records of a space, at most n, oldest first. It skips records
// that cannot be read.
func (h *History) Recent(space string, n int) ([]Record, error) {
	found, _, err := h.Before(space, math.MaxUint64, n)
	return found, err
}

// Before is Recent for the records that are earlier than a bound. It also returns the bound
// for the records before these; 0 if there are none.
func (h *History) Before(space string, bound uint64, n int) (found []Record, next uint64, err error) {
	const op = "answer.History.Before"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return nil, 0, fault.Wrap(op, err)
	}
	upto, _ := slices.BinarySearchFunc(p.keys, bound, func(k []byte, n uint64) int { return cmp.Compare(number(k), n) })
	pending := h.pending(p)
	if bound <= p.next {
		pending = nil
	} else { // they get their numbers when they are written
		pending = pending[:min(uint64(len(pending)), bound-p.next)]
	}
	first := max(0, upto-max(0, n-len(pending)))
	switch hidden := len(pending) - n; {
	case hidden >= 0 && hidden+first > 0:
		pending, next = pending[hidden:], p.next+uint64(hidden)
	case first > 0:
		next = number(p.keys[first])
	}
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range p.keys[min(first, upto):upto] {
			r, whole, err := readRecord(tx, k)
			if err != nil {
				return err
			}
			if whole {
				found = append(found, r)
			}
		}
		return nil
	})
	return append(found, pending...), next, fault.Wrap(op, err)
}

// Cited returns the chunks that the records of a space rest on.
func (h *History) Cited(space string) ([]percached.ChunkID, error) {
	const op = "answer.History.Cited"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	var cited []percached.ChunkID
	for _, r := range h.pending(p) {
		cited = append(cited, r.Chunks...)
	}
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range p.keys {
			r, _, err := readRecord(tx, k) // Forget removes what cannot be read
			if err != nil {
				return err
			}
			cited = append(cited, r.Chunks...)
		}
		return nil
	})
	return cited, fault.Wrap(op, err)
}

// Forget removes the records that rest on one of these chunks.
func (h *History) Forget(space string, chunks []percached.ChunkID) (int, error) {
	const op = "answer.History.Forget"
	gone := map[percached.ChunkID]bool{}
	for _, c := range chunks {
		gone[c] = true
	}
	cites := func(r Record) bool {
		return slices.ContainsFunc(r.Chunks, func(c percached.ChunkID) bool { return gone[c] })
	}
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	h.mu.Lock()
	n := len(p.pending)
	p.pending = slices.DeleteFunc(p.pending, cites)
	n -= len(p.pending)
	h.mu.Unlock()
	var kept, dropped [][]byte
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range p.keys {
			r, whole, err := readRecord(tx, k)
			if err != nil {
				return err
			}
			if !whole || cites(r) { // what cannot be read might cite it
				dropped = append(dropped, k)
			} else {
				kept = append(kept, k)
			}
		}
		return nil
	})
	if err == nil {
		err = h.remove(dropped)
	}
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	p.keys = kept
	return n + len(dropped), nil
}

// Clear removes the records of a space, but not its counter and cursors. It returns how
// many records there were.
func (h *History) Clear(space string) (int, error) {
	const op = "answer.History.Clear"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil {
		err = h.remove(p.keys)
	}
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	n := len(p.keys) + len(h.take(p))
	p.keys = nil
	return n, nil
}

// LoadSpace makes the history read a space anew whose records were written into the database
// since Open, by an import.
func (h *History) LoadSpace(space string) error {
	h.write.Lock()
	defer h.write.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.spaces, space)
	return nil
}

// DropSpace removes the history of a space with its counter and cursors. It returns how
// many records there were.
func (h *History) DropSpace(space string) (int, error) {
	const op = "answer.History.DropSpace"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	keys := slices.Clone(p.keys)
	err = h.db.View(func(tx *kv.Tx) error {
		return tx.Keys(historyKey('c', space), func(k []byte, _ int64) error {
			keys = append(keys, slices.Clone(k))
			return nil
		})
	})
	if err == nil {
		err = h.remove(append(keys, historyKey('n', space)))
	}
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	n := len(p.keys) + len(h.take(p))
	p.keys, p.next = nil, 0
	return n, nil
}

func (h *History) remove(keys [][]byte) error {
	b := h.db.Bulk()
	defer b.Cancel()
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return b.Flush()
}

// of finds a space's past, or makes it.
func (h *History) of(space string) *past {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.spaces[space]
	if p == nil {
		p = &past{}
		h.spaces[space] = p
	}
	return p
}

// gather adds a record to the pending ones of a space, and says whether it completes a
// batch. If the disk is full, they may stay pending for long.
func (h *History) gather(space string, r Record) (full bool) {
	p := h.of(space)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.gathered++
	p.pending = h.latest(append(p.pending, r))
	return p.gathered%historyBatch == 0
}

func (h *History) gathered(p *past) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.gathered
}

// latest returns the latest records, as many as a space may have.
func (h *History) latest(rs []Record) []Record { return rs[max(0, len(rs)-h.limit):] }

// take removes and returns the pending records of a space.
func (h *History) take(p *past) []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	rs := p.pending
	p.pending, p.gathered = nil, 0
	return rs
}

// giveBack makes records pending again, before those that came meanwhile.
func (h *History) giveBack(p *past, rs []Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.pending = h.latest(append(rs, p.pending...))
}

// pending returns a copy of the pending records of a space.
func (h *History) pending(p *past) []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(p.pending)
}
