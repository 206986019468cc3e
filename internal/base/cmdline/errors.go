package cmdline

import (
	"errors"
	"fmt"

	"github.com/percached/percached/internal/base/fault"
)

// Unwell ends a command that has already printed the failed check.
type Unwell struct{}

func (Unwell) Error() string { return "a check failed" }

// Misuse is a usage error: a wrong flag, argument or configuration.
type Misuse struct{ error }

// Unwrap returns the error inside.
func (m Misuse) Unwrap() error { return m.error }

// Misused marks err as a usage error.
func Misused(err error) error { return Misuse{err} }

// Misusef formats a usage error.
func Misusef(format string, args ...any) error { return Misused(fmt.Errorf(format, args...)) }

// Sentence returns the text of an error without the operations that it passed through.
func Sentence(err error) string {
	if e, ok := errors.AsType[sentencer](err); ok {
		return e.Sentence()
	}
	return fault.Sentence(err)
}

// sentencer is an error with a text for users.
type sentencer interface {
	error
	Sentence() string
}
