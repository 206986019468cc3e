package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

var errEnough = errors.New("enough")

// A question that its asker gives up ends in the batch that is running, with
// the asker's reason, and leaves nothing behind.
func TestCancelPrefill(t *testing.T) {
	s := newStage(t)
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		p := longPrompt(place)
		cold := generate(t, s.Engine, p)
		for batch := 1; batch <= 12; batch++ {
			ctx, cancel := context.WithCancelCause(context.Background())
			s.atBatch(batch, func() {
				cancel(errEnough)
				<-s.told
			})
			_, err := s.Generate(ctx, p, func(string) error {
				t.Error("it answered")
				return nil
			})
			if !errors.Is(err, errEnough) || s.batches != batch {
				t.Fatalf("cancelled in batch %d: %d batches, %v", batch, s.batches, err)
			}
			s.cache.onBatch = nil
			equal(t, fmt.Sprintf("placement %d, behind a cancel in batch %d", place, batch), cold, generate(t, s.Engine, p))
		}
	}
}

// An end that comes at any node of the graph, not at a chosen place.
func TestAbortAnywhere(t *testing.T) {
	s := newStage(t)
	r := newNumbers(43)
	prompts := []percached.Prompt{longPrompt(percached.Sequential), longPrompt(percached.Parallel)}
	colds := []percached.Result{generate(t, s.Engine, prompts[0]), generate(t, s.Engine, prompts[1])}
	for round := range 24 {
		p, cold := prompts[round%2], colds[round%2]
		ctx, cancel := context.WithCancelCause(context.Background())
		began, spin := make(chan struct{}), r.IntN(20000)
		s.atBatch(1+r.IntN(12), func() { close(began) })
		go func() {
			<-began
			for x := range spin {
				runtime.KeepAlive(x)
			}
			cancel(errEnough)
		}()
		got, err := s.Generate(ctx, p, nil)
		switch {
		case err == nil:
			equal(t, "cancelled too late", cold, got)
		case !errors.Is(err, errEnough):
			t.Fatal(err)
		}
		s.cache.onBatch = nil
		equal(t, "afterwards", cold, generate(t, s.Engine, p))
		for len(s.told) > 0 {
			<-s.told
		}
	}
}

// C that was told to stop returns in the midst of a batch, of an engine as of
// an embedder, and computes the same as ever when it may go on.
func TestAbortInC(t *testing.T) {
	s := newStage(t)
	p := longPrompt(percached.Sequential)
	cold := generate(t, s.Engine, p)
	ctx := context.Background()
	err := s.worker.do(ctx, percached.Foreground, func(ctx context.Context) error {
		s.cache.clear(false)
		s.model.stop(true)
		return s.cache.decode(ctx, p.Segments[0].Tokens[:32], 0, mainSeq, true, nil)
	})
	if err == nil {
		t.Error("a batch was computed although C was told to stop")
	}
	equal(t, "engine", cold, generate(t, s.Engine, p))

	vectors, err := s.embedder.Embed(ctx, percached.Foreground, []string{"a text"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.embedder.worker.do(ctx, percached.Foreground, func(ctx context.Context) error {
		s.embedder.model.stop(true)
		_, err := s.embedder.compute(ctx, []int32{2, 40, 41, 3})
		return err
	})
	if err == nil {
		t.Error("a text was computed although C was told to stop")
	}
	again, err := s.embedder.Embed(ctx, percached.Foreground, []string{"a text"})
	if err != nil || !slices.Equal(vectors[0], again[0]) {
		t.Errorf("afterwards: %v", err)
	}
}

// A question to the engine preempts idle embedding next door.
func TestPreemptEmbedding(t *testing.T) {
	s := newStage(t)
	p := longPrompt(percached.Sequential)
	cold := generate(t, s.Engine, p)
	answered := make(chan percached.Result, 1)
	err := s.embedder.worker.do(context.Background(), percached.Background, func(ctx context.Context) error {
		go func() {
			r, err := s.Generate(context.Background(), p, nil)
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		<-ctx.Done()
		_, err := s.embedder.compute(ctx, []int32{2, 40, 41, 3})
		return err
	})
	if !errors.Is(err, llm.ErrPreempted) {
		t.Errorf("the embedding ended with %v", err)
	}
	equal(t, "the question", cold, <-answered)
}
