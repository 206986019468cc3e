package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

// Every kind has a name of its own; what is no kind says so.
func TestKindNames(t *testing.T) {
	seen := map[string]Kind{}
	for k := Kind(0); k <= Internal; k++ {
		name := k.String()
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("kinds %d and %d are both called %q", other, k, name)
		}
		seen[name] = k
	}
	if got, want := len(names), int(Internal)+1; got != want {
		t.Errorf("%d names for %d kinds", got, want)
	}
	if got := (Internal + 1).String(); got != "kind(9)" {
		t.Errorf("a kind that is none is called %q", got)
	}
}

func TestKindOf(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want Kind
	}{
		{"nil", nil, 0},
		{"nobody gave a kind", io.EOF, Internal},
		{"cancelled", context.Canceled, Timeout},
		{"too late, wrapped", fmt.Errorf("read: %w", context.DeadlineExceeded), Timeout},
		{"joined", errors.Join(io.EOF, New(Conflict, "op", "x")), Conflict},
		{"the outermost counts", New(Unavailable, "op", "x: %w", New(Invalid, "op", "y")), Unavailable},
		{"a given kind beats the context's", New(Overloaded, "op", "x: %w", context.Canceled), Overloaded},
	}
	for k := Invalid; k <= Internal; k++ {
		err := New(k, "tree.Put", "no room")
		tests = append(tests, []struct {
			name string
			err  error
			want Kind
		}{
			{k.String(), err, k},
			{k.String() + " wrapped", Wrap("answer.Ask", err), k},
			{k.String() + " wrapped by others", fmt.Errorf("ask: %w", Wrap("answer.Ask", err)), k},
		}...)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := KindOf(tt.err); got != tt.want {
				t.Errorf("KindOf(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

// A sentence names no operation, wherever faults stand in it.
func TestSentence(t *testing.T) {
	inner := Wrap("tree.View", New(NotFound, "tree.Get", "there is no slice: %w", io.EOF))
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no fault":           {io.EOF, "EOF"},
		"wrapped":            {inner, "there is no slice: EOF"},
		"within a fault":     {New(Invalid, "ask", "cannot answer: %w; ask again", inner), "cannot answer: there is no slice: EOF; ask again"},
		"within another":     {fmt.Errorf("first: %w", fmt.Errorf("second: %w", inner)), "first: second: there is no slice: EOF"},
		"twice":              {fmt.Errorf("%w and %w", inner, inner), "there is no slice: EOF and there is no slice: EOF"},
		"joined":             {Wrap("op", errors.Join(io.EOF, inner)), "EOF\nthere is no slice: EOF"},
		"deep":               {New(Invalid, "a", "a: %w", New(Invalid, "b", "b: %w", New(Invalid, "c", "c"))), "a: b: c"},
		"wraps nothing":      {fmt.Errorf("no cause: %w", nil), "no cause: %!w(<nil>)"},
		"hidden in a text":   {silent{inner}, "it failed"},
		"the message itself": {New(Invalid, "op", "%w", inner), "there is no slice: EOF"},
	} {
		if got := Sentence(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// silent is an error whose text leaves out its cause.
type silent struct{ cause error }

func (silent) Error() string   { return "it failed" }
func (s silent) Unwrap() error { return s.cause }

func TestWrap(t *testing.T) {
	if err := Wrap("op", nil); err != nil {
		t.Errorf("wrapping no error gives %v", err)
	}
	err := Wrap("answer.Ask", New(NotFound, "tree.Get", "read %s: %w", "a slice", io.ErrUnexpectedEOF))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	if got, want := err.Error(), "answer.Ask: tree.Get: read a slice: unexpected EOF"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Op != "answer.Ask" || e.Kind != NotFound {
		t.Errorf("outermost fault %+v", e)
	}
	if KindOf(Wrap("op", context.DeadlineExceeded)) != Timeout {
		t.Error("a wrapped deadline is no Timeout")
	}
}
