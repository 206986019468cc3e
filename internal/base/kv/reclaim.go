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

// Auxiliary keys, before and after all others.
var (
	// marker is written and dropped to make badger flush its memtable.
	marker = []byte("\xff\xffreclaim")
	// Both edges are deleted although they do not exist. The table with their tombstones overlaps all
	// others, so that badger merges them.
	lowEdge, highEdge = []byte("\x00"), []byte("\xff\xff\xff")
)

// SettleMode says how much is flushed before a file is searched for garbage. badger counts a
// value as garbage only after compaction has merged it with its tombstone, and if no
// transaction is older than the tombstone.
type SettleMode uint8

// The modes.
const (
	SettleNone   SettleMode = iota
	SettleRecent            // flush deletions since the last time
	SettleAll               // also deletions made while a transaction was open; rewrites all tables
)

// Size returns the allocated blocks of the database; badger creates its files longer than their
// content. It excludes space allocated in advance: the unfilled part of the newest value log,
// and the logs of memtables.
func (db *DB) Size() (int64, error) {
	if err := db.acquire(); err != nil { // otherwise Rewrite may be replacing the folder
		return 0, wrap("kv.Size", err)
	}
	defer db.gate.release()
	sum, err := sumFiles(db.dir, db.written)
	return sum, wrap("kv.Size", err)
}

// written returns what a file counts for Size.
func (db *DB) written(info fs.FileInfo) int64 {
	if strings.HasSuffix(info.Name(), ".vlog") && info.Size() == 2*db.o.ValueLogFileSize {
		return min(closedBytes(info), logOffset(db.b))
	}
	return closedBytes(info)
}

// SizeOf returns the size of a database that this process has not opened; 0 if there is none.
// It is that of Size, and more by the unfilled part of a value log if another process uses it.
func SizeOf(dir string) (int64, error) {
	sum, err := sumFiles(dir, closedBytes)
	return sum, wrap("kv.SizeOf", err)
}

func sumFiles(dir string, size func(fs.FileInfo) int64) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += size(info)
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed by compaction meanwhile
		}
		return err
	})
	return sum, err
}

// closedBytes returns what a file of a closed database counts for Size.
func closedBytes(info fs.FileInfo) int64 {
	if name := info.Name(); strings.HasSuffix(name, ".mem") || name == "DISCARD" {
		return 0
	}
	return AllocatedBytes(info)
}

// logOffset returns how far badger has filled the newest value log. badger does not export it;
// a test detects a renamed field.
func logOffset(b *badger.DB) int64 {
	f := reflect.ValueOf(b).Elem().FieldByName("vlog").FieldByName("writableLogOffset")
	return int64((*atomic.Uint32)(f.Addr().UnsafePointer()).Load())
}

// Overhead estimates the size of the files beyond the stored data and what Reclaim can free:
// the newest value-log file, the one before it, and memtables with their tables.
func (db *DB) Overhead() int64 {
	return 2*db.o.ValueLogFileSize + 4*db.o.MemTableSize + 1<<20
}

// Reclaim frees the space of deleted and overwritten values until nothing more can be freed.
// Files that a transaction reads are deleted when it ends. The newest value-log file is not
// reclaimed until the next file is started or the database is opened again.
func (db *DB) Reclaim(ctx context.Context) error {
	for settle := SettleAll; ; settle = SettleNone {
		_, more, err := db.ReclaimStep(ctx, 0.01, settle)
		if err != nil || !more {
			return fault.Wrap("kv.Reclaim", err)
		}
	}
}

// ReclaimStep rewrites the value-log file with the most garbage, if the garbage is at least
// share of it. It returns whether there was such a file, and about how many bytes were
// rewritten.
func (db *DB) ReclaimStep(ctx context.Context, share float64, settle SettleMode) (moved int64, more bool, err error) {
	const op = "kv.ReclaimStep"
	if err := ctx.Err(); err != nil {
		return 0, false, fault.Wrap(op, err)
	}
	select {
	case db.space <- struct{}{}:
		defer func() { <-db.space }()
	default: // waiting could deadlock a caller inside a transaction
		return 0, false, fault.New(fault.Conflict, op, "space is being reclaimed already")
	}
	if err := db.acquire(); err != nil {
		return 0, false, wrap(op, err)
	}
	defer db.gate.release()
	// The live values of a file are written again.
	if err := checkRoom(db.dir, db.o, db.o.ValueLogFileSize-db.o.MinFree/2); err != nil {
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

// collect rewrites one file without concurrent writers: badger looks for newer versions in its
// memtable without a lock.
//
// badger deletes the file after copying the values that it has no newer version of. So the
// copies and the newer versions must be durable.
func (db *DB) collect(share float64) error {
	db.writes.Lock()
	defer db.writes.Unlock()
	files := db.files.Load()
	if err := db.unstickLog(); err != nil {
		return err
	}
	files.waitForLogs(true)
	defer files.waitForLogs(false)
	if files.hasUnflushed() {
		if err := db.flushVolatile(); err != nil {
			return err
		}
	}
	err := db.b.RunValueLogGC(share)
	if _, stuck := files.state(); stuck && err != nil {
		return errFull("kv.collect", db.o)
	}
	return err
}

// logs returns the filled sizes of the value-log files.
func (db *DB) logs() map[string]int64 {
	sizes := map[string]int64{}
	found, _ := fs.Glob(os.DirFS(db.dir), "*.vlog")
	for _, name := range found {
		path := filepath.Join(db.dir, name)
		if info, err := os.Stat(path); err == nil {
			sizes[path] = db.written(info)
		}
	}
	return sizes
}

// settle flushes tombstones from memory and merges them with the tables they delete from. Only
// then does badger count the garbage in the value log. Dropping a prefix in use is the only way
// to flush a memtable.
func (db *DB) settle(how SettleMode) error {
	tx, err := db.begin(true)
	if err != nil {
		return err
	}
	tx.freesSpace = true
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

// checkRoom refuses to write n more bytes if the disk would be too full.
func checkRoom(dir string, o Options, n int64) error {
	if err := durable.Room(dir, n, o.MinFree); err != nil {
		return fault.New(fault.Unavailable, "kv.room", "%w", err)
	}
	return nil
}
