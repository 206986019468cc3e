package calibrate

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// On disk, a record is a key and a value.
//
//	key: 'C', first 16 bytes of SHA-256 of model, prompt and kind, each with a zero byte behind it
//	value: format version (1), Record in JSON
//
// A record that cannot be read is as good as none: its questions are asked again.
const version = 1

// ownByte begins the keys of all records. The predictor's begin with P, and it deletes what it
// cannot read there.
const ownByte = 'C'

// maxRecords is how many records are kept; the oldest decisions are deleted first.
const maxRecords = 64

// Book stores measurements and the decisions based on them.
type Book struct {
	db      *kv.DB
	mu      sync.Mutex
	records map[Subject]Record
}

// Open reads all records.
func Open(db *kv.DB) (*Book, error) {
	b := &Book{db: db, records: map[Subject]Record{}}
	err := db.View(func(tx *kv.Tx) error {
		return tx.Scan([]byte{ownByte}, func(_, value []byte, damage error) error {
			var r Record
			if damage == nil && len(value) > 0 && value[0] == version && json.Unmarshal(value[1:], &r) == nil {
				b.records[r.Subject] = r
			}
			return nil
		})
	})
	return b, fault.Wrap("calibrate.Open", err)
}

func key(s Subject) []byte {
	sum := sha256.Sum256([]byte(s.Model + "\x00" + s.Prompt + "\x00" + s.Kind + "\x00"))
	return append([]byte{ownByte}, sum[:16]...)
}

// Get returns the record of a subject, a pending one if there is none. Its trials must
// not be changed.
func (b *Book) Get(s Subject) Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.records[s]
	if !ok {
		return Record{Subject: s, Verdict: Pending}
	}
	return r
}

// All lists all records by kind of documents.
func (b *Book) All() []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.records), func(x, y Record) int { return strings.Compare(x.Kind, y.Kind) })
}

// Add records a trial, where the search for the next question continues, and whether the
// model's family was measured to read well in parallel.
func (b *Book) Add(s Subject, t Trial, cursor string, family bool, now time.Time) (Record, error) {
	return b.update("calibrate.Add", s, now, func(r *Record) bool {
		r.Trials, r.Cursor, r.Lacking, r.Family = append(r.Trials, t), cursor, 0, family
		return false
	})
}

// Skip records that a question was useless.
func (b *Book) Skip(s Subject, cursor string, now time.Time) (Record, error) {
	return b.update("calibrate.Skip", s, now, func(r *Record) bool {
		r.Cursor = cursor
		return false
	})
}

// End records that this many chunks contain no further question. The existing trials
// decide, if they suffice; otherwise the measurement continues when there are more
// chunks.
func (b *Book) End(s Subject, chunks int, now time.Time) (Record, error) {
	return b.update("calibrate.End", s, now, func(r *Record) bool {
		r.Lacking = chunks
		return true
	})
}

// Restart deletes the measurements of a subject.
func (b *Book) Restart(s Subject) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.db.Update(func(tx *kv.Tx) error { return tx.Delete(key(s)) })
	if err == nil {
		delete(b.records, s)
	}
	return fault.Wrap("calibrate.Restart", err)
}

// update changes a subject's record and judges the placements.
func (b *Book) update(op string, s Subject, now time.Time, fn func(*Record) (noMore bool)) (Record, error) {
	return b.change(op, s, func(r *Record) {
		r.Trials = slices.Clone(r.Trials)
		if r.Verdict = r.judge(fn(r)); r.Verdict != Pending {
			r.Decided, r.Cursor = now.UTC(), ""
		}
	})
}

// change writes a subject's record and then changes it in memory.
func (b *Book) change(op string, s Subject, fn func(*Record)) (Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.records[s]
	if !ok {
		r = Record{Subject: s}
	}
	fn(&r)
	value, err := json.Marshal(r)
	if err != nil {
		return r, fault.Wrap(op, err)
	}
	over := b.recordsToDrop(s)
	err = b.db.Update(func(tx *kv.Tx) error {
		for _, o := range over {
			if err := tx.Delete(key(o)); err != nil {
				return err
			}
		}
		return tx.Set(key(s), append([]byte{version}, value...))
	})
	if err != nil {
		return r, fault.Wrap(op, err)
	}
	for _, o := range over {
		delete(b.records, o)
	}
	b.records[s] = r
	return r, nil
}

// recordsToDrop lists the subjects to delete for one more record.
func (b *Book) recordsToDrop(s Subject) (over []Subject) {
	if _, there := b.records[s]; there || len(b.records) < maxRecords {
		return nil
	}
	oldest := slices.SortedFunc(maps.Values(b.records), func(x, y Record) int { return x.Decided.Compare(y.Decided) })
	for _, r := range oldest[:len(oldest)-maxRecords+1] {
		over = append(over, r.Subject)
	}
	return over
}
