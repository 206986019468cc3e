package qkvtree

import (
	"errors"

	"github.com/percached/percached"
)

// Why a stored slice cannot be had. Observer.Dropped is told.
var (
	ErrMissing = errors.New("a part of the slice is missing")
	ErrDamaged = errors.New("the stored slice is damaged")
	ErrNewer   = errors.New("the stored slice is of a newer format")
	ErrOrphan  = errors.New("the slice before it is not stored")
)

// SliceError says which slice cannot be had, and wraps one of the errors above.
type SliceError struct {
	Path   percached.Path
	Err    error
	Detail string // what is wrong with it, if more is known
}

func (e *SliceError) Error() string {
	if e.Detail == "" {
		return "slice " + e.Path.String() + ": " + e.Err.Error()
	}
	return "slice " + e.Path.String() + ": " + e.Err.Error() + ": " + e.Detail
}

// Unwrap gives one of the errors above.
func (e *SliceError) Unwrap() error { return e.Err }
