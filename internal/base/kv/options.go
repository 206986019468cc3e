package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	// inLog is the size from which values lie in the value log.
	inLog = 32 << 10
	// minLogFile keeps the biggest write of badger's own (15 % of a memtable)
	// and of ours (Limit) well inside one file.
	minLogFile = 4 << 20
)

// Options say how a database is kept. Start from Default.
type Options struct {
	// ValueLogFileSize is where badger starts the next value-log file. Space
	// comes back in whole files, and never from the newest.
	ValueLogFileSize int64
	// MemTableSize bounds what lies in memory before it goes into a table, and
	// a seventh of it the keys and small values of one transaction.
	MemTableSize int64
	// Sync makes a write durable before it returns.
	Sync bool
	// Disposable data is set aside, and an empty database opened, when badger
	// cannot open what is there.
	Disposable bool
	// MinFree bytes of the disk are kept free; opening, deleting,
	// reclaiming and rewriting may use half of them.
	MinFree int64
	// Logger gets the shapes of badger's messages, without their values. Nil
	// keeps silent.
	Logger   *slog.Logger
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil.
type Observer struct {
	// SetAside: dir could not be opened and now lies at aside.
	SetAside func(dir, aside string, cause error)
	// RecordDamaged: the record in dir cannot be read. The rest was verified
	// without it.
	RecordDamaged func(dir string, cause error)
}

// Default is for a store of large values.
func Default() Options {
	return Options{ValueLogFileSize: 64 << 20, MemTableSize: 16 << 20, MinFree: 256 << 20}
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.ValueLogFileSize < minLogFile || o.ValueLogFileSize > 1<<30 {
		errs = append(errs, fmt.Errorf("value log file size %d is not between 4 MiB and 1 GiB", o.ValueLogFileSize))
	}
	if o.MemTableSize < 1<<20 || o.MemTableSize > 4*o.ValueLogFileSize {
		errs = append(errs, fmt.Errorf("memtable size %d is not between 1 MiB and 4 value log files", o.MemTableSize))
	}
	if o.MinFree < 0 {
		errs = append(errs, errors.New("free space to keep is negative"))
	}
	return errors.Join(errs...)
}

// Limit is the most bytes of large values that one transaction may write.
func (o Options) Limit() int64 { return o.ValueLogFileSize / 2 }

func (o Options) badger(dir string) badger.Options {
	b := badger.DefaultOptions(dir)
	b.SyncWrites = o.Sync
	b.ValueThreshold = inLog
	b.ValueLogFileSize = o.ValueLogFileSize
	b.MemTableSize = o.MemTableSize
	b.NumMemtables = 2
	b.NumCompactors = 2
	b.MetricsEnabled = false // they are process-wide, and hold paths
	// Uncompressed tables are read from their maps and need no cache in memory.
	b.Compression = options.None
	b.BlockCacheSize = 0
	// A block that is damaged while the database is open counts as absent;
	// unchecked it can panic in a goroutine of badger's.
	b.ChecksumVerificationMode = options.OnBlockRead
	// Without this a damaged record can panic, or leave its file locked.
	b.VerifyValueChecksum = true
	b.Logger = nil
	if o.Logger != nil {
		b.Logger = &shapes{to: o.Logger, said: map[string]bool{}}
	}
	return b
}

// shapes logs the format of a message without its arguments, which may hold
// keys. Without them a second one of a format tells nothing new.
type shapes struct {
	to   *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

func (s *shapes) say(level slog.Level, format string) {
	s.mu.Lock()
	again := s.said[format]
	s.said[format] = true
	s.mu.Unlock()
	if !again {
		s.to.Log(context.Background(), level, "badger", "message", format)
	}
}

func (s *shapes) Errorf(f string, _ ...any)   { s.say(slog.LevelError, f) }
func (s *shapes) Warningf(f string, _ ...any) { s.say(slog.LevelWarn, f) }
func (s *shapes) Infof(f string, _ ...any)    { s.say(slog.LevelDebug, f) }
func (s *shapes) Debugf(f string, _ ...any)   { s.say(slog.LevelDebug, f) }
