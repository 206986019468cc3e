package fault

import (
	"context"
	"errors"
	"fmt"
)

// Kind is what went wrong, as a caller must react to it.
type Kind uint8

// The kinds. Zero is no fault at all.
const (
	Invalid     Kind = iota + 1 // what was asked is wrong; asking again does not help
	NotFound                    // the thing named does not exist
	Conflict                    // it clashes with what is there
	Overloaded                  // too much at once; later it may work
	Unavailable                 // a part does not work now
	Unsupported                 // right, but not possible here
	Timeout                     // it took too long or was cancelled
	Internal                    // a bug or a broken machine
)

var names = [...]string{"none", "invalid", "not found", "conflict", "overloaded", "unavailable", "unsupported", "timeout", "internal"}

func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is a fault: its kind, the operation (package and verb), and what is wrong.
type Error struct {
	Kind Kind
	Op   string
	Err  error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap gives what is wrong without the operation.
func (e *Error) Unwrap() error { return e.Err }

// New makes a fault; %w in format wraps as in fmt.Errorf.
func New(k Kind, op, format string, args ...any) error {
	return &Error{Kind: k, Op: op, Err: fmt.Errorf(format, args...)}
}

// Wrap adds an operation to err and keeps its kind; nil stays nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Op: op, Err: err}
}

// KindOf is the kind of the outermost fault in err.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Internal
}
