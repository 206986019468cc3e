package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank/reader"
)

// library takes documents in.
type library interface {
	Add(ctx context.Context, space string, read ingest.Source, progress func(ingest.Report)) (ingest.Report, error)
	// CatchUp makes good what an Add that was ended has left undone.
	CatchUp(ctx context.Context, space string) error
}

// spaces knows which spaces there are.
type spaces interface {
	Space(name string) (percached.Space, error)
}

// Options of an Inbox. Start from Default.
type Options struct {
	Library library
	Spaces  spaces
	Reader  *reader.Reader

	MaxBytes  int64 // of all that is spooled; more is Overloaded
	MinFree   int64 // bytes of the disk that are left to others; with less, nothing is accepted
	MaxQueued int   // uploads that wait; more is Overloaded
	MaxFiles  int   // of one upload; more is Invalid
	// MaxDocuments of one upload are taken in, and so many bytes that come out of its
	// compressed files; one that has more fails there.
	MaxDocuments int
	MaxExpanded  int64
	// Memory bounds the bytes that documents take while they are in flight.
	Memory int64
	// Lanes is how many spaces have uploads taken in at the same time. Where more
	// wait, each upload gives way after a Turn.
	Lanes int
	Turn  time.Duration
	// Uploads that ended are remembered for so long, and so many of a space.
	Keep      time.Duration
	KeepCount int

	// Taking is told that an upload begins to be taken in, and end that it ended or
	// has to wait.
	Taking func() (end func())

	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer is told what happens. Its func may be nil.
type Observer struct {
	// Moved: an upload has another state now. For one upload the states come in
	// their order.
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

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Library == nil, "no library")
	bad(o.Spaces == nil, "nobody knows the spaces")
	bad(o.Reader == nil, "no reader")
	bad(o.Taking == nil, "nobody is told of what is taken in")
	bad(o.Now == nil, "no clock")
	bad(o.Logger == nil, "no logger")
	bad(o.MaxBytes < 0, "spooled bytes: %d is negative", o.MaxBytes)
	bad(o.MinFree < 0, "disk that is kept free: %d is negative", o.MinFree)
	bad(o.MaxQueued < 0, "uploads that wait: %d is negative", o.MaxQueued)
	bad(o.MaxFiles < 0, "files of an upload: %d is negative", o.MaxFiles)
	bad(o.MaxDocuments < 1, "documents of an upload: %d is less than 1", o.MaxDocuments)
	bad(o.MaxExpanded < 1, "bytes out of compressed files: %d is less than 1", o.MaxExpanded)
	bad(o.Memory < 1<<20, "memory: %d is less than 1 MiB", o.Memory)
	bad(o.Lanes < 1, "spaces at the same time: %d is less than 1", o.Lanes)
	bad(o.Turn < 0, "a turn: %v is negative", o.Turn)
	bad(o.Keep < 0, "uploads that ended are kept for %v, which is negative", o.Keep)
	bad(o.KeepCount < 0, "uploads that ended are kept: %d is negative", o.KeepCount)
	return errors.Join(errs...)
}
