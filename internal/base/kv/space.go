package kv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Keys that only settle writes, before and behind all others.
var (
	// marker makes badger empty its memtable.
	marker = []byte("\xff\xffreclaim")
	// Both edges are deleted, though they never were: the table with their
	// tombstones spans all others, so that they are merged with it.
	lowEdge, highEdge = []byte("\x00"), []byte("\xff\xff\xff")
)

// Settle says how much is done to find garbage before a file is looked for. A
// value is known to be garbage once its tombstone has met it in a table, and
// no transaction is older than the tombstone.
type Settle uint8

// The ways.
const (
	SettleNone   Settle = iota
	SettleRecent        // what was deleted since the last time
	SettleAll           // what was deleted while a transaction was open, too: all tables are written anew
)

// Size is what the database takes on disk, in blocks that are really allocated:
// badger creates its files longer than they are filled. What is allocated in
// advance is left out: of the newest value log what is not filled yet, and the
// logs of memtables.
func (db *DB) Size() (int64, error) {
	if err := db.enter(); err != nil { // or the folder may be away, while a rewritten one takes its place
		return 0, wrap("kv.Size", err)
	}
	defer db.gate.leave()
	var sum int64
	err := filepath.WalkDir(db.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += db.written(info)
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // compacted away meanwhile
		}
		return err
	})
	return sum, wrap("kv.Size", err)
}

// written is what a file counts for Size.
func (db *DB) written(info fs.FileInfo) int64 {
	switch name := info.Name(); {
	case strings.HasSuffix(name, ".vlog") && info.Size() == 2*db.o.ValueLogFileSize:
		return min(allocated(info), logOffset(db.b))
	case strings.HasSuffix(name, ".mem"), name == "DISCARD":
		return 0
	}
	return allocated(info)
}

// logOffset is how far badger has filled the newest value log. It does not say
// so itself; a test sees when the field has another name.
func logOffset(b *badger.DB) int64 {
	f := reflect.ValueOf(b).Elem().FieldByName("vlog").FieldByName("writableLogOffset")
	return int64((*atomic.Uint32)(f.Addr().UnsafePointer()).Load())
}

// Overhead is about what the files take besides what is stored and what Reclaim
// can give back: the newest value-log file, the one before it, and memtables
// with their tables.
func (db *DB) Overhead() int64 {
	return 2*db.o.ValueLogFileSize + 4*db.o.MemTableSize + 1<<20
}

// Reclaim gives the disk back what deleted and overwritten values took, until
// nothing more comes. Files that a transaction reads go when it ends. The
// newest value-log file keeps what it holds: it comes back after the next
// file was begun or the database was opened again.
func (db *DB) Reclaim(ctx context.Context) error {
	for settle := SettleAll; ; settle = SettleNone {
		_, more, err := db.ReclaimStep(ctx, 0.01, settle)
		if err != nil || !more {
			return fault.Wrap("kv.Reclaim", err)
		}
	}
}

// ReclaimStep rewrites the one value-log file with most garbage, if that is at
// least a share of it, and says whether there was one and about how many bytes
// had to be written anew.
func (db *DB) ReclaimStep(ctx context.Context, share float64, settle Settle) (moved int64, more bool, err error) {
	const op = "kv.ReclaimStep"
	if err := ctx.Err(); err != nil {
		return 0, false, fault.Wrap(op, err)
	}
	select {
	case db.space <- struct{}{}:
		defer func() { <-db.space }()
	default: // to wait inside a transaction would be to wait for oneself
		return 0, false, fault.New(fault.Conflict, op, "space is being reclaimed already")
	}
	if err := db.enter(); err != nil {
		return 0, false, wrap(op, err)
	}
	defer db.gate.leave()
	// What is alive in a file is written once more.
	if err := room(db.dir, db.o, db.o.ValueLogFileSize-db.o.MinFree/2); err != nil {
		return 0, false, fault.Wrap(op, err)
	}
	if settle != SettleNone {
		if err := db.settle(settle); err != nil {
			return 0, false, wrap(op, err)
		}
	}
	before := db.logs()
	switch err := db.collect(share); {
	case errors.Is(err, badger.ErrNoRewrite):
		return 0, false, nil
	case err != nil:
		return 0, false, wrap(op, err)
	}
	after := db.logs()
	for name, size := range after {
		moved += size - before[name]
	}
	return moved, true, nil
}

// collect rewrites one file while nobody writes: badger looks at the newest
// version in its memtable without a lock, to know which deletions came after.
func (db *DB) collect(share float64) error {
	db.writes.Lock()
	defer db.writes.Unlock()
	files := db.files.Load()
	if err := db.beginLog(); err != nil {
		return err
	}
	files.waitForLogs(true) // the file goes once its values are written elsewhere: that must be durable
	defer files.waitForLogs(false)
	err := db.b.RunValueLogGC(share)
	if _, stuck := files.state(); stuck && err != nil {
		return errFull("kv.collect")
	}
	return err
}

// logs gives the filled sizes of the value-log files.
func (db *DB) logs() map[string]int64 {
	sizes := map[string]int64{}
	found, _ := filepath.Glob(filepath.Join(db.dir, "*.vlog"))
	for _, path := range found {
		if info, err := os.Stat(path); err == nil {
			sizes[path] = db.written(info)
		}
	}
	return sizes
}

// settle brings the tombstones out of memory down to the tables that they
// meet: only then does badger count what they free in the value log. The one
// way to have a memtable emptied is to drop a prefix that is in use.
func (db *DB) settle(how Settle) error {
	tx, err := db.begin(true)
	if err != nil {
		return err
	}
	tx.frees = true
	if how == SettleAll {
		err = errors.Join(tx.Delete(lowEdge), tx.Delete(highEdge))
	}
	err = errors.Join(err, tx.Set(marker, []byte{1}), tx.commit())
	tx.end()
	if err != nil {
		return err
	}
	db.writes.Lock()
	defer db.writes.Unlock()
	if err := db.b.DropPrefix(marker); err != nil {
		return err
	}
	return db.b.Flatten(1)
}

// room refuses to write n bytes more when the disk would be too full.
func room(dir string, o Options, n int64) error {
	if err := durable.Room(dir, n, o.MinFree); err != nil {
		return fault.New(fault.Unavailable, "kv.room", "%w", err)
	}
	return nil
}
