package answer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qkvtree"
)

const budget, rent = "The budget of Heron is 46 thousand.", "The rent of the flat is 900 now."

func TestPath(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, order := range []percached.Order{percached.Relevance, percached.Canonical} {
			t.Run(placement.String()+" "+string(order), func(t *testing.T) {
				set := answer.Default()
				set.Placement, set.Order = placement, order
				w := newWorld(t, set, llmtest.DefaultOptions(), nil)
				w.docs.put(budget)
				w.docs.put(rent)
				first := w.ask(t, "What is the budget of Heron?")
				if first.Outcome != answer.Miss || first.Chunks != (answer.Reuse{All: 2}) || len(first.Citations) != 2 || first.Citations[0].Quote != budget {
					t.Errorf("first: %+v", first)
				}
				again := w.ask(t, "what is the budget of heron")
				if again.Outcome != answer.AnswerHit || again.Text != first.Text || len(again.Citations) != 2 || again.Tokens.Prompt != 0 {
					t.Errorf("again: %+v", again)
				}
				past := w.asks(t, answer.Question{Space: "s", Text: "What is the budget of Heron?", Bypass: true})
				if past.Outcome != answer.TensorHit || past.Text != first.Text || past.Chunks.Stored != 2 || past.Tokens.Reused == 0 {
					t.Errorf("past the bank: %+v", past)
				}
				if past.Tokens.Prompt != past.Tokens.Reused+past.Tokens.Computed || past.Tokens.Prompt != first.Tokens.Prompt {
					t.Errorf("tokens: %+v, first %+v", past.Tokens, first.Tokens)
				}
			})
		}
	}
}

func TestStaleAnswers(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	id := w.docs.put(budget)
	const q = "What is the budget of Heron?"
	hit := func(want answer.Outcome, why string) answer.Answer {
		t.Helper()
		a := w.ask(t, q)
		if a.Outcome != want || !strings.Contains(a.Gate.Why, why) {
			t.Errorf("%s: %s, want %s: %s", a.Outcome, a.Gate.Why, want, why)
		}
		return a
	}
	hit(answer.Miss, "near enough")
	w.docs.put("Ducks swim.") // has nothing to do with it
	hit(answer.AnswerHit, "unchanged")
	w.docs.put("The budget of Heron is 50 thousand now.")
	a := hit(answer.TensorHit, "fresh")
	if len(a.Citations) != 2 {
		t.Errorf("the newer document is not read: %+v", a.Citations)
	}
	hit(answer.AnswerHit, "unchanged")
	w.docs.drop(id)
	hit(answer.Miss, "versions") // the first chunk of the prompt is another one
	if n, err := w.Freshen(context.Background(), "s"); n != 0 || err != nil {
		t.Error(n, err)
	}
	w.docs.put("Of Heron the budget is gone.")
	if n, err := w.Freshen(context.Background(), "s"); n != 1 || err != nil {
		t.Error(n, err)
	}
	before, err := w.history.Recent("s", 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Work(context.Background(), answer.Work{Space: "s", Question: q, Again: true}); err != nil {
		t.Error(err)
	}
	after, err := w.history.Recent("s", 100)
	if err != nil || len(after) != len(before) {
		t.Errorf("idle work is in the history: %d records, before %d, %v", len(after), len(before), err)
	}
	hit(answer.AnswerHit, "unchanged")
}

func TestWhatLeavesTheBankAlone(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	const q = "What is the budget of Heron?"
	w.ask(t, q)
	for name, tc := range map[string]struct {
		q    answer.Question
		want answer.Outcome
	}{
		"plain":      {answer.Question{Text: q}, answer.AnswerHit},
		"bypass":     {answer.Question{Text: q, Bypass: true}, answer.TensorHit},
		"refresh":    {answer.Question{Text: q, Refresh: true}, answer.TensorHit},
		"follows up": {answer.Question{Text: q, FollowsUp: true}, answer.TensorHit},
		"too old":    {answer.Question{Text: q, MaxAge: time.Hour}, answer.TensorHit},
	} {
		if name == "too old" {
			w.now = w.now.Add(2 * time.Hour)
		}
		tc.q.Space = "s"
		if a := w.asks(t, tc.q); a.Outcome != tc.want {
			t.Errorf("%s: %s, %s", name, a.Outcome, a.Gate.Why)
		}
		if name == "too old" {
			w.now = w.now.Add(-2 * time.Hour)
			w.asks(t, answer.Question{Space: "s", Text: q, Refresh: true})
		}
	}
	other := w.asks(t, answer.Question{Space: "t", Text: q})
	if other.Outcome == answer.AnswerHit {
		t.Error("another space's answer was served")
	}
}

func TestRelativeTimeExpires(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put("The dinner today is soup.")
	const q = "What is the dinner today?"
	w.ask(t, q)
	if a := w.ask(t, q); a.Outcome != answer.AnswerHit {
		t.Error(a.Outcome, a.Gate.Why)
	}
	w.now = w.now.Add(13 * time.Hour) // past midnight
	if a := w.ask(t, q); a.Outcome == answer.AnswerHit {
		t.Error("yesterday's answer was served")
	}
}

func TestNothingToAnswerFrom(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	a := w.ask(t, "What is the budget of Heron?")
	if !a.Refused || a.Outcome != answer.Miss || len(a.Citations) != 0 || !strings.Contains(a.Gate.Why, "no document") {
		t.Errorf("%+v", a)
	}
}

func TestBadQuestions(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	two := 2.0
	for name, tc := range map[string]struct {
		q    answer.Question
		kind fault.Kind
	}{
		"empty":     {answer.Question{Space: "s", Text: " \n"}, fault.Invalid},
		"too long":  {answer.Question{Space: "s", Text: strings.Repeat("a", 1<<14)}, fault.Invalid},
		"no UTF-8":  {answer.Question{Space: "s", Text: "\xff"}, fault.Invalid},
		"threshold": {answer.Question{Space: "s", Text: "a", Settings: percached.Settings{Threshold: &two}}, fault.Invalid},
		"age":       {answer.Question{Space: "s", Text: "a", MaxAge: -1}, fault.Invalid},
		"no space":  {answer.Question{Space: "u", Text: "a"}, fault.NotFound},
	} {
		if _, err := w.Ask(context.Background(), tc.q, answer.Listener{}); fault.KindOf(err) != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, err := w.history.Recent("s", 10); len(r) != 0 || err != nil {
		t.Error("a bad question is in the history", r, err)
	}
}

// brokenTree fails with the errors it was given.
type brokenTree struct {
	*qkvtree.Tree
	view, insert error
}

func (b brokenTree) View(r qkvtree.Request, fn func([]*percached.Slice, qkvtree.Match) error) error {
	if b.view != nil {
		return b.view
	}
	return b.Tree.View(r, fn)
}

func (b brokenTree) Insert(r qkvtree.Request, s []*percached.Slice) error {
	if b.insert != nil {
		return b.insert
	}
	return b.Tree.Insert(r, s)
}

func TestBrokenParts(t *testing.T) {
	broken := fault.New(fault.Unavailable, "disk", "the disk is full")
	whole := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	whole.docs.put(budget)
	want := whole.ask(t, "What is the budget of Heron?").Text
	release := make(chan struct{})
	for name, tc := range map[string]struct {
		change func(*answer.Parts)
		note   string
	}{
		"tree cannot be read":    {func(p *answer.Parts) { p.Tree = brokenTree{p.Tree.(*qkvtree.Tree), broken, broken} }, "the tensor tree"},
		"tree cannot be written": {func(p *answer.Parts) { p.Tree = brokenTree{p.Tree.(*qkvtree.Tree), nil, broken} }, "storing tensors"},
		"tree is slow": {func(p *answer.Parts) {
			p.Tree, p.Patience = slowTree{p.Tree.(*qkvtree.Tree), release}, time.Nanosecond
		}, "the tensor tree"},
		"no embedder": {func(p *answer.Parts) { p.Embedder = deaf{p.Embedder.(*llmtest.FakeEmbedder)} }, "the embedder"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), tc.change)
			w.docs.put(budget)
			a := w.ask(t, "What is the budget of Heron?")
			if strings.Contains(name, "slow") {
				close(release) // otherwise Close waits for it
			}
			if a.Text != want || !strings.Contains(strings.Join(a.Notes, ";"), tc.note) {
				t.Errorf("%q, notes %q", a.Text, a.Notes)
			}
		})
	}
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) { p.Engine = dead{p.Engine.(*llmtest.Fake)} })
	w.docs.put(budget)
	if _, err := w.Ask(context.Background(), answer.Question{Space: "s", Text: "What is the budget?"}, answer.Listener{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a dead engine: %v", err)
	}
	if r, err := w.history.Recent("s", 10); len(r) != 0 || err != nil {
		t.Error("what failed is in the history", r, err)
	}
}

// slowTree lends when release is closed.
type slowTree struct {
	*qkvtree.Tree
	release chan struct{}
}

func (s slowTree) View(r qkvtree.Request, fn func([]*percached.Slice, qkvtree.Match) error) error {
	<-s.release
	return s.Tree.View(r, fn)
}

type deaf struct{ *llmtest.FakeEmbedder }

func (deaf) Embed(context.Context, percached.Priority, []string) ([][]float32, error) {
	return nil, errors.New("no ears")
}

type dead struct{ *llmtest.Fake }

func (dead) Generate(context.Context, percached.Prompt, func(string) error) (percached.Result, error) {
	return percached.Result{}, fault.New(fault.Unavailable, "engine", "the engine is gone")
}

// A stored tensor that the engine refuses is computed instead.
func TestRefusedTensor(t *testing.T) {
	refusals := 0
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Engine = choosy{p.Engine.(*llmtest.Fake), &refusals}
	})
	w.docs.put(budget)
	first := w.ask(t, "What is the budget of Heron?")
	a := w.asks(t, answer.Question{Space: "s", Text: "What is the budget of Heron?", Bypass: true})
	if a.Text != first.Text || refusals != 1 || a.Outcome != answer.Miss {
		t.Errorf("%d refusals, %+v", refusals, a)
	}
}

// choosy refuses the first chunk's slice.
type choosy struct {
	*llmtest.Fake
	refusals *int
}

func (c choosy) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if p.Segments[1].Slice != nil {
		*c.refusals++
		return percached.Result{}, fault.New(fault.Invalid, "engine", "%w", &percached.SliceError{Segment: 1, Reason: "it smells"})
	}
	return c.Fake.Generate(ctx, p, emit)
}

func TestSpaceSettings(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	w.docs.put("The budget of Otter is 3.")
	one, off := 1, false
	w.docs.set = percached.Settings{K: &one, Bank: &off, Tensors: &off}
	for range 2 {
		a := w.ask(t, "What is the budget of Heron?")
		if a.Chunks.All != 1 || a.Outcome != answer.Miss || !strings.Contains(a.Gate.Why, "off") {
			t.Errorf("%+v", a)
		}
	}
}
