package kv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/fault"
)

// marker is the key that Reclaim writes to make badger empty its memtable.
var marker = []byte("\xff\xffreclaim")

// Size is what the database takes on disk, in blocks that are really
// allocated: badger creates its files longer than they are filled.
func (db *DB) Size() (int64, error) {
	var sum int64
	err := filepath.WalkDir(db.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += allocated(info)
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // compacted away meanwhile
		}
		return err
	})
	return sum, wrap("kv.Size", err)
}

// Reclaim gives the disk back what deleted and overwritten values took, until
// nothing more comes. Files that a transaction reads go when it ends. The
// newest value-log file keeps what it holds: it comes back after the next
// file was begun or the database was opened again.
func (db *DB) Reclaim(ctx context.Context) error {
	const op = "kv.Reclaim"
	if err := db.settle(); err != nil {
		return wrap(op, err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(op, err)
		}
		switch err := db.b.RunValueLogGC(0.01); {
		case errors.Is(err, badger.ErrNoRewrite):
			return nil
		case errors.Is(err, badger.ErrRejected):
			return fault.New(fault.Conflict, op, "space is being reclaimed already: %w", err)
		case err != nil:
			return wrap(op, err)
		}
	}
}

// settle brings the tombstones out of memory down to the tables that they
// meet: only then does badger count what they free in the value log. The one
// way to have a memtable emptied is to drop a prefix that is in use.
func (db *DB) settle() error {
	err := db.Update(func(tx *Tx) error { return tx.Set(marker, []byte{1}) })
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
	free, ok := freeBytes(dir)
	if ok && free-n < o.MinFree {
		return fault.New(fault.Unavailable, "kv.room", "the disk is full: %d MiB free, %d MiB to be kept", free>>20, o.MinFree>>20)
	}
	return nil
}
