package answer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
)

// counter is an engine that counts the attended tokens of its last run one by one.
type counter struct {
	*llmtest.Fake
	refuses int // segment whose slice is refused; 0: none
	seen    int64
}

func (c *counter) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if c.refuses > 0 && p.Segments[c.refuses].Slice != nil {
		return percached.Result{}, fault.New(fault.Invalid, "engine", "%w", &percached.SliceError{Segment: c.refuses, Reason: "it smells"})
	}
	res, err := c.Fake.Generate(ctx, p, emit)
	c.count(p, res.Usage.Generated)
	return res, err
}

func (c *counter) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	res, err := c.Fake.Prefill(ctx, p)
	c.count(p, 0)
	return res, err
}

// count compares each token with each other.
func (c *counter) count(p percached.Prompt, generated int) {
	type token struct {
		segment  int
		computed bool
	}
	var all []token
	for i, s := range p.Segments {
		for range s.Tokens {
			all = append(all, token{i, s.Slice == nil})
		}
	}
	for range generated {
		all = append(all, token{len(p.Segments), true})
	}
	branch := func(t token) bool {
		return p.Placement == percached.Parallel && t.segment > 0 && t.segment < len(p.Segments) && p.Segments[t.segment].Kind == percached.KindChunk
	}
	c.seen = 0
	for i, from := range all {
		for _, at := range all[:i+1] {
			if from.computed && (!branch(from) || at.segment == 0 || at.segment == from.segment) {
				c.seen++
			}
		}
	}
}

// The attended tokens of an answer equal those counted one by one, whatever was stored.
func TestAttended(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, whole := range []bool{false, true} {
			if whole && placement == percached.Parallel {
				continue
			}
			t.Run(fmt.Sprint(placement, " ", whole), func(t *testing.T) {
				set := answer.Default()
				set.Placement, set.K, set.Whole, set.Tensors = placement, 3, whole, !whole
				c := &counter{}
				w := newWorld(t, set, llmtest.DefaultOptions(), func(p *answer.Parts) {
					c.Fake = p.Engine.(*llmtest.Fake)
					p.Engine = c
				})
				for i, body := range []string{budget, "The budget of Heron is known.", "Of Heron nobody knows."} {
					w.docs.put(body + strings.Repeat(" And so on.", i))
				}
				other := w.docs.put("The boat of Heron " + strings.Repeat("is white ", 20))
				counts := func(name string, a answer.Answer) int64 {
					t.Helper()
					if a.Tokens.Attended != c.seen || c.seen == 0 {
						t.Errorf("%s: %d, want %d; %+v", name, a.Tokens.Attended, c.seen, a.Tokens)
					}
					return a.Tokens.Attended
				}
				cold := counts("cold", w.asks(t, heron))
				warm := counts("warm", w.asks(t, answer.Question{Space: "s", Text: heron.Text, Bypass: true}))
				if !whole && warm >= cold || whole && warm != cold {
					t.Errorf("cold %d, warm %d", cold, warm)
				}
				counts("another chunk", w.asks(t, answer.Question{Space: "s", Text: "Of what is the boat of Heron white?"}))
				if a := w.asks(t, heron); a.Outcome != answer.AnswerHit || a.Tokens.Attended != 0 {
					t.Errorf("a stored answer: %+v", a)
				}
				if whole {
					return
				}
				c.refuses = 2
				counts("a slice is refused", w.asks(t, answer.Question{Space: "s", Text: heron.Text, Bypass: true}))
				c.refuses = 0
				if _, _, err := w.tree.Clear("s"); err != nil {
					t.Fatal(err)
				}
				a, err := w.Fill(t.Context(), "s", []percached.ChunkID{other})
				if err != nil {
					t.Fatal(err)
				}
				counts("prefilled", a)
			})
		}
	}
}

// A run that broke off has none.
func TestAttendedByNone(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) { p.Engine = tired{p.Engine.(*llmtest.Fake)} })
	w.docs.put(budget)
	a, err := w.Work(t.Context(), answer.Work{Space: "s", Question: heron.Text})
	if err == nil || a.Tokens.Attended != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// tired is an engine that breaks off.
type tired struct{ *llmtest.Fake }

func (tired) Generate(context.Context, percached.Prompt, func(string) error) (percached.Result, error) {
	return percached.Result{Usage: percached.Usage{Prompt: 10, Computed: 10}}, errors.New("no strength")
}
