package supervise

import (
	"context"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

func (f *failing) Complete(ctx context.Context, t percached.Typing, emit func(string) error) (percached.Typed, error) {
	if f.before != nil {
		if err := f.before(); err != nil {
			return percached.Typed{}, err
		}
	}
	return f.Engine.(llm.Typist).Complete(ctx, t, emit)
}

func (f *failing) ForgetTyped() { f.Engine.(llm.Typist).ForgetTyped() }

func (f *failing) TypedBytes() int64 { return f.Engine.(llm.Typist).TypedBytes() }

// A completion that meets a failing engine is repeated with the next one.
func TestCompletionReopens(t *testing.T) {
	typing := percached.Typing{Owner: "a", Before: "The ferry", Alternatives: 2, MaxTokens: 4}
	want, err := fake("a").Complete(t.Context(), typing, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, Limit{1, time.Hour}, func(n int) (llm.Engine, error) {
		if n > 1 {
			return fake("a"), nil
		}
		return &failing{Engine: fake("a"), before: once(errInside)}, nil
	})
	told := ""
	got, err := b.Complete(t.Context(), typing, func(s string) error { told += s; return nil })
	if err != nil || got.Candidates[0] != want.Candidates[0] || told != want.Candidates[0].Text {
		t.Errorf("%+v, emitted %q, %v; want %+v", got, told, err, want)
	}
	b.counts(t, 2, 1)
}

// An engine that completes no texts says so, and is not reopened.
func TestCompletionUnsupported(t *testing.T) {
	b := newBed(t, Limit{1, time.Hour}, func(int) (llm.Engine, error) { return struct{ llm.Engine }{fake("a")}, nil })
	b.ForgetTyped()
	if n := b.TypedBytes(); n != 0 {
		t.Errorf("%d bytes", n)
	}
	if _, err := b.Complete(t.Context(), percached.Typing{Before: "The"}, nil); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
	b.counts(t, 1, 0)
}
