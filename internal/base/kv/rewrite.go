package kv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// Rewrite copies the live data into a fresh database and replaces this one. After it, no file
// of the folder or beside it contains a key or value that was deleted or overwritten before the
// call.
//
// Reads and writes continue during the copy; new writes are copied too. Rewrite then waits for
// a moment without a transaction or filled Bulk, or for the end of ctx. From that moment it
// blocks others, while it copies the last changes and reopens the database. So it must not be
// called inside a transaction. The DB stays valid.
//
// While a Snapshot is open, Rewrite returns a Conflict: a snapshot may last for hours, and
// others must not wait for it.
//
// If Rewrite fails, the old database stays in use. After a crash, the next Open finds one of
// the two, complete. Between the renames badger's lock on the folder is not held; use a lock of
// your own to exclude other processes. If the disk has no space for both databases, the error
// is Unavailable. Damaged values of a Disposable database are dropped; of others they are an
// error.
//
// progress, if not nil, receives the copied bytes and the estimated total.
func (db *DB) Rewrite(ctx context.Context, progress func(done, total int64)) error {
	const op = "kv.Rewrite"
	select {
	case db.space <- struct{}{}:
		defer func() { <-db.space }()
	case <-ctx.Done():
		return fault.Wrap(op, ctx.Err())
	}
	if db.b.IsClosed() { // db.b changes under db.space only
		return wrap(op, badger.ErrDBClosed)
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	c := copier{db: db, progress: progress}
	err := c.run(ctx)
	c.discard()
	return wrap(op, err)
}

// copier fills a new database beside the one that it copies.
type copier struct {
	db       *DB
	next     *DB
	progress func(done, total int64)
}

func (c *copier) run(ctx context.Context) error {
	if err := c.db.gate.checkUnpinned(); err != nil {
		return err
	}
	if err := c.openCopy(); err != nil {
		return err
	}
	defer c.db.trackWrites(false)
	if err := c.copyAll(ctx); err != nil {
		return err
	}
	// Most of the writing and syncing happens before others must wait.
	if err := errors.Join(c.copyChanges(), c.next.Sync(), syncTree(c.next.dir)); err != nil {
		return err
	}
	if err := c.db.gate.close(ctx); err != nil {
		return err
	}
	defer c.db.gate.open()
	if err := errors.Join(c.copyChanges(), c.next.Close(), syncTree(c.next.dir)); err != nil {
		return err
	}
	if err := c.db.replace(); err != nil {
		return err
	}
	return errors.Join(finishSwap(c.db.dir), c.db.RemoveAside())
}

func (c *copier) openCopy() error {
	dir := c.db.dir + nextSuffix
	if left := c.db.unclosedCopy; left != nil { // it still uses NAME.new
		select {
		case <-left.closing:
			c.db.unclosedCopy = nil
		default:
			return errFull("kv.begin", c.db.o)
		}
	}
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(c.db.dir+lastSuffix)); err != nil {
		return fault.New(fault.Unavailable, "kv.begin", "%w", err)
	}
	o := c.db.o
	o.Sync, o.Observer = false, Observer{}
	o.MinFree /= 2 // it frees space
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, "kv.begin", "%w", err)
	}
	b, rec, err := open(dir, o)
	if err != nil {
		return fault.New(fault.Unavailable, "kv.begin", "%w", err)
	}
	c.next = newDB(dir, o, b, rec)
	return nil
}

// discard removes the copy, unless it has replaced the database.
func (c *copier) discard() {
	if c.next != nil {
		c.next.Close()
		if c.next.closing != nil {
			c.db.unclosedCopy = c.next
			return
		}
	}
	os.RemoveAll(c.db.dir + nextSuffix)
}

// copyAll copies the current data and starts tracking writes.
func (c *copier) copyAll(ctx context.Context) error {
	tx := c.db.trackWrites(true)
	defer tx.end()
	var done, total int64
	if err := tx.Keys(nil, func(k []byte, size int64) error {
		total += int64(len(k)) + size
		return ctx.Err()
	}); err != nil {
		return err
	}
	if err := checkRoom(c.db.dir, c.next.o, total); err != nil {
		return err
	}
	bulk := c.next.Bulk()
	defer bulk.Cancel()
	if err := tx.each(nil, func(item *badger.Item) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := inPlace(item)
		v, err = check("kv.Rewrite", item, v, err)
		switch {
		case errors.Is(err, ErrDamaged) && c.db.o.Disposable:
			return nil
		case err != nil:
			return err
		case len(v) < largeValue: // not in a permanent map
			v = append([]byte(nil), v...)
		}
		done += int64(len(item.Key()) + len(v))
		if done < total {
			c.progress(done, total)
		}
		return bulk.Set(item.KeyCopy(nil), v)
	}); err != nil {
		return err
	}
	// Flush before the iterator closes and unmaps the values.
	if err := bulk.Flush(); err != nil {
		return err
	}
	c.progress(total, total) // total was an estimate
	return nil
}

// copyChanges copies the keys written since the last call.
func (c *copier) copyChanges() error {
	tx, keys := c.db.takeTracked()
	defer tx.end()
	bulk := c.next.Bulk()
	defer bulk.Cancel()
	for k := range keys {
		v, err := tx.Get([]byte(k))
		switch {
		case fault.KindOf(err) == fault.NotFound, errors.Is(err, ErrDamaged) && c.db.o.Disposable:
			err = bulk.Delete([]byte(k))
		case err == nil:
			err = bulk.Set([]byte(k), v)
		}
		if err != nil {
			return err
		}
	}
	return bulk.Flush()
}

// trackWrites starts or stops tracking written keys. If it starts, it returns a view of the
// data before.
func (db *DB) trackWrites(on bool) *Tx {
	db.writes.Lock()
	defer db.writes.Unlock()
	db.tracked = nil
	if !on {
		return nil
	}
	db.tracked = map[string]struct{}{}
	return &Tx{db: db, t: db.b.NewTransaction(false)}
}

// takeTracked returns the tracked keys and a view of the current data, and starts a new set.
func (db *DB) takeTracked() (*Tx, map[string]struct{}) {
	db.writes.Lock()
	defer db.writes.Unlock()
	keys := db.tracked
	db.tracked = map[string]struct{}{}
	return &Tx{db: db, t: db.b.NewTransaction(false)}, keys
}

// replace puts the copy in place and opens it. The caller has closed the gate. If that fails,
// replace reopens the old database.
func (db *DB) replace() error {
	if err := checkRoom(db.dir, db.o, -db.o.MinFree/2); err != nil { // otherwise closing or reopening the old one could fail
		return err
	}
	err := closeDB(db.b, db.rec)
	if err == nil {
		err = swap(db.dir)
	}
	if err == nil {
		if b, rec, failed := db.reopen(); failed == nil {
			db.setCurrent(b, rec)
			return nil
		} else {
			err = failed
		}
		err = errors.Join(err, os.Rename(db.dir, db.dir+nextSuffix))
	}
	if !pathExists(db.dir) {
		err = errors.Join(err, os.Rename(db.dir+lastSuffix, db.dir))
	}
	b, rec, failed := db.reopen()
	if failed == nil {
		db.setCurrent(b, rec)
	}
	return fault.New(fault.Unavailable, "kv.replace", "%w", errors.Join(err, failed))
}

// reopen opens the database again. It waits for disk space, because without a database nothing
// could be read until the process ends.
func (db *DB) reopen() (*badger.DB, *journal, error) {
	for waits := false; ; time.Sleep(retryEvery) {
		b, rec, err := open(db.dir, db.o)
		if !errors.Is(err, syscall.ENOSPC) {
			return b, rec, err
		}
		if files := db.files.Load(); !waits {
			waits = true
			files.addWaiting(1)
			defer files.addWaiting(-1)
		}
	}
}

// Folders beside the database.
const (
	nextSuffix  = ".new"   // a new database; complete once the old one is renamed
	lastSuffix  = ".old"   // the previous database
	asideSuffix = ".aside" // a database that could not be opened
)

// swap replaces dir by dir.new in steps. After each step either dir is complete, or dir.old and
// dir.new both are. Neither may be open.
func swap(dir string) error {
	for _, step := range swapSteps(dir) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func swapSteps(dir string) []func() error {
	parent := filepath.Dir(filepath.Clean(dir))
	return []func() error{
		func() error { return os.Rename(dir, dir+lastSuffix) },
		func() error { return syncFile(parent) },
		func() error { return os.Rename(dir+nextSuffix, dir) },
		func() error { return syncFile(parent) },
	}
}

// finishSwap completes or undoes a swap after a crash, and removes what is left. An unfinished
// rewrite has no dir.old.
func finishSwap(dir string) error {
	_, err := os.Stat(dir)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case pathExists(dir+lastSuffix) && pathExists(dir+nextSuffix):
		err = os.Rename(dir+nextSuffix, dir)
	case pathExists(dir + lastSuffix):
		err = os.Rename(dir+lastSuffix, dir)
	default:
		err = nil
	}
	if err != nil {
		return err
	}
	if !pathExists(dir+lastSuffix) && !pathExists(dir+nextSuffix) {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	return errors.Join(syncFile(parent), os.RemoveAll(dir+lastSuffix), os.RemoveAll(dir+nextSuffix), syncFile(parent))
}

// Exists says whether Open would find a database at dir, including one that an interrupted
// rewrite left.
func Exists(dir string) bool {
	dir = realDir(dir)
	files, _ := os.ReadDir(dir)
	return len(files) > 0 || pathExists(dir+lastSuffix)
}

// realDir follows a link, also one to a folder that an interrupted rewrite has renamed.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	to, err := os.Readlink(dir)
	if err != nil {
		return dir
	}
	if !filepath.IsAbs(to) {
		parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
		if err != nil {
			return dir
		}
		to = filepath.Join(parent, to)
	}
	if to = filepath.Clean(to); !pathExists(to + lastSuffix) {
		return dir // it leads nowhere for another reason, such as a disk that is not mounted
	}
	return to
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncTree makes all files of a folder durable. An open database may remove some of them
// meanwhile.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveAside removes a database that was set aside, if there is one.
func (db *DB) RemoveAside() error {
	if err := os.RemoveAll(db.dir + asideSuffix); err != nil {
		return fault.New(fault.Unavailable, "kv.RemoveAside", "%w", err)
	}
	return nil
}
