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
//	key: 'P', first 16 bytes of SHA-256 of model, prompt and kind, each with a zero byte behind it
//	value: format version (1), Record in JSON
//
// A record that cannot be read is as good as none: its questions are asked again.
const version = 1

// kept is how many records are kept. The oldest decisions make room.
const kept = 64

// Book keeps what was measured, and what was decided from it.
type Book struct {
	db      *kv.DB
	mu      sync.Mutex
	records map[Subject]Record
}

// Open reads what is known.
func Open(db *kv.DB) (*Book, error) {
	b := &Book{db: db, records: map[Subject]Record{}}
	err := db.View(func(tx *kv.Tx) error {
		return tx.Scan([]byte{'P'}, func(_, value []byte, damage error) error {
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
	return append([]byte{'P'}, sum[:16]...)
}

// Get is what is known of a subject: a pending record where nothing is. Its trials must
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

// All lists what is known, by kind of documents.
func (b *Book) All() []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.records), func(x, y Record) int { return strings.Compare(x.Kind, y.Kind) })
}

// Add notes a trial, where the next question is looked for, and whether the model's
// family was found to read well side by side.
func (b *Book) Add(s Subject, t Trial, cursor string, family bool, now time.Time) (Record, error) {
	return b.change("calibrate.Add", s, now, func(r *Record) bool {
		r.Trials, r.Cursor, r.Lacking, r.Family = append(r.Trials, t), cursor, 0, family
		return false
	})
}

// Skip notes that a question was of no use.
func (b *Book) Skip(s Subject, cursor string, now time.Time) (Record, error) {
	return b.change("calibrate.Skip", s, now, func(r *Record) bool {
		r.Cursor = cursor
		return false
	})
}

// End notes that there is no further question in so many chunks. What there is decides,
// if it is enough; else it is asked anew when there are more chunks.
func (b *Book) End(s Subject, chunks int, now time.Time) (Record, error) {
	return b.change("calibrate.End", s, now, func(r *Record) bool {
		r.Lacking = chunks
		return true
	})
}

// Restart forgets what was measured of a subject.
func (b *Book) Restart(s Subject) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.db.Update(func(tx *kv.Tx) error { return tx.Delete(key(s)) })
	if err == nil {
		delete(b.records, s)
	}
	return fault.Wrap("calibrate.Restart", err)
}

// change writes a subject's record, and then knows it.
func (b *Book) change(op string, s Subject, now time.Time, fn func(*Record) (noMore bool)) (Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.records[s]
	if !ok {
		r = Record{Subject: s}
	}
	r.Trials = slices.Clone(r.Trials)
	if r.Verdict = r.judge(fn(&r)); r.Verdict != Pending {
		r.Decided, r.Cursor = now.UTC(), ""
	}
	value, err := json.Marshal(r)
	if err != nil {
		return r, fault.Wrap(op, err)
	}
	over := b.surplus(s)
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

// surplus are the subjects that make room for one more.
func (b *Book) surplus(s Subject) (over []Subject) {
	if _, there := b.records[s]; there || len(b.records) < kept {
		return nil
	}
	oldest := slices.SortedFunc(maps.Values(b.records), func(x, y Record) int { return x.Decided.Compare(y.Decided) })
	for _, r := range oldest[:len(oldest)-kept+1] {
		over = append(over, r.Subject)
	}
	return over
}
