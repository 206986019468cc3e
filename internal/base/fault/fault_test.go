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
