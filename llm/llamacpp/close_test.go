package llamacpp

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Close ends what runs and what waits, each with ErrClosed, and all goroutines.
func TestCloseDuringWork(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, running := range []percached.Priority{percached.Foreground, percached.Background} {
		s := newStage(t)
		p := longPrompt(percached.Sequential)
		ended := make(chan error, 3)
		start := func(priority percached.Priority) {
			go func() {
				p := p
				p.Priority = priority
				_, err := s.Generate(context.Background(), p, nil)
				ended <- err
			}()
		}
		began, goOn := make(chan struct{}), make(chan struct{})
		s.atBatch(2, func() {
			close(began)
			<-goOn
		})
		start(running)
		<-began
		start(percached.Background)
		s.until(s.waiting(percached.Background, 1))
		if running == percached.Foreground {
			start(percached.Foreground)
			s.until(s.waiting(percached.Foreground, 1))
		}
		closed := make(chan error, 2)
		go func() { closed <- s.Close() }()
		<-s.told
		go func() { closed <- s.Close() }()
		select {
		case <-closed:
			t.Error("Close returned while a batch was running")
		default:
		}
		close(goOn)
		n := 2
		if running == percached.Foreground {
			n = 3
		}
		for range n {
			if err := <-ended; !errors.Is(err, llm.ErrClosed) {
				t.Errorf("priority %d running: a request ended with %v", running, err)
			}
		}
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
		if s.batches != 2 {
			t.Errorf("%d batches were begun instead of 2", s.batches)
		}
		afterClose(t, s, p)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// afterClose: everything says ErrClosed, and Close says nothing.
func afterClose(t *testing.T, s *stage, p percached.Prompt) {
	t.Helper()
	ctx := context.Background()
	s.embedder.Close()
	_, err1 := s.Generate(ctx, p, nil)
	_, err2 := s.Prefill(ctx, background(p))
	_, err3 := s.Tokenize([]percached.Segment{{Texts: []percached.Text{{Text: "text"}}}})
	_, err4 := s.embedder.Embed(ctx, percached.Foreground, []string{"text"})
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, llm.ErrClosed) {
			t.Errorf("call %d behind Close: %v", i, err)
		}
	}
	if err := errors.Join(s.Close(), s.embedder.Close()); err != nil {
		t.Error(err)
	}
	if s.Info().Fingerprint == "" || s.embedder.Info().Fingerprint == "" {
		t.Error("Info is gone behind Close")
	}
}

// Many callers at once, of both priorities, some of whom give up, while
// somebody closes: each answer that comes is the right one, each refusal has
// one of the reasons there are.
func TestManyCallers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := newStage(t)
	p := newNumbers(51).prompt(percached.Parallel, 9, 20, 33, 7)
	cold := generate(t, s.Engine, capturing(p))
	vectors, err := s.embedder.Embed(context.Background(), percached.Foreground, []string{"a text"})
	if err != nil {
		t.Fatal(err)
	}
	texts := []percached.Segment{{Texts: []percached.Text{{Text: "a text of a few words"}}}}
	tokens, err := s.Tokenize(texts)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 60
	calls := []func(ctx context.Context, pr percached.Priority, mask int) (bool, error){
		func(ctx context.Context, pr percached.Priority, mask int) (bool, error) {
			q := with(capturing(p), cold.Slices, mask)
			q.Priority = pr
			r, err := s.Generate(ctx, q, func(string) error { return nil })
			return r.Text == cold.Text, err
		},
		func(ctx context.Context, pr percached.Priority, mask int) (bool, error) {
			q := with(capturing(p), cold.Slices, mask)
			q.Priority = pr
			r, err := s.Prefill(ctx, q)
			return err != nil || mask&1 != 0 || sameSlice(r.Slices[0], cold.Slices[0]), err
		},
		func(ctx context.Context, pr percached.Priority, _ int) (bool, error) {
			v, err := s.embedder.Embed(ctx, pr, []string{"a text", "b"})
			return err != nil || v[0][0] == vectors[0][0], err
		},
		func(context.Context, percached.Priority, int) (bool, error) {
			got, err := s.Tokenize(texts)
			return err != nil || len(got[0]) == len(tokens[0]), err
		},
	}
	var all sync.WaitGroup
	half := make(chan struct{}, 1000)
	for i := range 12 {
		all.Go(func() {
			r := newNumbers(uint64(60 + i))
			for range rounds {
				ctx, cancel := context.WithCancelCause(context.Background())
				pr := percached.Priority(r.IntN(2))
				if r.IntN(4) == 0 {
					go cancel(errEnough)
				}
				right, err := calls[i%len(calls)](ctx, pr, r.IntN(8))
				cancel(nil)
				half <- struct{}{}
				switch {
				case err == nil && !right:
					t.Errorf("caller %d: a wrong result", i)
				case err == nil, errors.Is(err, errEnough), errors.Is(err, llm.ErrClosed), fault.KindOf(err) == fault.Overloaded:
				case errors.Is(err, llm.ErrPreempted) && pr == percached.Background:
				default:
					t.Errorf("caller %d, priority %d: %v", i, pr, err)
				}
			}
		})
	}
	all.Go(func() {
		for range 6 * rounds {
			<-half
		}
		s.Close()
		s.embedder.Close()
	})
	all.Wait()
	afterClose(t, s, p)
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
