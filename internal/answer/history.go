package answer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// On disk, a record of the history, the counter of a space and each cursor are a
// key and a value of their own. Space is the first 16 bytes of SHA-256 of its
// name; numbers have 8 bytes, big-endian.
//
//	key: 'H' 'q' space number        value: format version (1), Record in JSON
//	key: 'H' 'n' space               value: format version (1), number that the next record gets, sum
//	key: 'H' 'c' space cursor's name value: format version (1), number of the first record behind the cursor, sum
//
// The sum is CRC-32C over the key and what stands before it, 4 bytes,
// big-endian. Numbers only grow, whatever is forgotten, until the space is
// dropped: the counter is written together with records and with cursors. If it
// cannot be read, the next number is the first above all records and cursors. A
// space of an earlier release has none before its next record; nobody has kept a
// number of it before that. A cursor that cannot be read stands before all
// records. The oldest records make room for new ones.
const (
	historyVersion = 1
	// historyBatch is how many records of answers that cost little are gathered
	// before they are written. A crash loses fewer, and those that came while
	// others were being written.
	historyBatch = 32
)

// Record is one question that was asked.
type Record struct {
	Asked    time.Time           `json:"asked"`
	Question string              `json:"question"`
	Outcome  Outcome             `json:"outcome"`
	Chunks   []percached.ChunkID `json:"chunks"` // that its answer rests on
	Took     time.Duration       `json:"took_ns"`
	// Number names a record that Since gives: see Has.
	Number uint64 `json:"-"`
}

// History remembers the questions of each space, the latest ones. It is safe
// for concurrent use.
//
// Who adds a record that may wait does not wait for the disk, unless it is his to
// write those that were gathered.
type History struct {
	db    *kv.DB
	limit int

	// write is held by whoever reads or changes what is on disk, or what is known
	// of that. It is taken before mu.
	write  sync.Mutex
	mu     sync.Mutex // guards spaces, and what is pending in them
	spaces map[string]*past
}

// past is what is known of a space's history without reading it.
type past struct {
	// Under mu.
	pending  []Record
	gathered int // since nothing was pending

	// Under write.
	loaded bool
	keys   [][]byte // of what is stored, oldest first
	next   uint64
}

// OpenHistory keeps so many records of a space in db.
func OpenHistory(db *kv.DB, limit int) (*History, error) {
	if limit < 0 {
		return nil, fault.New(fault.Invalid, "answer.OpenHistory", "the limit is %d, it cannot be negative", limit)
	}
	return &History{db: db, limit: limit, spaces: map[string]*past{}}, nil
}

// Add remembers a question. It is written at once if now is set, or else
// together with others, by who makes their number full.
func (h *History) Add(space string, r Record, now bool) error {
	if full := h.gather(space, r); !full && !now {
		return nil
	}
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil && (now || h.gathered(p) >= historyBatch) { // or somebody wrote meanwhile
		err = h.save(space, p)
	}
	return fault.Wrap("answer.History.Add", err)
}

// Flush writes what Add left for later.
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

// Trim removes what a space has beyond the limit, which was higher before. Else
// the next record does so.
func (h *History) Trim(space string) error {
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil {
		err = h.trim(p)
	}
	return fault.Wrap("answer.History.Trim", err)
}

// Recent gives the latest records of a space, at most n, oldest first. What cannot
// be read is passed over.
func (h *History) Recent(space string, n int) ([]Record, error) {
	const op = "answer.History.Recent"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	var found []Record
	pending := h.pending(p)
	stored := max(0, n-len(pending)) // of the records on disk
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range p.keys[max(0, len(p.keys)-stored):] {
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
	found = append(found, pending...)
	return found[max(0, len(found)-n):], fault.Wrap(op, err)
}

// Cited gives the chunks that the records of a space rest on.
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
			r, _, err := readRecord(tx, k) // Forget takes what cannot be read
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

// Clear removes the records of a space that stays: its counter and cursors stay
// too. It tells how many records there were.
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

// DropSpace removes all of a space's history, as the space goes. It tells how
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
