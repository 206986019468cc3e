package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// ErrDamaged says that a value cannot be read as it was written.
var ErrDamaged = errors.New("stored bytes are damaged")

// DB is an open database. It is safe for concurrent use, but for Close.
//
// Locks, in the order in which they are taken: space, gate, writes, noting or bulky.
type DB struct {
	dir string
	o   Options
	// b changes while the gate is shut, by who holds space. All others read it
	// inside the gate.
	b     *badger.DB
	rec   *journal                   // of b; nil where data may be lost
	files atomic.Pointer[allocation] // of b
	gate  gate
	// space is held by who reclaims or rewrites, and by Close.
	space chan struct{}
	// writes is held shared by those who write, and alone by Reclaim while
	// badger refuses writes, and while it collects a file.
	writes sync.RWMutex
	noting sync.Mutex
	dirty  map[string]struct{} // keys written since, while Rewrite copies; else nil
	bulky  sync.Mutex          // held by who commits large values
	// Guarded by space:
	closing <-chan error // not nil after Close gave up; receives when badger is closed
	left    *DB          // a copy that Rewrite could not close
}

func newDB(dir string, o Options, b *badger.DB, rec *journal) *DB {
	db := &DB{dir: dir, o: o, space: make(chan struct{}, 1)}
	db.use(b, rec)
	return db
}

// Open opens the database in dir and makes the folder if there is none.
func Open(dir string, o Options) (*DB, error) {
	const op = "kv.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // what is renamed and removed is the folder, not a link to it
	}
	if locked(dir) {
		return nil, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if err := settleSwap(dir); err != nil {
		return nil, fault.New(fault.Unavailable, op, "a rewrite that was cut short cannot be ended: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if err := room(dir, o, -o.MinFree/2); err != nil {
		return nil, fault.Wrap(op, err)
	}
	b, rec, err := open(dir, o)
	if err == nil {
		return newDB(dir, o, b, rec), nil
	}
	if locked(dir) {
		return nil, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if _, ok := errors.AsType[*Damage](err); ok {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if !o.Disposable || errors.Is(err, syscall.ENOSPC) {
		return nil, fault.New(fault.Unavailable, op, "%s cannot be opened: %w", dir, err)
	}
	aside := dir + asideSuffix
	if err := errors.Join(os.RemoveAll(aside), os.Rename(dir, aside)); err != nil {
		return nil, fault.New(fault.Unavailable, op, "set aside: %w", err)
	}
	if o.Observer.SetAside != nil {
		o.Observer.SetAside(dir, aside, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if b, rec, err = open(dir, o); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%s cannot be started empty: %w", dir, err)
	}
	return newDB(dir, o, b, rec), nil
}

// open verifies a database and opens it. It makes an error of what badger panics
// about in broken files.
func open(dir string, o Options) (b *badger.DB, rec *journal, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger: %v", p)
		}
		if err != nil && rec != nil {
			err = errors.Join(err, rec.end(false))
		}
	}()
	if o.Disposable {
		err = inspectTables(dir, o)
	} else {
		var commit uint64
		var known []fileRecord
		if commit, known, err = verify(dir, o); err == nil {
			// From here on the files change.
			rec, err = startJournal(dir, commit, known)
		}
	}
	if err == nil {
		err = mend(dir, o)
	}
	if err == nil {
		b, err = openBadger(dir, o)
	}
	return b, rec, err
}

// shut closes what open has opened.
func shut(b *badger.DB, rec *journal) error {
	err := b.Close()
	if rec != nil {
		err = errors.Join(err, rec.end(err == nil))
	}
	return err
}

// Close writes what is in memory and releases the folder. Transactions and
// batches must have ended; a Rewrite or Reclaim is waited for. If the disk is
// full, Close gives up: the folder stays locked until the process ends, or until
// there is room; nothing that was acknowledged is lost.
func (db *DB) Close() error {
	return wrap("kv.Close", db.shut())
}

// enter goes through the gate, for as long as badger is used.
func (db *DB) enter() error {
	db.gate.enter()
	if db.b.IsClosed() {
		db.gate.leave()
		return badger.ErrDBClosed
	}
	return nil
}

// Sync makes everything written so far durable.
func (db *DB) Sync() error {
	const op = "kv.Sync"
	if err := db.enter(); err != nil {
		return wrap(op, err)
	}
	defer db.gate.leave()
	return wrap(op, db.b.Sync())
}

// View runs fn over an unchanging view of the database.
func (db *DB) View(fn func(*Tx) error) error {
	tx, err := db.begin(false)
	if err != nil {
		return wrap("kv.View", err)
	}
	defer tx.end()
	return fn(tx)
}

// Update runs fn and commits what it wrote, all or nothing. A Conflict means
// that a key which fn read was written meanwhile: run it again.
func (db *DB) Update(fn func(*Tx) error) error {
	const op = "kv.Update"
	tx, err := db.begin(true)
	if err != nil {
		return wrap(op, err)
	}
	defer tx.end()
	if err := fn(tx); err != nil {
		return err
	}
	return wrap(op, tx.commit())
}

// wrap gives badger's errors their kind.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	err = noSpace(err)
	kind := fault.KindOf(err)
	switch {
	case kind != fault.Internal:
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
