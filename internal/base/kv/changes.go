package kv

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// maxChanges limits the memory of Changes: bytes of keys, with their overhead.
const maxChanges = 32 << 20

// changeOverhead is about what a map takes for a key beside its bytes.
const changeOverhead = 64

// Changes are the keys that were written between two snapshots. A key that was deleted is one of
// them. Unlike badger's versions and tombstones, they survive Rewrite and compaction.
type Changes struct {
	keys map[string]struct{}
	size int
}

// Len is the number of keys.
func (c *Changes) Len() int { return len(c.keys) }

// changeLog collects Changes while somebody takes them.
type changeLog struct {
	mu  sync.Mutex
	now *Changes // nil: any key may have changed
}

func (l *changeLog) add(keys [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return
	}
	for _, k := range keys {
		if isAuxiliary(k) {
			continue
		}
		if _, ok := l.now.keys[string(k)]; !ok {
			l.now.keys[string(k)] = struct{}{}
			l.now.size += len(k) + changeOverhead
		}
	}
	if l.now.size > maxChanges {
		l.now = nil
	}
}

// isAuxiliary says whether a key belongs to this package.
func isAuxiliary(k []byte) bool {
	return bytes.Equal(k, commitMark) || bytes.Equal(k, marker) || bytes.Equal(k, lowEdge) || bytes.Equal(k, highEdge)
}

// TakeChanges returns a snapshot, and the keys written since the snapshot of the previous call.
// They are nil at the first call, and if there were too many: then any key may have changed. From
// the first call on the database collects keys in memory.
func (db *DB) TakeChanges() (*Snapshot, *Changes, error) {
	tx, err := db.begin(false)
	if err != nil {
		return nil, nil, wrap("kv.TakeChanges", err)
	}
	db.writes.Lock() // no commit is between the snapshot and the keys
	tx.t.Discard()
	tx.t = db.b.NewTransaction(false)
	db.changes.mu.Lock()
	taken := db.changes.now
	db.changes.now = &Changes{keys: map[string]struct{}{}}
	db.changes.mu.Unlock()
	db.writes.Unlock()
	db.gate.pin()
	return &Snapshot{tx}, taken, nil
}

// ReturnChanges has the next TakeChanges return these keys, too. Nil: any key.
func (db *DB) ReturnChanges(c *Changes) {
	db.changes.mu.Lock()
	defer db.changes.mu.Unlock()
	if c == nil || db.changes.now == nil || c.size+db.changes.now.size > maxChanges {
		db.changes.now = nil
		return
	}
	for k := range c.keys {
		if _, ok := db.changes.now.keys[k]; !ok {
			db.changes.now.keys[k] = struct{}{}
			db.changes.now.size += len(k) + changeOverhead
		}
	}
}

// EachChange calls fn with all keys of c, in order, and their values. A deleted key has no value.
func (s *Snapshot) EachChange(c *Changes, fn func(key, value []byte, deleted bool) error) error {
	for _, k := range slices.Sorted(maps.Keys(c.keys)) {
		v, err := s.tx.Get([]byte(k))
		deleted := fault.KindOf(err) == fault.NotFound
		if err != nil && !deleted {
			return err
		}
		if err := fn([]byte(k), v, deleted); err != nil {
			return err
		}
	}
	return nil
}
