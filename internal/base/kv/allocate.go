package kv

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// badger creates a file at its full length without any block of the disk, maps
// it, and writes through the map. On a full disk such a write ends the process.
// So every file of an open database gets its blocks before badger writes to it:
// see allocate_linux.go. An allocation records how that went in one folder.
type allocation struct {
	logBytes, memBytes int64 // that badger writes at most to a value log, and to a memtable's log

	mu sync.Mutex
	// volatile: the log of the newest memtable got no blocks and is in memory
	// only. Nothing that is written is durable until the next memtable.
	volatile bool
	// stuck: the next value log got no blocks, and the last one is cut to its
	// length. Large values are refused until a small write has begun the next.
	stuck bool
	// waiting counts the tables that wait for blocks: badger does not see when
	// a table of a compaction fails, and deletes those that it was made of.
	waiting  int
	logsWait bool          // so do logs of memtables, for the time being
	starved  chan struct{} // closed when a table waits or failed
}

// again is how often who waits for blocks asks for them.
const again = 100 * time.Millisecond

func newAllocation(o Options) *allocation {
	return &allocation{
		// A file ends with the transaction that fills it. The largest one has
		// Limit bytes of large values, and 15 % of a memtable in all else.
		logBytes: o.ValueLogFileSize + o.Limit() + 1<<20,
		memBytes: o.MemTableSize + o.MemTableSize/4 + 1<<20,
		starved:  make(chan struct{}),
	}
}

// state says whether what is written now is durable, and whether large values
// can be written.
func (a *allocation) state() (volatile, stuck bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.volatile, a.stuck
}

func (a *allocation) setVolatile(to bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.volatile = to
}

func (a *allocation) setStuck(to bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stuck = to
}

// waitForLogs has logs of memtables wait for blocks, or not.
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

// wait notes that one more table waits for blocks, or one less.
func (a *allocation) wait(n int) {
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

// starving is closed as soon as a table waits or fails from now on.
func (a *allocation) starving() <-chan struct{} {
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

// flushLog passes badger's messages on, and sees the one that badger has for a
// memtable that it cannot write to a table: it tries again for ever.
type flushLog struct {
	to    badger.Logger // nil: nobody
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

// folders has the allocation of every folder that was opened, by its real path.
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

// openBadger opens badger in a folder where every file gets its blocks first.
func openBadger(dir string, o Options) (*badger.DB, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	// badger ends the process if it cannot create this one.
	if err := allocateCounts(filepath.Join(real, "DISCARD")); err != nil {
		return nil, err
	}
	files, opts := newAllocation(o), o.badger(dir)
	guarded().set(real, files)
	opts.Logger = &flushLog{to: opts.Logger, files: files}
	b, err := badger.Open(opts)
	return b, noSpace(err)
}

// noSpace makes badger's errors of a full disk one that callers recognise: badger
// keeps the text alone, over several lines.
func noSpace(err error) error {
	if err == nil || errors.Is(err, syscall.ENOSPC) && fault.KindOf(err) != fault.Internal {
		return err
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.Contains(err.Error(), full.Error()) {
			return errFull("kv")
		}
	}
	return err
}

// beginLog begins the next value log if the last one could not be followed. The
// caller, who commits large values, holds bulky.
func (db *DB) beginLog() error {
	if _, stuck := db.files.Load().state(); stuck {
		return db.touch()
	}
	return nil
}

// durably commits a transaction, if it can be made durable.
func (db *DB) durably(t *badger.Txn) error {
	err := t.Commit()
	if volatile, stuck := db.files.Load().state(); volatile || stuck && err != nil {
		return errFull("kv.commit")
	}
	return err
}

// touch writes something small, at which badger begins the next value log.
func (db *DB) touch() error {
	t := db.b.NewTransaction(true)
	defer t.Discard()
	return noSpace(errors.Join(t.Delete(marker), t.Set(commitMark, []byte{1}), t.Commit()))
}

// recoverVolatile makes durable what is in memory only, by beginning the next
// memtable, if there is room for that.
func (db *DB) recoverVolatile() error {
	const op = "kv.commit"
	files := db.files.Load()
	if files.tablesWait() { // badger would block the writer who fills one memtable too many
		return errFull(op)
	}
	if volatile, _ := files.state(); !volatile {
		return nil
	}
	db.writes.Lock()
	defer db.writes.Unlock()
	if volatile, _ := files.state(); !volatile {
		return nil // another writer did it
	}
	if err := room(db.dir, db.o, files.memBytes+2*db.o.MemTableSize); err != nil {
		return err
	}
	t := db.b.NewTransaction(true)
	defer t.Discard()
	if err := errors.Join(t.Set(marker, []byte{1}), t.Set(commitMark, []byte{1}), t.Commit(), db.b.DropPrefix(marker)); err != nil {
		return err
	}
	if volatile, _ := files.state(); volatile {
		return errFull(op)
	}
	return nil
}

// use makes b the database in use.
func (db *DB) use(b *badger.DB, rec *journal) {
	db.b, db.rec = b, rec
	db.files.Store(b.Opts().Logger.(*flushLog).files)
}

// Waits says whether the disk is full and badger waits for room: calls that
// write, or give space back, may not return before there is some.
func (db *DB) Waits() bool { return db.files.Load().tablesWait() }

// shut closes badger. If the disk is full it gives up: what was acknowledged is
// in the logs, and the next Open reads it from there.
func (db *DB) shut() error {
	starving := db.files.Load().starving()
	select {
	case db.space <- struct{}{}:
		defer func() { <-db.space }()
	case <-starving: // who holds it may wait for room
		return errFull("kv.Close")
	}
	if db.b.IsClosed() { // or it gave up before
		return nil
	}
	closed := make(chan error, 1)
	b, rec := db.b, db.rec
	go func() { closed <- shut(b, rec) }()
	select {
	case err := <-closed:
		return err
	case <-starving:
		db.closing = closed
		return errFull("kv.Close")
	}
}

// errFull is for who wrote when the disk filled up.
func errFull(op string) error {
	return fault.New(fault.Unavailable, op, "the disk is full: %w", syscall.ENOSPC)
}
