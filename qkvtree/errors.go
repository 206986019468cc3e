package qkvtree

import (
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// Why a slice cannot be had.
var (
	ErrMissing = errors.New("no such slice is stored")
	ErrDamaged = errors.New("the stored slice is damaged")
	ErrNewer   = errors.New("the stored slice is of a newer format")
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

func lost(op string, p percached.Path, err error, detail string) error {
	kind := fault.Internal
	switch err {
	case ErrMissing:
		kind = fault.NotFound
	case ErrNewer:
		kind = fault.Unsupported
	}
	return fault.New(kind, op, "%w", &SliceError{Path: p, Err: err, Detail: detail})
}
