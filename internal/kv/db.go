package kv

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/fault"
)

// ErrDamaged says that a value cannot be read as it was written.
var ErrDamaged = errors.New("stored bytes are damaged")

// DB is an open database. It is safe for concurrent use, but for Close.
type DB struct {
	dir string
	o   Options
	b   *badger.DB
	// writes is held shared by those who write, and alone by Reclaim while
	// badger refuses writes.
	writes sync.RWMutex
}

// Open opens the database in dir and makes the folder if there is none.
func Open(dir string, o Options) (*DB, error) {
	const op = "kv.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	if _, err := os.Stat(dir); err != nil {
		if o.ReadOnly {
			return nil, fault.New(fault.NotFound, op, "%w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	if err := room(dir, o, 0); err != nil && !o.ReadOnly {
		return nil, fault.Wrap(op, err)
	}
	b, err := open(dir, o)
	if err == nil {
		return &DB{dir: dir, o: o, b: b}, nil
	}
	if locked(dir) {
		return nil, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if !o.Disposable {
		return nil, fault.New(fault.Unavailable, op, "%s cannot be opened: %w", dir, err)
	}
	aside := dir + ".aside"
	if err := errors.Join(os.RemoveAll(aside), os.Rename(dir, aside)); err != nil {
		return nil, fault.New(fault.Unavailable, op, "set aside: %w", err)
	}
	if o.Observer.SetAside != nil {
		o.Observer.SetAside(dir, aside, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if b, err = open(dir, o); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%s cannot be started empty: %w", dir, err)
	}
	return &DB{dir: dir, o: o, b: b}, nil
}

// open makes an error of what badger panics about in broken files.
func open(dir string, o Options) (b *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = nil, fmt.Errorf("badger: %v", p)
		}
	}()
	return badger.Open(o.badger(dir))
}

// Close writes what is in memory and lets go of the folder. Transactions and
// batches must have ended.
func (db *DB) Close() error {
	return wrap("kv.Close", db.b.Close())
}

// Sync makes everything written so far durable.
func (db *DB) Sync() error {
	return wrap("kv.Sync", db.b.Sync())
}

// View runs fn over an unchanging view of the database.
func (db *DB) View(fn func(*Tx) error) error {
	if db.b.IsClosed() {
		return wrap("kv.View", badger.ErrDBClosed)
	}
	tx := &Tx{db: db, t: db.b.NewTransaction(false)}
	defer tx.end()
	return fn(tx)
}

// Update runs fn and commits what it wrote, all or nothing. A Conflict means
// that a key which fn read was written meanwhile: run it again.
func (db *DB) Update(fn func(*Tx) error) error {
	const op = "kv.Update"
	if db.b.IsClosed() {
		return wrap(op, badger.ErrDBClosed)
	}
	tx := db.begin()
	defer tx.end()
	if err := fn(tx); err != nil {
		return err
	}
	return wrap(op, tx.commit())
}

// wrap gives badger's errors their kind.
func wrap(op string, err error) error {
	kind := fault.Internal
	var have *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &have):
		return fault.Wrap(op, err)
	case errors.Is(err, badger.ErrKeyNotFound):
		kind = fault.NotFound
	case errors.Is(err, badger.ErrConflict):
		kind = fault.Conflict
	case errors.Is(err, badger.ErrTxnTooBig), errors.Is(err, badger.ErrEmptyKey), errors.Is(err, badger.ErrReadOnlyTxn):
		kind = fault.Invalid
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		kind = fault.Unavailable
	}
	return fault.New(kind, op, "%w", err)
}
