package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/percached/percached/internal/base/fault"
)

// ErrDamaged says that a value differs from what was written.
var ErrDamaged = errors.New("stored bytes are damaged")

// DB is an open database. It is safe for concurrent use, except Close.
//
// Lock order: space, gate, writes, then tracking or bigWrites.
type DB struct {
	dir string
	o   Options
	// b changes only while the gate is closed, by the holder of space. Others read it as users of the
	// gate.
	b     *badger.DB
	rec   *journal                   // of b; nil if Disposable
	files atomic.Pointer[allocation] // of b
	gate  gate
	// space is held by Reclaim, Rewrite and Close.
	space chan struct{}
	// writes is held shared by writers, and exclusively by Reclaim while badger refuses writes or
	// collects a file.
	writes    sync.RWMutex
	tracking  sync.Mutex
	tracked   map[string]struct{} // keys written while Rewrite copies; otherwise nil
	bigWrites sync.Mutex          // held while large values are committed
	changes   changeLog           // keys written since the last TakeChanges
	// Guarded by space:
	closing      <-chan error // non-nil after Close gave up; receives when badger is closed
	unclosedCopy *DB          // a copy that Rewrite could not close
}

func newDB(dir string, o Options, b *badger.DB, rec *journal) *DB {
	db := &DB{dir: dir, o: o, space: make(chan struct{}, 1)}
	db.setCurrent(b, rec)
	return db
}

// Open opens the database in dir. It creates the folder if necessary.
func Open(dir string, o Options) (*DB, error) {
	const op = "kv.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	dir = realDir(dir) // rename and remove the folder itself, not a link to it
	if isLocked(dir) {
		return nil, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if err := finishSwap(dir); err != nil {
		return nil, fault.New(fault.Unavailable, op, "cannot complete an interrupted rewrite: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if err := checkRoom(dir, o, -o.MinFree/2); err != nil {
		return nil, fault.Wrap(op, err)
	}
	b, rec, err := open(dir, o)
	if err == nil {
		return newDB(dir, o, b, rec), nil
	}
	if isLocked(dir) {
		return nil, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if _, ok := errors.AsType[*Damage](err); ok {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if !o.Disposable || errors.Is(err, syscall.ENOSPC) {
		return nil, fault.New(fault.Unavailable, op, "cannot open %s: %w", dir, err)
	}
	aside := dir + asideSuffix
	if err := errors.Join(os.RemoveAll(aside), os.Rename(dir, aside)); err != nil {
		return nil, fault.New(fault.Unavailable, op, "cannot set the damaged database aside: %w", err)
	}
	if o.Observer.SetAside != nil {
		o.Observer.SetAside(dir, aside, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if b, rec, err = open(dir, o); err != nil {
		return nil, fault.New(fault.Unavailable, op, "cannot create an empty database in %s: %w", dir, err)
	}
	return newDB(dir, o, b, rec), nil
}

// open verifies and opens a database. It turns badger's panics over damaged files into errors.
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
			// The files change from here on.
			rec, err = startJournal(dir, commit, known)
		}
	}
	if err == nil {
		err = repairFiles(dir, o)
	}
	if err == nil {
		b, err = openBadger(dir, o)
	}
	if err == nil && o.Key != nil { // badger does not sync the name of its list of data keys
		if err = syncFile(dir); err != nil {
			err = errors.Join(err, b.Close())
		}
	}
	return b, rec, err
}

// closeDB closes what open opened.
func closeDB(b *badger.DB, rec *journal) error {
	err := b.Close()
	if rec != nil {
		err = errors.Join(err, rec.end(err == nil))
	}
	return err
}

// Close writes buffered data and unlocks the folder. Transactions and batches must have ended.
// Close waits for a running Rewrite or Reclaim. If the disk is full it gives up: the folder
// stays locked until the process ends or the disk has space. Acknowledged writes are not lost.
func (db *DB) Close() error {
	return wrap("kv.Close", db.closeOrGiveUp())
}

// acquire registers a user of badger, which must call gate.release.
func (db *DB) acquire() error {
	db.gate.acquire()
	if db.b.IsClosed() {
		db.gate.release()
		return badger.ErrDBClosed
	}
	return nil
}

// Sync makes all previous writes durable.
func (db *DB) Sync() error {
	const op = "kv.Sync"
	if err := db.acquire(); err != nil {
		return wrap(op, err)
	}
	defer db.gate.release()
	return wrap(op, db.b.Sync())
}

// View runs fn on an unchanging view of the database.
func (db *DB) View(fn func(*Tx) error) error {
	tx, err := db.begin(false)
	if err != nil {
		return wrap("kv.View", err)
	}
	defer tx.end()
	return fn(tx)
}

// Update runs fn and commits its writes, all or none. A Conflict means that another transaction
// wrote a key that fn read; run it again.
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

// wrap gives badger's errors a kind.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	err = noSpace(err, Options{}) // where writes happen, the error has its text already
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

const (
	// largeValue is the least size of values in the value log.
	largeValue = 32 << 10
	// cacheBytes is the size of the two caches of an encrypted database.
	cacheBytes = 16 << 20
	// minLogFile keeps badger's own largest write (15 % of a memtable) and ours (Limit) well
	// within one file.
	minLogFile = 4 << 20
)

// Options configure a database. Start from Default.
type Options struct {
	// ValueLogFileSize is the size at which badger starts the next value-log file. Space is
	// reclaimed in whole files, and never from the newest.
	ValueLogFileSize int64
	// MemTableSize limits the data in memory before it is written to a table. A seventh of it
	// limits the keys and small values of one transaction.
	MemTableSize int64
	// Sync makes each write durable before it returns.
	Sync bool
	// Disposable data may be lost: if badger cannot open the database, Open sets it aside and
	// starts empty.
	Disposable bool
	// MinFree is how many bytes of the disk stay free. Opening, deleting, reclaiming and
	// rewriting may use half of them.
	MinFree int64
	// Key encrypts the database: 32 bytes. Nil: it is plain.
	Key []byte
	// Logger receives the formats of badger's messages without their values. Nil discards them.
	Logger   *slog.Logger
	Observer Observer
}

// Observer receives events of a database. Any func may be nil.
type Observer struct {
	// SetAside reports that dir could not be opened and was renamed to aside.
	SetAside func(dir, aside string, cause error)
	// RecordDamaged reports that the record in dir is damaged. The database was verified without it.
	RecordDamaged func(dir string, cause error)
}

// Default returns options for a store of large values.
func Default() Options {
	return Options{ValueLogFileSize: 64 << 20, MemTableSize: 16 << 20, MinFree: 256 << 20}
}

// Validate reports all invalid options together.
func (o Options) Validate() error {
	var errs []error
	if o.ValueLogFileSize < minLogFile || o.ValueLogFileSize > 1<<30 {
		errs = append(errs, fmt.Errorf("ValueLogFileSize is %d, must be between 4 MiB and 1 GiB", o.ValueLogFileSize))
	}
	if o.MemTableSize < 1<<20 || o.MemTableSize > 4*o.ValueLogFileSize {
		errs = append(errs, fmt.Errorf("MemTableSize is %d, must be between 1 MiB and 4 value-log files", o.MemTableSize))
	}
	if o.MinFree < 0 {
		errs = append(errs, errors.New("MinFree is negative"))
	}
	if o.Key != nil && len(o.Key) != 32 {
		errs = append(errs, fmt.Errorf("the Key has %d bytes, must have 32", len(o.Key)))
	}
	return errors.Join(errs...)
}

// Limit is the maximum of bytes in large values per transaction.
func (o Options) Limit() int64 { return o.ValueLogFileSize / 2 }

func (o Options) badger(dir string) badger.Options {
	b := badger.DefaultOptions(dir)
	b.SyncWrites = o.Sync
	b.ValueThreshold = largeValue
	b.ValueLogFileSize = o.ValueLogFileSize
	b.MemTableSize = o.MemTableSize
	b.NumMemtables = 2
	b.NumCompactors = 2
	b.MetricsEnabled = false // process-wide state that contains paths
	// Uncompressed tables are read from their maps and need no cache.
	b.Compression = options.None
	b.BlockCacheSize = 0
	if o.Key != nil { // decrypted blocks and indexes are kept
		b.EncryptionKey, b.BlockCacheSize, b.IndexCacheSize = o.Key, cacheBytes, cacheBytes
	}
	// A block that is damaged later counts as absent. Without this check badger's goroutines can panic.
	b.ChecksumVerificationMode = options.OnBlockRead
	// Without this a damaged entry can panic, or leave its file locked.
	b.VerifyValueChecksum = true
	b.Logger = nil
	if o.Logger != nil {
		b.Logger = &formatLogger{to: o.Logger, said: map[string]bool{}}
	}
	return b
}

// formatLogger logs each message format once, without arguments, because these may contain
// keys.
type formatLogger struct {
	to   *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

func (s *formatLogger) logOnce(level slog.Level, format string) {
	s.mu.Lock()
	again := s.said[format]
	s.said[format] = true
	s.mu.Unlock()
	if !again {
		s.to.Log(context.Background(), level, "badger", "message", format)
	}
}

func (s *formatLogger) Errorf(f string, _ ...any)   { s.logOnce(slog.LevelError, f) }
func (s *formatLogger) Warningf(f string, _ ...any) { s.logOnce(slog.LevelWarn, f) }
func (s *formatLogger) Infof(f string, _ ...any)    { s.logOnce(slog.LevelDebug, f) }
func (s *formatLogger) Debugf(f string, _ ...any)   { s.logOnce(slog.LevelDebug, f) }
