package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank/reader"
)

// library stores documents.
type library interface {
	Add(ctx context.Context, space string, read ingest.Source, progress func(ingest.Report)) (ingest.Report, error)
	// CatchUp finishes what a cancelled Add left undone.
	CatchUp(ctx context.Context, space string) error
	// RemoveFromMeta runs a removal of records of a space whose bytes must leave the disk: the next
	// CleanUp rewrites the database.
	RemoveFromMeta(ctx context.Context, space string, remove func() error) error
}

// spaces looks up spaces.
type spaces interface {
	Space(name string) (percached.Space, error)
}

// Options of an Inbox. Start from Default.
type Options struct {
	Library library
	Spaces  spaces
	Reader  *reader.Reader

	// Key encrypts the files. Nil: they are plain.
	Key *encryption.Key

	MaxBytes  int64 // of all spool files; more is Overloaded
	MinFree   int64 // bytes of the disk to keep free
	MaxQueued int   // uploads that wait; more is Overloaded
	MaxFiles  int   // of one upload; more is Invalid
	// MaxDocuments of one upload and MaxExpanded bytes out of its compressed files
	// are stored; an upload with more fails there.
	MaxDocuments int
	MaxExpanded  int64
	// Memory bounds the bytes of documents in flight.
	Memory int64
	// Lanes is how many spaces run at the same time. If more wait, an upload yields
	// after a Turn.
	Lanes int
	Turn  time.Duration
	// Keep and KeepCount bound how long, and how many, ended uploads of a space stay
	// listed.
	Keep      time.Duration
	KeepCount int

	// Taking is called when an upload starts to run, and end when it stops.
	Taking func() (end func())

	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer hears of events. Its func may be nil.
type Observer struct {
	// Moved: an upload has a new state. States of one upload come in order.
	Moved func(Upload)
}

// Default needs Library, Spaces and a Reader.
func Default() Options {
	return Options{
		MaxBytes: 8 << 30, MaxQueued: 10_000, MaxFiles: 10_000, MaxDocuments: 1_000_000, MaxExpanded: 4 << 30,
		Memory: 256 << 20, Lanes: 4, Turn: time.Second, Keep: 24 * time.Hour, KeepCount: 1000,
		Taking: func() (end func()) { return func() {} }, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
}

// Validate joins all errors.
func (o Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Library == nil, "Library is nil")
	bad(o.Spaces == nil, "Spaces is nil")
	bad(o.Reader == nil, "Reader is nil")
	bad(o.Taking == nil, "Taking is nil")
	bad(o.Now == nil, "Now is nil")
	bad(o.Logger == nil, "Logger is nil")
	bad(o.MaxBytes < 0, "MaxBytes: %d is negative", o.MaxBytes)
	bad(o.MinFree < 0, "MinFree: %d is negative", o.MinFree)
	bad(o.MaxQueued < 0, "MaxQueued: %d is negative", o.MaxQueued)
	bad(o.MaxFiles < 0, "MaxFiles: %d is negative", o.MaxFiles)
	bad(o.MaxDocuments < 1, "MaxDocuments: %d is less than 1", o.MaxDocuments)
	bad(o.MaxExpanded < 1, "MaxExpanded: %d is less than 1", o.MaxExpanded)
	bad(o.Memory < 1<<20, "Memory: %d is less than 1 MiB", o.Memory)
	bad(o.Lanes < 1, "Lanes: %d is less than 1", o.Lanes)
	bad(o.Turn < 0, "Turn: %v is negative", o.Turn)
	bad(o.Keep < 0, "Keep: %v is negative", o.Keep)
	bad(o.KeepCount < 0, "KeepCount: %d is negative", o.KeepCount)
	return errors.Join(errs...)
}
