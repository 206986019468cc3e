package supervise

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
)

var errInside = fault.New(fault.Internal, "fake", "llama.cpp returned -3")

// failing is an engine whose runs may fail: before they begin, or at a piece of
// the answer.
type failing struct {
	llm.Engine
	before func() error
	piece  func(n int) error
	closed func()
}

func (f *failing) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if f.before != nil {
		if err := f.before(); err != nil {
			return percached.Result{}, err
		}
	}
	n := 0
	var broke error
	res, err := f.Engine.Generate(ctx, p, func(s string) error {
		if n++; f.piece != nil {
			if broke = f.piece(n); broke != nil {
				return broke
			}
		}
		if emit == nil {
			return nil
		}
		return emit(s)
	})
	if broke != nil {
		err = broke
	}
	return res, err
}

func (f *failing) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	if f.before != nil {
		if err := f.before(); err != nil {
			return percached.Result{}, err
		}
	}
	return f.Engine.Prefill(ctx, p)
}

func (f *failing) Close() error {
	if f.closed != nil {
		f.closed()
	}
	return f.Engine.Close()
}

// once gives an error the first time.
func once(err error) func() error {
	var o sync.Once
	return func() (first error) {
		o.Do(func() { first = err })
		return first
	}
}

func fake(name string) *llmtest.Fake {
	o := llmtest.DefaultOptions()
	o.Name, o.Context, o.Queue = name, 1024, 4
	return llmtest.NewFake(o)
}

// bed is a reviver over engines that a test makes, by their number.
type bed struct {
	*Engine
	opened, revived int
	why             []error // why it could not be opened anew
	clock           time.Time
	mu              sync.Mutex
}

func newBed(t *testing.T, v Limit, make func(n int) (llm.Engine, error)) *bed {
	t.Helper()
	b := &bed{clock: time.Unix(0, 0)}
	open := func(context.Context) (llm.Engine, error) {
		b.mu.Lock()
		b.opened++
		n := b.opened
		b.mu.Unlock()
		return make(n)
	}
	told := func(cause, err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if cause == nil {
			t.Error("revived without a cause")
		}
		if b.revived++; err != nil {
			b.why = append(b.why, err)
		}
	}
	var err error
	if b.Engine, err = Open(t.Context(), v, func() time.Time { return b.clock }, told, open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// counts: so many engines were opened, so many of them anew.
func (b *bed) counts(t *testing.T, opened, revived int) {
	t.Helper()
	b.opening.Wait()
	if b.opened != opened || b.revived != revived {
		t.Errorf("opened %d times, %d times anew; want %d and %d", b.opened, b.revived, opened, revived)
	}
}

func question(e llm.Engine) percached.Prompt {
	p := percached.Prompt{Segments: e.Info().Chat.Ask("Answer.", []string{"one chunk", "and another"}, "Why?"), MaxTokens: 16}
	for i := range p.Segments[:3] {
		p.Segments[i].Capture = true
	}
	return p
}

// told runs a question and gives what was emitted, which must be the answer.
func told(t *testing.T, e llm.Engine) percached.Result {
	t.Helper()
	var text strings.Builder
	res, err := e.Generate(t.Context(), question(e), func(s string) error { text.WriteString(s); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(res.Text, text.String()); d != "" {
		t.Error("what was told is not the answer:", d)
	}
	return res
}

// An engine that is opened anew behind its first request is an engine like others.
func TestEngineConformance(t *testing.T) {
	llmtest.RunEngine(t, llmtest.Engines{
		Special: "<|im_end|>", Queue: 4,
		Open: func() (llm.Engine, error) {
			before := once(errInside)
			open := func(context.Context) (llm.Engine, error) { return &failing{Engine: fake("a"), before: before}, nil }
			return Open(context.Background(), Limit{1, time.Hour}, time.Now, func(_, _ error) {}, open)
		},
	})
}

func TestReopens(t *testing.T) {
	whole := told(t, fake("a"))
	for _, tc := range []struct {
		name  string
		first failing // the others are sound
	}{
		{"before it begins", failing{before: once(errInside)}},
		{"at the first piece", failing{piece: func(n int) error { return at(n, 1) }}},
		{"in the answer", failing{piece: func(n int) error { return at(n, 3) }}},
		{"closed by somebody", failing{before: once(llm.ErrClosed)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			closed := 0
			b := newBed(t, Limit{1, time.Hour}, func(n int) (llm.Engine, error) {
				if n > 1 {
					return fake("a"), nil
				}
				tc.first.Engine, tc.first.closed = fake("a"), func() { closed++ }
				return &tc.first, nil
			})
			got := told(t, b)
			got.Times = whole.Times
			if d := cmp.Diff(whole, got); d != "" {
				t.Error(d)
			}
			b.counts(t, 2, 1)
			if closed != 1 {
				t.Errorf("the engine that failed was closed %d times", closed)
			}
		})
	}
}

func at(n, where int) error {
	if n == where {
		return errInside
	}
	return nil
}

// What is not the engine's fault does not open it anew, and is told as it is.
func TestLeavesAlone(t *testing.T) {
	gone := errors.New("the listener is gone")
	for name, want := range map[string]error{
		"refused":   fault.Wrap("fake", &percached.SliceError{Segment: 1, Reason: "forged"}),
		"preempted": fault.Wrap("fake", percached.ErrPreempted),
		"full":      fault.New(fault.Overloaded, "fake", "too many"),
		"wrong":     fault.New(fault.Invalid, "fake", "no question"),
		"damaged":   fault.New(fault.Internal, "fake", "%w", llm.ErrNotFinite),
		"listener":  gone,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Limit{1, time.Hour}, func(int) (llm.Engine, error) {
				f := &failing{Engine: fake("a")}
				if want != gone {
					f.before = func() error { return want }
				}
				return f, nil
			})
			_, err := b.Generate(t.Context(), question(b), func(string) error { return gone })
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			b.counts(t, 1, 0)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBed(t, Limit{1, time.Hour}, func(int) (llm.Engine, error) {
			return &failing{Engine: fake("a"), before: func() error { cancel(); return errInside }}, nil
		})
		if _, err := b.Prefill(ctx, question(b)); !errors.Is(err, errInside) {
			t.Error(err)
		}
		b.counts(t, 1, 0)
	})
}

// An engine that always fails is opened anew so many times within the time, and no
// question tries more than twice.
func TestGivesUp(t *testing.T) {
	tries := 0
	b := newBed(t, Limit{2, time.Hour}, func(int) (llm.Engine, error) {
		return &failing{Engine: fake("a"), before: func() error { tries++; return errInside }}, nil
	})
	for i, step := range []struct {
		after                 time.Duration
		opened, tries, revive int
	}{
		{0, 2, 2, 1},
		{time.Minute, 3, 4, 2},
		{time.Minute, 3, 5, 2}, // twice within the hour is enough
		{58 * time.Minute, 4, 7, 3},
		{0, 4, 8, 3},
	} {
		b.clock = b.clock.Add(step.after)
		if _, err := b.Generate(t.Context(), question(b), nil); !errors.Is(err, errInside) {
			t.Errorf("%d: %v", i, err)
		}
		b.counts(t, step.opened, step.revive)
		if tries != step.tries {
			t.Errorf("%d: tried %d times, want %d", i, tries, step.tries)
		}
	}
}

// Where it cannot be opened anew, questions are told so, and a later one tries
// again.
func TestCannotOpen(t *testing.T) {
	broken := errors.New("no such file")
	for name, second := range map[string]func() (llm.Engine, error){
		"no file":       func() (llm.Engine, error) { return nil, broken },
		"another model": func() (llm.Engine, error) { return fake("b"), nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Limit{2, time.Hour}, func(n int) (llm.Engine, error) {
				switch n {
				case 1:
					return &failing{Engine: fake("a"), before: func() error { return errInside }}, nil
				case 2:
					return second()
				}
				return fake("a"), nil
			})
			if _, err := b.Generate(t.Context(), question(b), nil); !errors.Is(err, errInside) {
				t.Error(err)
			}
			b.counts(t, 2, 1)
			if len(b.why) != 1 || fault.KindOf(b.why[0]) != fault.Unavailable {
				t.Error(b.why)
			}
			told(t, b)
			b.counts(t, 3, 2)
		})
	}
}

// Others that run when the engine is closed are tried again too.
func TestOthers(t *testing.T) {
	whole := told(t, fake("a"))
	said, closing := make(chan struct{}), make(chan struct{})
	b := newBed(t, Limit{1, time.Hour}, func(n int) (llm.Engine, error) {
		if n > 1 {
			return fake("a"), nil
		}
		return &failing{Engine: fake("a"), closed: func() { close(closing) }}, nil
	})
	var other percached.Result
	var text strings.Builder
	var err error
	var both sync.WaitGroup
	both.Go(func() {
		other, err = b.Generate(t.Context(), question(b), func(s string) error {
			if text.Len() == 0 {
				close(said)
				<-closing
			}
			text.WriteString(s)
			return nil
		})
	})
	<-said
	b.mu.Lock()
	current := b.Engine.current
	b.mu.Unlock()
	b.reopen(t.Context(), current, errInside)
	both.Wait()
	if err != nil || other.Text != whole.Text || text.String() != whole.Text {
		t.Errorf("%v, answered %q, told %q, want %q", err, other.Text, text.String(), whole.Text)
	}
	b.counts(t, 2, 1)
}

// Who waits for the engine can leave, and Close ends the opening.
func TestCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		open := func(ctx context.Context) (llm.Engine, error) {
			if opened++; opened == 1 {
				return &failing{Engine: fake("a"), before: func() error { return errInside }}, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r, err := Open(t.Context(), Limit{1, time.Hour}, time.Now, func(_, _ error) {}, open)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		leaves, waits := make(chan error), make(chan error)
		go func() { _, err := r.Generate(ctx, question(r), nil); leaves <- err }()
		synctest.Wait() // the first engine failed, the next one is being opened
		go func() { _, err := r.Tokenize(nil); waits <- err }()
		synctest.Wait()
		cancel()
		if err := <-leaves; !errors.Is(err, errInside) {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waits; fault.KindOf(err) != fault.Unavailable || errors.Is(err, llm.ErrClosed) {
			t.Error(err)
		}
		if _, err := r.Tokenize(nil); !errors.Is(err, llm.ErrClosed) {
			t.Error(err)
		}
	})
}

// An answer that goes on otherwise than it had begun is none.
func TestDiffers(t *testing.T) {
	scripted := func(answer string) llm.Engine {
		o := llmtest.DefaultOptions()
		o.Script = llmtest.Answers(map[string]string{"Why?": answer})
		return llmtest.NewFake(o)
	}
	b := newBed(t, Limit{1, time.Hour}, func(n int) (llm.Engine, error) {
		if n > 1 {
			return scripted("at noon today"), nil
		}
		return &failing{Engine: scripted("at nine today"), piece: func(n int) error { return at(n, 3) }}, nil
	})
	var text string
	_, err := b.Generate(t.Context(), question(b), func(s string) error { text += s; return nil })
	if fault.KindOf(err) != fault.Internal || errors.Is(err, errInside) || text != "at nine" {
		t.Errorf("told %q: %v", text, err)
	}
	b.counts(t, 2, 1)
}
