package reader

import (
	"errors"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Options bound what a Reader takes in.
type Options struct {
	// MaxBytes of one document: a mail, a file, a line of JSON. For a compressed
	// file it counts what is inside. A larger one is reported and skipped.
	MaxBytes int64
	// MaxParts of one mail, those of mails inside it included. What is behind the
	// last one is named in the notes.
	MaxParts int
	// Location is the zone of dates that name none.
	Location *time.Location
}

// Default are the options for ordinary use.
func Default() Options {
	return Options{MaxBytes: 32 << 20, MaxParts: 200, Location: time.UTC}
}

// Validate names everything that is wrong with the options.
func (o Options) Validate() error {
	var all []error
	bad := func(format string, args ...any) {
		all = append(all, fault.New(fault.Invalid, "reader.Options", format, args...))
	}
	if o.MaxBytes < 1 || o.MaxBytes > 1<<30 {
		bad("max bytes of a document: %d is not within 1 and %d", o.MaxBytes, 1<<30)
	}
	if o.MaxParts < 1 {
		bad("max parts of a mail: %d is less than 1", o.MaxParts)
	}
	if o.Location == nil {
		bad("the location of dates is not set")
	}
	return errors.Join(all...)
}
