package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// A stage is an engine and an embedder behind one gate, and a way to know
// what happens on them without a clock.
type stage struct {
	*Engine
	embedder *Embedder
	// told hears each time that the engine's C code is told to stop.
	told    <-chan struct{}
	batches int // that the engine began; read when it rests
}

func newStage(t *testing.T) *stage {
	t.Helper()
	g := NewGate()
	c := testConfig()
	c.Model = randomModel(t, tiny)
	e, err := OpenEngine(context.Background(), c, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c = DefaultEmbedder()
	c.Model, c.Threads = randomModel(t, gguf.RandomOptions{Architecture: "bert", Seed: 1}), 1
	b, err := OpenEmbedder(context.Background(), c, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &stage{Engine: e, embedder: b, told: told(e.worker)}
}

func told(w *worker) <-chan struct{} {
	ch := make(chan struct{}, 100)
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	stop := w.stop
	w.stop = func(on bool) {
		stop(on)
		if on {
			select {
			case ch <- struct{}{}:
			default: // nobody listens in this test
			}
		}
	}
	return ch
}

// atBatch calls f before the n-th batch from now on, counted from 1.
func (s *stage) atBatch(n int, f func()) {
	s.batches = 0
	s.cache.onBatch = func() {
		if s.batches++; s.batches == n {
			f()
		}
	}
}

// until waits for something that is sure to come; came sees the gate locked.
func (s *stage) until(came func() bool) {
	for ok := false; !ok; runtime.Gosched() {
		s.worker.gate.mu.Lock()
		ok = came()
		s.worker.gate.mu.Unlock()
	}
}

// waiting says whether n requests of a priority wait.
func (s *stage) waiting(p percached.Priority, n int) func() bool {
	return func() bool { return len(s.worker.line[p]) == n }
}

// longPrompt takes 2 batches for the instructions and 3 for each chunk.
func longPrompt(p percached.Placement) percached.Prompt {
	return newNumbers(41).prompt(p, 40, 70, 80, 90, 9)
}

func background(p percached.Prompt) percached.Prompt {
	p.Priority = percached.Background
	return p
}

// askers are what somebody may wait for. Each says how many batches it takes
// of the engine.
func (s *stage) askers(t *testing.T) map[string]func() (int, error) {
	p := newNumbers(42).prompt(percached.Sequential, 10, 20, 9)
	cold := generate(t, s.Engine, p)
	vectors, err := s.embedder.Embed(context.Background(), percached.Foreground, []string{"who wrote?"})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func() (int, error){
		"question": func() (int, error) {
			r, err := s.Generate(context.Background(), p, nil)
			if err == nil && (r.Text != cold.Text || !slices.Equal(r.Logits, cold.Logits)) {
				err = fmt.Errorf("the answer is %q, alone it was %q", r.Text, cold.Text)
			}
			return 3 + r.Usage.Generated - 1, err
		},
		"embedding": func() (int, error) {
			v, err := s.embedder.Embed(context.Background(), percached.Foreground, []string{"who wrote?"})
			if err == nil && !slices.Equal(v[0], vectors[0]) {
				err = errors.New("the vector is another one than alone")
			}
			return 0, err
		},
	}
}

// Whatever batch of a background prefill a question or an embedding comes in,
// that batch is the last, what was captured before is returned and is right,
// and whoever asked gets the answer as if alone.
func TestPreemptPrefill(t *testing.T) {
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		s := newStage(t)
		p := longPrompt(place)
		cold := generate(t, s.Engine, capturing(p))
		for name, ask := range s.askers(t) {
			for batch, captured := range []int{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4} {
				what := fmt.Sprintf("placement %d, %s in batch %d", place, name, batch+1)
				took, answered := 0, make(chan error, 1)
				s.atBatch(batch+1, func() {
					go func() {
						n, err := ask()
						took = n
						answered <- err
					}()
					<-s.told
				})
				r, err := s.Prefill(context.Background(), background(capturing(p)))
				if !errors.Is(err, llm.ErrPreempted) {
					t.Fatalf("%s: the prefill ended with %v", what, err)
				}
				if err := <-answered; err != nil {
					t.Fatalf("%s: it got %v", what, err)
				}
				if want := batch + 1 + took; s.batches != want {
					t.Fatalf("%s: %d batches were begun instead of %d", what, s.batches, want)
				}
				s.cache.onBatch = nil
				mask, got := 0, 0
				for i, sl := range r.Slices {
					if sl != nil {
						mask, got = mask|1<<i, got+1
						if !sameSlice(sl, cold.Slices[i]) {
							t.Fatalf("%s: the slice of segment %d differs", what, i)
						}
					}
				}
				if got != captured {
					t.Fatalf("%s: %d slices were captured instead of %d", what, got, captured)
				}
				equal(t, what+", then warm", cold, generate(t, s.Engine, with(p, r.Slices, mask)))
				for len(s.told) > 0 {
					<-s.told // preemption tells twice
				}
			}
		}
	}
}

// A background answer ends behind the piece in which somebody asks.
func TestPreemptAnswer(t *testing.T) {
	s := newStage(t)
	p := longPrompt(percached.Sequential)
	p.MaxTokens = 60
	cold := generate(t, s.Engine, capturing(p))
	for name, ask := range s.askers(t) {
		pieces, answered := 0, make(chan error, 1)
		r, err := s.Generate(context.Background(), background(capturing(p)), func(string) error {
			if pieces++; pieces == 3 {
				go func() {
					_, err := ask()
					answered <- err
				}()
				<-s.told
			}
			return nil
		})
		if !errors.Is(err, llm.ErrPreempted) || pieces != 3 {
			t.Fatalf("%s: %d pieces, %v", name, pieces, err)
		}
		if err := <-answered; err != nil {
			t.Fatalf("%s: it got %v", name, err)
		}
		if r.Text == "" || !strings.HasPrefix(cold.Text, r.Text) || len(r.Text) >= len(cold.Text) {
			t.Errorf("%s: the text %q is not the head of %q", name, r.Text, cold.Text)
		}
		equal(t, name+", then warm", cold, generate(t, s.Engine, with(p, r.Slices, 0b1111)))
		for len(s.told) > 0 {
			<-s.told
		}
	}
}

// Background work that waits is not preempted: it runs when nobody asks any
// more. Questions do not preempt each other; all is served in order.
func TestBackgroundWaits(t *testing.T) {
	s := newStage(t)
	p := longPrompt(percached.Parallel)
	cold := generate(t, s.Engine, p)
	var order []string // written on the engine's worker alone
	ended := make(chan error, 4)
	start := func(name string, p percached.Prompt) {
		first := true
		go func() {
			r, err := s.Generate(context.Background(), p, func(string) error {
				if first {
					order, first = append(order, name), false
				}
				return nil
			})
			if err == nil && r.Text != cold.Text {
				err = fmt.Errorf("%s: %q instead of %q", name, r.Text, cold.Text)
			}
			ended <- err
		}()
	}
	began, goOn := make(chan struct{}), make(chan struct{})
	s.atBatch(2, func() {
		close(began)
		<-goOn
	})
	start("first question", p)
	<-began
	start("first idle work", background(p))
	s.until(s.waiting(percached.Background, 1))
	start("second idle work", background(p))
	s.until(s.waiting(percached.Background, 2))
	start("second question", p)
	s.until(s.waiting(percached.Foreground, 1))
	close(goOn)
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	want := []string{"first question", "second question", "first idle work", "second idle work"}
	if !slices.Equal(order, want) {
		t.Errorf("the order was %q", order)
	}
	if len(s.told) > 0 {
		t.Error("something was told to stop")
	}
}

// While somebody waits for a vector, the engine next door begins no idle work.
func TestBackgroundWaitsForEmbedder(t *testing.T) {
	s := newStage(t)
	p := longPrompt(percached.Sequential)
	generate(t, s.Engine, p)
	embedding, ended := false, make(chan error, 1)
	err := s.embedder.worker.do(context.Background(), percached.Foreground, func(context.Context) error {
		embedding = true
		s.atBatch(1, func() {
			if embedding {
				t.Error("idle work began beside the embedding")
			}
		})
		go func() {
			_, err := s.Prefill(context.Background(), background(p))
			ended <- err
		}()
		s.until(func() bool { return len(s.worker.line[percached.Background]) == 1 || s.worker.running != nil })
		for range 1000 {
			runtime.Gosched() // enough for a worker that would begin
		}
		embedding = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the idle work ended with %v", err)
	}
	if s.batches == 0 {
		t.Error("the idle work never began")
	}
}
