package node_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/jinja"
)

// TestMain renders chat templates where the engine starts this binary as a child for it. Without
// this, each child would run all tests, and start children.
func TestMain(m *testing.M) {
	if jinja.IsChild(os.Args) {
		os.Exit(jinja.Serve(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// fakeMachine is a machine whose memory, disk and clock the test sets.
type fakeMachine struct {
	mu  sync.Mutex
	now time.Time
	r   node.Reading
}

func (m *fakeMachine) set(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

func (m *fakeMachine) reading() node.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r
}

func (m *fakeMachine) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func newMachine(free, disk int64) *fakeMachine {
	return &fakeMachine{
		now: time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC),
		r:   node.Reading{Memory: budget.Memory{Total: 8 << 30, Available: free}, Stalled: -1, Free: disk},
	}
}

func (m *fakeMachine) options(t *testing.T) node.Options {
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.TensorLimit = t.TempDir(), true, true, config.Auto
	c.Now, c.Readings, c.Patience = m.clock, m.reading, time.Hour
	return c
}

// A context becomes shorter while memory is scarce and longer when it is free for long. Stored
// tensors serve all along, and answers stay the same.
func TestContextFollowsMemory(t *testing.T) {
	m := newMachine(4<<30, 40<<30)
	s := nodetest.Open(t, m.options(t))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ask := func() answer.Answer {
		t.Helper()
		a, err := s.Asker.Ask(t.Context(), answer.Question{Space: nodetest.Space, Text: "Who leads Heron?", Bypass: true}, answer.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := ask()
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.FollowMachine(ctx, tick) }()
	defer func() { stop(); <-done }()
	ticks := func(n int) {
		for range n + 1 { // the last one is taken when those before are done
			tick <- time.Time{}
		}
	}
	for _, step := range []struct {
		name      string
		free      int64
		after     time.Duration
		length    int
		answering bool
	}{
		{"much memory", 4 << 30, 0, 2048, false},
		{"scarce", 64 << 20, time.Minute, 1024, false},
		{"scarce for long", 64 << 20, time.Hour, 1024, false},
		{"free for a moment", 4 << 30, time.Minute, 1024, false},
		{"free for long, during an answer", 4 << 30, 11 * time.Minute, 1024, true},
		{"free after the answer", 4 << 30, time.Second, 2048, false},
	} {
		end := func() {}
		if step.answering {
			end = answering(t, s.Engine)
		}
		m.set(func() { m.now, m.r.Memory.Available = m.now.Add(step.after), step.free })
		ticks(3)
		if got := s.Engine.Info().Context; got != step.length {
			t.Errorf("%s: a context of %d tokens, want %d", step.name, got, step.length)
		}
		if b := s.Budget(); b.Context.Tokens != step.length {
			t.Errorf("%s: the budget shows %d tokens", step.name, b.Context.Tokens)
		}
		end()
		if again := ask(); again.Text != first.Text || again.Tokens.Reused == 0 {
			t.Errorf("%s: %q with %d stored tokens, first %q", step.name, again.Text, again.Tokens.Reused, first.Text)
		}
	}
	if b := s.Budget(); !strings.Contains(b.Changed, "memory became free") {
		t.Errorf("the budget says %q", b.Changed)
	}
}

// answering begins an answer, which ends when end is called.
func answering(t *testing.T, e llm.Engine) (end func()) {
	t.Helper()
	began, let, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	p := percached.Prompt{Segments: e.Info().Chat.Ask("", nil, "Who leads Heron?"), MaxTokens: 4}
	go func() {
		defer close(done)
		if _, err := e.Generate(t.Context(), p, func(string) error { begin(); <-let; return nil }); err != nil {
			t.Error(err)
		}
		begin()
	}()
	<-began
	return func() { close(let); <-done }
}

// The limit of stored tensors follows the free disk space, down at once and up after a while.
func TestTensorsFollowDisk(t *testing.T) {
	m := newMachine(4<<30, 40<<30)
	s := nodetest.Open(t, m.options(t))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.FollowMachine(ctx, tick) }()
	defer func() { stop(); <-done }()
	for _, step := range []struct {
		name  string
		free  int64
		after time.Duration
		limit int64
	}{
		{"much", 40 << 30, time.Minute, 10 << 30},
		{"a little less", 39 << 30, time.Minute, 10 << 30},
		{"scarce", 4 << 30, time.Minute, 1 << 30},
		{"full", 512 << 20, time.Minute, 0},
		{"free for a moment", 20 << 30, time.Minute, 0},
		{"free for long", 20 << 30, 11 * time.Minute, 5 << 30},
	} {
		m.set(func() { m.now, m.r.Free = m.now.Add(step.after), step.free })
		for range 7 { // six readings, and one that is taken when they are done
			tick <- time.Time{}
		}
		st, err := s.Tree.Stats()
		if err != nil || st.Limit != step.limit {
			t.Errorf("%s: %d bytes, want %d; %v", step.name, st.Limit, step.limit, err)
		}
	}
}

// What the user set stays.
func TestSettingsWin(t *testing.T) {
	m := newMachine(4<<30, 40<<30)
	c := m.options(t)
	c.Context, c.TensorLimit = 1536, 77<<20
	s := nodetest.Open(t, c)
	b := s.Budget()
	if b.Context.Tokens != 1536 || b.Context.Bound != budget.BySetting || b.Tensors != (budget.Tensors{Limit: 77 << 20, Bound: budget.BySetting}) {
		t.Errorf("%+v", b)
	}
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.FollowMachine(ctx, tick) }()
	m.set(func() { m.r.Memory.Available, m.r.Free = 1<<20, 1<<20 })
	for range 13 {
		tick <- time.Time{}
	}
	stop()
	<-done
	if st, err := s.Tree.Stats(); err != nil || st.Limit != 77<<20 || s.Engine.Info().Context != 1536 {
		t.Errorf("a limit of %d bytes and a context of %d tokens; %v", st.Limit, s.Engine.Info().Context, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Answers become shorter with a context that memory bounds. What does not fit into the longest
// context is refused.
func TestMaxTokensFollowMemory(t *testing.T) {
	for _, tc := range []struct {
		free            int64
		configured, max int
	}{{200 << 20, 900, 512}, {4 << 30, 900, 900}, {4 << 30, 5000, 0}} {
		c := newMachine(tc.free, 40<<30).options(t)
		c.MaxTokens = tc.configured
		s, err := node.Open(t.Context(), c, true, t.Output())
		if err != nil {
			if tc.max > 0 || fault.KindOf(err) != fault.Invalid {
				t.Errorf("%d tokens, %d bytes free: %v", tc.configured, tc.free, err)
			}
			continue
		}
		if set, err := s.Settings(c.Config); err != nil || set.MaxTokens != tc.max {
			t.Errorf("%d tokens, %d bytes free: %d, want %d; %v", tc.configured, tc.free, set.MaxTokens, tc.max, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A model that does not fit is refused before it is loaded, with one that would.
func TestTooLarge(t *testing.T) {
	m := newMachine(40<<20, 40<<30)
	c := m.options(t)
	_, err := node.Open(t.Context(), c, true, t.Output())
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "does not fit into the memory") || !strings.Contains(err.Error(), "close other programs") {
		t.Errorf("%v", err)
	}
}
