package qkvtree

import (
	"errors"
	"fmt"
	"time"
)

// MinKey is the shortest key that Options.Key may be.
const MinKey = 16

// Options of a Tree. Start from Default.
type Options struct {
	// Key signs headers: what was signed by another is damaged.
	Key []byte
	// Limit is how many bytes may be stored: keys, headers, tensors and
	// counters. Tree.SetLimit changes it.
	Limit int64
	// Spare: what is over the limit when the tree is opened stays, until something
	// else comes in. For those who only look.
	Spare bool
	// FlushEvery is how many nodes' counters may differ from those on disk
	// before they are written.
	FlushEvery int
	// Now is the clock that says when a slice was last used.
	Now      func() time.Time
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil; none may call
// the tree.
type Observer struct {
	// Dropped: a slice could not be read as it was written, and went.
	Dropped func(n Info, cause error)
	// Stored: slices that Insert stored, and their bytes as the limit counts them.
	Stored func(slices int, bytes int64)
	// Evicted: a slice made room.
	Evicted func(n Info)
}

// Default needs a Key.
func Default() Options {
	return Options{Limit: 2 << 30, FlushEvery: 256, Now: time.Now}
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if len(o.Key) < MinKey {
		errs = append(errs, fmt.Errorf("the key has %d bytes, it needs %d", len(o.Key), MinKey))
	}
	if o.Limit < 0 {
		errs = append(errs, errors.New("the limit is negative"))
	}
	if o.FlushEvery < 1 {
		errs = append(errs, errors.New("counters must be written after at least one change"))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("there is no clock"))
	}
	return errors.Join(errs...)
}
