package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind is the category of an error.
type Kind uint8

// The kinds. Zero means no error.
const (
	Invalid     Kind = iota + 1 // the request is wrong; repeating it fails again
	NotFound                    // the thing named does not exist
	Conflict                    // the request conflicts with existing data
	Overloaded                  // too many requests; retry later
	Unavailable                 // a component does not work at present
	Unsupported                 // the request is valid, but this machine or model does not support it
	Timeout                     // it exceeded a time limit or was cancelled
	Internal                    // a bug or a hardware fault
)

var names = [...]string{"none", "invalid", "not found", "conflict", "overloaded", "unavailable", "unsupported", "timeout", "internal"}

func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is an error with its kind and the operation (package and verb) that failed.
type Error struct {
	Kind Kind
	Op   string
	Err  error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error; %w in format wraps as in fmt.Errorf.
func New(k Kind, op, format string, args ...any) error {
	return &Error{Kind: k, Op: op, Err: fmt.Errorf(format, args...)}
}

// Wrap adds an operation to err and keeps its kind. It returns nil for nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Op: op, Err: err}
}

// Sentence returns the text of an error for people: without the operations of its faults,
// also of those that stand within the message of another error.
func Sentence(err error) string {
	if e, ok := err.(*Error); ok {
		return Sentence(e.Err)
	}
	text := err.Error()
	var within []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		within = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		within = e.Unwrap()
	}
	for _, e := range within {
		if e != nil {
			text = strings.Replace(text, e.Error(), Sentence(e), 1)
		}
	}
	return text
}

// KindOf returns the kind of the outermost Error in err.
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
