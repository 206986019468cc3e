package qabank

import (
	"errors"
	"fmt"
	"time"
)

// Options say how a bank is kept. Start from Default.
type Options struct {
	// Limit is the most bytes that the records of all entries may take.
	Limit int64
	// Now is the clock.
	Now      func() time.Time
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil; none may call the
// bank.
type Observer struct {
	// Stored: entries that were put, and the bytes that they take.
	Stored func(entries int, bytes int64)
	// Evicted: entries that made room, and the bytes that they took.
	Evicted func(entries int, bytes int64)
	// Damaged: a record could not be read and was removed.
	Damaged func(err error)
}

// Default keeps 100 MiB.
func Default() Options { return Options{Limit: 100 << 20, Now: time.Now} }

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Limit < 1 {
		errs = append(errs, fmt.Errorf("limit of %d bytes", o.Limit))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("no clock"))
	}
	return errors.Join(errs...)
}
