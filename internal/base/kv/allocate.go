package kv

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// badger creates a sparse file of full length, maps it, and writes through the map. On a full disk
// such a write kills the process. So every file of an open database gets its disk blocks before
// badger writes to it (allocate_linux.go). An allocation holds the state of one folder.
type allocation struct {
	logBytes, memBytes int64 // most bytes that badger writes to a value log, and to a memtable's log

	mu sync.Mutex
	// volatile: the newest memtable's log got no blocks and is in memory only. Writes are not
	// durable until the next memtable.
	volatile bool
	// unflushed: a memtable that was volatile may not be in a table yet.
	unflushed bool
	// stuck: the next value log got no blocks, and the last one is full. Large values are refused
	// until a small write starts the next log.
	stuck bool
	// waiting counts the tables that wait for blocks. A table must not fail: badger would delete the
	// tables that it was compacted from.
	waiting  int
	logsWait bool          // logs of memtables wait for blocks, too
	starved  chan struct{} // closed when a table waits for blocks or failed
}

// retryEvery is the interval at which blocks are requested again.
const retryEvery = 100 * time.Millisecond

func newAllocation(o Options) *allocation {
	return &allocation{
		// A file ends with the transaction that fills it. The largest transaction has Limit bytes of
		// large values, and 15 % of a memtable for the rest.
		logBytes: o.ValueLogFileSize + o.Limit() + 1<<20,
		memBytes: o.MemTableSize + o.MemTableSize/4 + 1<<20,
		starved:  make(chan struct{}),
	}
}

// state says whether writes are durable at present, and whether large values can be written.
func (a *allocation) state() (volatile, stuck bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.volatile, a.stuck
}

func (a *allocation) setVolatile(to bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.volatile = to
	a.unflushed = a.unflushed || to
}

// flushed notes that all memtables before the present one are in tables.
func (a *allocation) flushed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unflushed = a.volatile
}

// hasUnflushed says whether badger may see a write that a crash would undo.
func (a *allocation) hasUnflushed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unflushed
}

func (a *allocation) setStuck(to bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stuck = to
}

// waitForLogs sets whether logs of memtables wait for blocks.
func (a *allocation) waitForLogs(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logsWait = on
}

func (a *allocation) waitsForLogs() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.logsWait
}

// addWaiting changes the number of tables that wait for blocks.
func (a *allocation) addWaiting(n int) {
	a.mu.Lock()
	a.waiting += n
	a.mu.Unlock()
	if n > 0 {
		a.tableFailed()
	}
}

func (a *allocation) tableFailed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.starved:
	default:
		close(a.starved)
	}
}

// starvation returns a channel that is closed when a table waits or fails from now on.
func (a *allocation) starvation() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == 0 {
		a.starved = make(chan struct{})
	}
	return a.starved
}

// tablesWait says whether a table waits for blocks.
func (a *allocation) tablesWait() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting > 0
}

// flushLog forwards badger's messages. It recognises the message about a memtable that cannot
// be written to a table; badger retries that forever.
type flushLog struct {
	to    badger.Logger // nil: discard
	files *allocation
}

const flushFails = "error flushing memtable to disk"

func (l *flushLog) Errorf(f string, v ...any) {
	if strings.HasPrefix(f, flushFails) {
		l.files.tableFailed()
	}
	if l.to != nil {
		l.to.Errorf(f, v...)
	}
}

func (l *flushLog) Warningf(f string, v ...any) {
	if l.to != nil {
		l.to.Warningf(f, v...)
	}
}

func (l *flushLog) Infof(f string, v ...any) {
	if l.to != nil {
		l.to.Infof(f, v...)
	}
}

func (l *flushLog) Debugf(f string, v ...any) {
	if l.to != nil {
		l.to.Debugf(f, v...)
	}
}

// folders maps the real path of each opened folder to its allocation.
type folders struct {
	mu sync.Mutex
	by map[string]*allocation
}

func (f *folders) of(dir string) *allocation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by[dir]
}

func (f *folders) set(dir string, a *allocation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[dir] = a
}

// openBadger opens badger in a folder whose files get their blocks first.
func openBadger(dir string, o Options) (*badger.DB, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	// badger kills the process if it cannot create this file.
	if err := allocateCounts(filepath.Join(real, "DISCARD")); err != nil {
		return nil, noSpace(err, o)
	}
	files, opts := newAllocation(o), o.badger(dir)
	guarded().set(real, files)
	opts.Logger = &flushLog{to: opts.Logger, files: files}
	b, err := badger.Open(opts)
	return b, noSpace(err, o)
}

// noSpace turns badger's errors about a full disk into ENOSPC. badger keeps only the text, over
// several lines.
func noSpace(err error, o Options) error {
	if err == nil || errors.Is(err, syscall.ENOSPC) && fault.KindOf(err) != fault.Internal {
		return err
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.Contains(err.Error(), full.Error()) {
			return errFull("kv", o)
		}
	}
	return err
}

// unstickLog starts the next value log if the last attempt failed. The caller commits large
// values and holds bigWrites.
func (db *DB) unstickLog() error {
	if _, stuck := db.files.Load().state(); stuck {
		return db.startNextLog()
	}
	return nil
}

// commitDurably commits a transaction, and fails if the commit is not durable.
func (db *DB) commitDurably(t *badger.Txn) error {
	err := t.Commit()
	if volatile, stuck := db.files.Load().state(); volatile || stuck && err != nil {
		return errFull("kv.commit", db.o)
	}
	return noSpace(err, db.o)
}

// startNextLog makes a small write, at which badger starts the next value log.
func (db *DB) startNextLog() error {
	t := db.b.NewTransaction(true)
	defer t.Discard()
	return noSpace(errors.Join(t.Delete(marker), t.Set(commitMark, []byte{1}), t.Commit()), db.o)
}

// recoverVolatile makes volatile writes durable by starting the next memtable, if the disk has
// space.
func (db *DB) recoverVolatile() error {
	const op = "kv.commit"
	files := db.files.Load()
	if files.tablesWait() { // badger blocks a writer if too many memtables are full
		return errFull(op, db.o)
	}
	if volatile, _ := files.state(); !volatile {
		return nil
	}
	db.writes.Lock()
	defer db.writes.Unlock()
	if volatile, _ := files.state(); !volatile {
		return nil // another writer did it
	}
	return db.flushVolatile()
}

// flushVolatile writes the memtables to tables and starts the next one, which must be durable.
// The caller holds writes.
func (db *DB) flushVolatile() error {
	files := db.files.Load()
	if err := checkRoom(db.dir, db.o, files.memBytes+2*db.o.MemTableSize); err != nil {
		return err
	}
	t := db.b.NewTransaction(true)
	defer t.Discard()
	if err := errors.Join(t.Set(marker, []byte{1}), t.Set(commitMark, []byte{1}), t.Commit(), db.b.DropPrefix(marker)); err != nil {
		return err
	}
	files.flushed()
	if files.hasUnflushed() {
		return errFull("kv.commit", db.o)
	}
	return nil
}

// setCurrent makes b the database in use.
func (db *DB) setCurrent(b *badger.DB, rec *journal) {
	db.b, db.rec = b, rec
	db.files.Store(b.Opts().Logger.(*flushLog).files)
}

// WaitsForDisk says whether the disk is full and badger waits for space. Calls that write or
// reclaim space may then block until there is some.
func (db *DB) WaitsForDisk() bool { return db.files.Load().tablesWait() }

// closeOrGiveUp closes badger. If the disk is full it gives up: acknowledged writes are in the
// logs, and the next Open reads them.
func (db *DB) closeOrGiveUp() error {
	starving := db.files.Load().starvation()
	select {
	case db.space <- struct{}{}:
		defer func() { <-db.space }()
	case <-starving: // the holder may wait for disk space
		return errFull("kv.Close", db.o)
	}
	if db.b.IsClosed() { // an earlier call gave up
		return nil
	}
	closed := make(chan error, 1)
	b, rec := db.b, db.rec
	go func() { closed <- closeDB(b, rec) }()
	select {
	case err := <-closed:
		return err
	case <-starving:
		db.closing = closed
		return errFull("kv.Close", db.o)
	}
}

// errFull is the error of a write on a full disk. Writes go on once MinFree is free.
func errFull(op string, o Options) error {
	return fault.New(fault.Unavailable, op, "%w", &durable.Full{Needs: o.MinFree})
}
