package llamacpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// anonymous is the process's own memory, C's included, in KiB.
func anonymous(t *testing.T) int {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("this system does not tell: ", err)
	}
	for line := range bytes.Lines(b) {
		var n int
		if _, err := fmt.Sscanf(string(line), "RssAnon: %d kB", &n); err == nil {
			return n
		}
	}
	t.Skip("this system does not tell")
	return 0
}

// What memory may differ by, in KiB: more than the unrest of the
// allocators that was seen. Small leaks show because there are so many rounds.
const (
	slackRequests = 8 << 10
	slackEngines  = 32 << 10 // arenas of the threads that come and go
)

// flat fails if memory or goroutines grow while work goes on.
func flat(t *testing.T, slack, warmUp, rounds int, work func(i int)) {
	t.Helper()
	for i := range warmUp {
		work(i)
	}
	// Goroutines that are on their way out may be counted before or behind.
	goroutines, kib := goleak.IgnoreCurrent(), anonymous(t)
	for i := range rounds {
		work(warmUp + i)
	}
	if err := goleak.Find(goroutines); err != nil {
		t.Errorf("goroutines that were not there before: %v", err)
	}
	after := anonymous(t)
	t.Logf("%d KiB behind the first %d rounds, %d KiB behind %d more", kib, warmUp, after, rounds)
	if after > kib+slack && !raceEnabled {
		t.Errorf("memory grew by %d KiB", after-kib)
	}
}

// requests is one of each kind of work that an engine meets.
type requests struct {
	t          *testing.T
	engine     *Engine
	sequential percached.Prompt
	parallel   percached.Prompt
	seqSlices  []*percached.Slice
	parSlices  []*percached.Slice
	want       [2]string
}

func newRequests(t *testing.T, e *Engine) *requests {
	r := newNumbers(31)
	q := &requests{t: t, engine: e}
	q.sequential, q.parallel = r.prompt(percached.Sequential, 9, 12, 7, 5), r.prompt(percached.Parallel, 9, 12, 7, 5)
	for _, p := range []*percached.Prompt{&q.sequential, &q.parallel} {
		p.MaxTokens, p.Planes = 2, percached.QKV
	}
	seq, par := generate(t, e, capturing(q.sequential)), generate(t, e, capturing(q.parallel))
	q.seqSlices, q.parSlices, q.want = seq.Slices, par.Slices, [2]string{seq.Text, par.Text}
	return q
}

const kindsOfRequest = 10

// do runs the i-th request and checks how it ends.
func (q *requests) do(i int) {
	ctx, e := context.Background(), q.engine
	want := func(ok bool, format string, args ...any) {
		if !ok {
			q.t.Helper()
			q.t.Fatalf("request %d: %s", i, fmt.Sprintf(format, args...))
		}
	}
	answers := func(p percached.Prompt, text string) {
		r, err := e.Generate(ctx, p, func(string) error { return nil })
		want(err == nil && r.Text == text, "%q, %v", r.Text, err)
	}
	switch i % kindsOfRequest {
	case 0:
		answers(capturing(q.sequential), q.want[0])
	case 1:
		answers(with(q.sequential, q.seqSlices, 0b111), q.want[0])
	case 2:
		answers(with(q.parallel, q.parSlices, 0b101), q.want[1])
	case 3:
		answers(with(q.parallel, q.parSlices, 0b111), q.want[1])
	case 4:
		r, err := e.Prefill(ctx, capturing(q.parallel))
		want(err == nil && r.Slices[1] != nil, "%v", err)
	case 5: // cancelled while it waits or before
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, err := e.Generate(ctx, q.sequential, nil)
		want(errors.Is(err, context.Canceled), "%v", err)
	case 6: // cancelled in the midst of the answer
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		p := capturing(q.sequential)
		p.MaxTokens = 100
		_, err := e.Generate(ctx, p, func(string) error { cancel(); return nil })
		want(errors.Is(err, context.Canceled), "%v", err)
	case 7: // refused: a slice
		bad := *q.seqSlices[1]
		bad.Path[0]++
		_, err := e.Generate(ctx, with(q.sequential, []*percached.Slice{nil, &bad, nil, nil}, 0b10), nil)
		_, ok := errors.AsType[*percached.SliceError](err)
		want(ok, "%v", err)
	case 8: // refused: a prompt
		p := q.sequential
		p.MaxTokens = 1 << 20
		_, err := e.Generate(ctx, p, nil)
		want(fault.KindOf(err) == fault.Invalid, "%v", err)
	case 9:
		q.preempted(want)
	}
}

// preempted runs background work that a question breaks into.
func (q *requests) preempted(want func(bool, string, ...any)) {
	p := capturing(q.sequential)
	p.Priority, p.MaxTokens = percached.Background, 100
	asked := make(chan error, 1)
	once := false
	r, err := q.engine.Generate(context.Background(), p, func(string) error {
		if !once {
			once = true
			go func() {
				_, err := q.engine.Generate(context.Background(), with(q.sequential, q.seqSlices, 0b111), nil)
				asked <- err
			}()
		}
		return nil
	})
	if once {
		want(<-asked == nil, "the question failed")
	}
	// The question may come too late: the answer is then whole.
	want(err == nil || errors.Is(err, llm.ErrPreempted), "%v", err)
	want(r.Slices[1] != nil, "what was captured before is lost")
}

func TestNoLeak(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand requests take half a minute")
	}
	requestsInAll, embeddings, engines := 9000, 2000, 200
	if raceEnabled {
		requestsInAll, embeddings, engines = 3000, 600, 24
	}
	t.Run("engine", func(t *testing.T) {
		q := newRequests(t, open(t, tiny, func(c *Config) { c.Context = 256 }))
		flat(t, slackRequests, requestsInAll/9, requestsInAll, q.do)
	})
	t.Run("embedder", func(t *testing.T) {
		c := DefaultEmbedder()
		c.Model, c.Threads = randomModel(t, gguf.RandomOptions{Architecture: "bert", Seed: 1}), 1
		e, err := OpenEmbedder(context.Background(), c, NewGate())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		flat(t, slackRequests, embeddings/5, embeddings, func(i int) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%7 == 0 {
				cancel()
			}
			_, err := e.Embed(ctx, percached.Priority(i%2), []string{"one text", fmt.Sprint("text ", i)})
			if (err == nil) == (i%7 == 0) {
				t.Fatal(err)
			}
		})
	})
	t.Run("open and close", func(t *testing.T) {
		c := testConfig()
		c.Model = randomModel(t, tiny)
		embed := DefaultEmbedder()
		embed.Model, embed.Threads = randomModel(t, gguf.RandomOptions{Architecture: "bert", Seed: 1}), 1
		flat(t, slackEngines, engines/4, engines, func(i int) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c.Progress = nil
			if i%5 == 0 {
				c.Progress = func(float64) { cancel() }
			}
			g := NewGate()
			e, err := OpenEngine(ctx, c, g)
			if i%5 == 0 {
				if err == nil {
					t.Fatal("a cancelled engine opened")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := OpenEmbedder(ctx, embed, g)
			if err != nil {
				t.Fatal(err)
			}
			generate(t, e, newNumbers(1).prompt(percached.Parallel, 3, 4, 5, 3))
			e.Close()
			b.Close()
		})
		for _, path := range []string{c.Model, embed.Model} {
			if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Contains(maps, []byte(path)) {
				t.Errorf("%s is still mapped", path)
			}
		}
	})
}
