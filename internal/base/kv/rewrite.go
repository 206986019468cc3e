package kv

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// Rewrite copies what is alive into a fresh database and puts that in place of
// this one: no file of the folder, nor any beside it, then holds a byte of a
// key or value that was deleted or overwritten before Rewrite was called.
//
// Reads and writes go on while it copies; what is written meanwhile is copied
// too. It then waits for a moment without any transaction or filled Bulk, or
// for the end of ctx, and only from that moment on do others wait: for the
// copying of the last few changes and for the reopening. So Rewrite must not
// be called inside a transaction. The DB stays valid for all who hold it.
//
// While a Snapshot is open it is a Conflict: that may last for hours, and nobody is to
// wait for it.
//
// When it fails, the old database is still there and in use. A crash at any
// point leaves one of the two, whole, to the next Open. Between the renames
// nobody holds badger's lock on the folder: who must keep other processes out
// at every moment needs a lock of their own above it. A disk too full for both
// databases is Unavailable. Of a Disposable database damaged values are left
// out; else they are an error.
//
// Progress, if not nil, is told the bytes that were copied and about how many
// there are.
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
	c.drop()
	return wrap(op, err)
}

// copier fills the database beside the one it copies.
type copier struct {
	db       *DB
	next     *DB
	progress func(done, total int64)
}

func (c *copier) run(ctx context.Context) error {
	if err := c.db.gate.free(); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	defer c.db.note(false)
	if err := c.all(ctx); err != nil {
		return err
	}
	// Most of the writing and syncing is done before anybody has to wait.
	if err := errors.Join(c.changed(), c.next.Sync(), syncTree(c.next.dir)); err != nil {
		return err
	}
	if err := c.db.gate.close(ctx); err != nil {
		return err
	}
	defer c.db.gate.open()
	if err := errors.Join(c.changed(), c.next.Close(), syncTree(c.next.dir)); err != nil {
		return err
	}
	if err := c.db.replace(); err != nil {
		return err
	}
	return errors.Join(settleSwap(c.db.dir), c.db.RemoveAside())
}

func (c *copier) begin() error {
	dir := c.db.dir + nextSuffix
	if left := c.db.left; left != nil { // it still uses the folder
		select {
		case <-left.closing:
			c.db.left = nil
		default:
			return errFull("kv.begin")
		}
	}
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(c.db.dir+lastSuffix)); err != nil {
		return fault.New(fault.Unavailable, "kv.begin", "%w", err)
	}
	o := c.db.o
	o.Sync, o.Observer = false, Observer{}
	o.MinFree /= 2 // it makes room
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

// drop removes what was copied, unless it is in place by now.
func (c *copier) drop() {
	if c.next != nil {
		c.next.Close()
		if c.next.closing != nil {
			c.db.left = c.next
			return
		}
	}
	os.RemoveAll(c.db.dir + nextSuffix)
}

// all copies what is alive now, and has changes noted from now on.
func (c *copier) all(ctx context.Context) error {
	tx := c.db.note(true)
	defer tx.end()
	var done, total int64
	if err := tx.Keys(nil, func(k []byte, size int64) error {
		total += int64(len(k)) + size
		return ctx.Err()
	}); err != nil {
		return err
	}
	if err := room(c.db.dir, c.next.o, total); err != nil {
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
		case len(v) < inLog: // not in a map that stays
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
	// Before the iterator closes, while its values are in place.
	if err := bulk.Flush(); err != nil {
		return err
	}
	c.progress(total, total) // which was an estimate
	return nil
}

// changed copies what was written since it was last asked.
func (c *copier) changed() error {
	tx, keys := c.db.noted()
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

// note begins or ends the noting of keys that are written, and gives a view of
// what was there before.
func (db *DB) note(on bool) *Tx {
	db.writes.Lock()
	defer db.writes.Unlock()
	db.dirty = nil
	if !on {
		return nil
	}
	db.dirty = map[string]struct{}{}
	return &Tx{db: db, t: db.b.NewTransaction(false)}
}

// noted gives the keys that were noted, and a view of all that is.
func (db *DB) noted() (*Tx, map[string]struct{}) {
	db.writes.Lock()
	defer db.writes.Unlock()
	keys := db.dirty
	db.dirty = map[string]struct{}{}
	return &Tx{db: db, t: db.b.NewTransaction(false)}, keys
}

// replace puts the copy in place and opens it; nobody is inside the gate. If
// that fails the old database is opened again.
func (db *DB) replace() error {
	if err := room(db.dir, db.o, -db.o.MinFree/2); err != nil { // or the old one could not be closed, nor opened again
		return err
	}
	err := shut(db.b, db.rec)
	if err == nil {
		err = swap(db.dir)
	}
	if err == nil {
		if b, rec, failed := db.reopen(); failed == nil {
			db.use(b, rec)
			return nil
		} else {
			err = failed
		}
		err = errors.Join(err, os.Rename(db.dir, db.dir+nextSuffix))
	}
	if !exists(db.dir) {
		err = errors.Join(err, os.Rename(db.dir+lastSuffix, db.dir))
	}
	b, rec, failed := db.reopen()
	if failed == nil {
		db.use(b, rec)
	}
	return fault.New(fault.Unavailable, "kv.replace", "%w", errors.Join(err, failed))
}

// reopen opens what was closed. It waits for room: without, nothing could be
// read until the process ends.
func (db *DB) reopen() (*badger.DB, *journal, error) {
	for waits := false; ; time.Sleep(again) {
		b, rec, err := open(db.dir, db.o)
		if !errors.Is(err, syscall.ENOSPC) {
			return b, rec, err
		}
		if files := db.files.Load(); !waits {
			waits = true
			files.wait(1)
			defer files.wait(-1)
		}
	}
}
