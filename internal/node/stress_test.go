package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/scheduler"
)

// stress is a node on an encrypted folder whose memory the test sets.
type stress struct {
	*testing.T
	*node.Node
	machine *fakeMachine
	tick    chan time.Time
	before  map[string]string // answers while memory was free
}

const otherSpace = "uploads"

func newStress(t *testing.T) *stress {
	m := newMachine(4<<30, 40<<30)
	c := m.options(t)
	c.KeyFile = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(c.KeyFile, []byte("a long passphrase of a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := home.Encrypt(c.Data, encryption.Source{File: c.KeyFile}, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	s := &stress{T: t, Node: nodetest.Open(t, c), machine: m, tick: make(chan time.Time), before: map[string]string{}}
	if err := s.Knowledge.CreateSpace(percached.Space{Name: otherSpace, Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.FollowMachine(ctx, s.tick) }()
	t.Cleanup(func() {
		stop()
		<-done
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pass lets time pass until the machine was read twice.
func (s *stress) pass(free int64, after time.Duration) {
	s.machine.set(func() { s.machine.now, s.machine.r.Memory.Available = s.machine.now.Add(after), free })
	for range 3 { // the last one is taken when those before are done
		s.tick <- time.Time{}
	}
}

func (s *stress) ask(q answer.Question) string {
	q.Space, q.Bypass = nodetest.Space, true
	a, err := s.Asker.Ask(s.Context(), q, answer.Listener{})
	if err != nil {
		s.Errorf("%s: %v", q.Text, err)
	}
	return a.Text
}

// askAll asks what fits into every context. The answers stay what they were.
func (s *stress) askAll(when string) {
	for i, name := range nodetest.Names()[:4] {
		q := fmt.Sprintf([]string{"Who leads %s?", "What is the code of %s?"}[i%2], name)
		got := s.ask(answer.Question{Text: q})
		if want, ok := s.before[q]; ok && got != want {
			s.Errorf("%s: %s: %q, before %q", when, q, got, want)
		}
		s.before[q] = got
	}
}

// fill uses all that memory is divided among: a long context, slices, typed texts, uploads.
func (s *stress) fill(when string, edition int) {
	var all sync.WaitGroup
	all.Go(func() {
		s.askAll(when)
		s.askAll(when) // from memory, if slices may be there
	})
	all.Go(func() {
		var earlier []answer.Turn
		for range 30 {
			earlier = append(earlier, answer.Turn{Role: answer.RoleUser, Text: strings.Repeat("We spoke about the harbour for long. ", 4)}, answer.Turn{Role: answer.RoleAssistant, Text: "Yes."})
		}
		if s.ask(answer.Question{Text: "And who leads it?", Earlier: append(earlier, answer.Turn{Role: answer.RoleUser, Text: "Tell me of Heron."})}) == "" {
			s.Errorf("%s: a long conversation got no answer", when)
		}
	})
	all.Go(func() {
		if _, err := s.Asker.Complete(s.Context(), answer.Completion{Space: nodetest.Space, Before: "The budget for Heron is ", Alternatives: 1, MaxTokens: 4}, nil); err != nil {
			s.Errorf("%s: %v", when, err)
		}
	})
	all.Go(func() {
		add := func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			one := nodetest.Letter(edition%12, edition)
			one.Key = fmt.Sprint("mail:", edition)
			return emit(one)
		}
		if r, err := s.Library.Add(s.Context(), otherSpace, add, nil); err != nil || r.Failed > 0 {
			s.Errorf("%s: %+v, %v", when, r, err)
		}
	})
	all.Wait()
}

// idles reports whether scarce memory is no reason against idle work.
func (s *stress) idles() bool {
	st, err := s.Scheduler.Status()
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range st.Reasons {
		if r.Code == scheduler.ReasonMemory {
			return false
		}
	}
	return true
}

// Memory gets scarce and plentiful again while all that uses it is full. Questions are answered
// all along, with the same text, and nothing is lost.
func TestMemoryStress(t *testing.T) {
	s := newStress(t)
	s.pass(4<<30, time.Second)
	for i, step := range []struct {
		name      string
		free      int64
		after     time.Duration
		context   int
		hot, idle bool
	}{
		{"plenty", 4 << 30, time.Minute, 2048, true, true},
		{"scarce", 64 << 20, time.Minute, 1024, false, false},
		{"scarce for long: nothing more can be given back", 64 << 20, time.Hour, 1024, false, true},
		{"free for a moment", 4 << 30, time.Minute, 1024, false, true},
		{"free for long: the context first", 4 << 30, 11 * time.Minute, 2048, false, true},
		{"free for longer: slices last", 4 << 30, 11 * time.Minute, 2048, true, true},
		{"scarce again", 64 << 20, time.Minute, 1024, false, false},
	} {
		s.fill(step.name+", before the reading", 2*i)
		s.pass(step.free, step.after)
		b := s.Budget()
		if b.Context.Tokens != step.context || b.Shares == nil || b.Shares.Idle != step.idle || s.idles() != step.idle || (b.Shares.Hot > 0) != step.hot {
			t.Errorf("%s: %d tokens, %+v", step.name, b.Context.Tokens, b.Shares)
		}
		if b.Hot > b.Shares.Hot || step.name == "scarce" && b.Typed > 0 {
			t.Errorf("%s: %d bytes of slices in memory, %d of texts", step.name, b.Hot, b.Typed)
		}
		_, before := s.Tree.Hot()
		s.fill(step.name, 2*i+1)
		if !b.Shares.Scarce && s.Budget().Typed == 0 {
			t.Errorf("%s: no text was kept", step.name)
		}
		if held, lent := s.Tree.Hot(); (held > 0) != step.hot || (lent > before) != step.hot {
			t.Errorf("%s: %d bytes of slices in memory, %d lent from there", step.name, held, lent-before)
		}
	}
	for space, want := range map[string]int{nodetest.Space: len(nodetest.Names()), otherSpace: 14} {
		if st, err := s.Knowledge.Stats(space); err != nil || st.Documents != want {
			t.Errorf("%s: %d documents, want %d; %v", space, st.Documents, want, err)
		}
	}
	if r, err := s.Tree.Verify(t.Context()); err != nil || !r.Clean() || r.Slices == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
