package answer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
)

// queue is a world whose engine answers one question at a time, when the test lets it.
type queue struct {
	*world
	t       *testing.T
	began   chan string // the question that the engine begins
	let     chan struct{}
	stopped chan struct{}
	all     sync.WaitGroup
}

func newQueue(t *testing.T, waiting int, with ...func(*answer.Parts)) *queue {
	q := &queue{t: t, began: make(chan string, 100), let: make(chan struct{}), stopped: make(chan struct{}, 100)}
	q.world = newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Engine = &single{Fake: p.Engine.(*llmtest.Fake), q: q}
		p.Waiting = waiting
		p.Observer.Stopped = func() { q.stopped <- struct{}{} }
		for _, f := range with {
			f(p)
		}
	})
	q.docs.put(budget)
	return q
}

type single struct {
	*llmtest.Fake
	q *queue
}

func (s *single) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	s.q.began <- p.Segments[len(p.Segments)-1].Texts[1].Text
	select {
	case <-s.q.let:
	case <-ctx.Done():
		return percached.Result{}, fault.Wrap("single", ctx.Err())
	}
	return s.Fake.Generate(ctx, p, emit)
}

// ask begins a question and returns when its chunks are known: it is in the queue then. The
// channel is closed when the question has ended.
func (q *queue) ask(ctx context.Context, text string, kind fault.Kind) (ended <-chan struct{}) {
	q.t.Helper()
	return q.askAs(ctx, "", text, kind)
}

func (q *queue) askAs(ctx context.Context, caller, text string, kind fault.Kind) (ended <-chan struct{}) {
	q.t.Helper()
	found, done := make(chan struct{}), make(chan struct{})
	q.all.Go(func() {
		defer close(done)
		var once sync.Once
		_, err := q.Ask(ctx, answer.Question{Space: "s", Text: text, Caller: caller}, answer.Listener{
			Cite: func(answer.Citation) { once.Do(func() { close(found) }) },
		})
		if fault.KindOf(err) != kind {
			q.t.Errorf("%s: %v", text, err)
		}
	})
	<-found
	return done
}

func numbered(i int) string { return fmt.Sprintf("What of the budget is number %d?", i) }

// served lets the engine answer n questions, and returns their order.
func (q *queue) served(n int) (order []string) {
	for range n {
		order = append(order, <-q.began)
		q.let <- struct{}{}
	}
	q.all.Wait()
	return order
}

// Callers take turns, whoever came first and however many questions one of them asks.
func TestCallersTakeTurns(t *testing.T) {
	q := newQueue(t, 0)
	ctx := context.Background()
	for i := range 5 {
		q.askAs(ctx, "flood", numbered(i), 0)
	}
	q.askAs(ctx, "one", numbered(10), 0)
	q.askAs(ctx, "two", numbered(20), 0)
	q.askAs(ctx, "one", numbered(11), 0)
	want := []string{numbered(0), numbered(10), numbered(20), numbered(1), numbered(11), numbered(2), numbered(3), numbered(4)}
	if diff := cmp.Diff(want, q.served(len(want))); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	// A caller that asks one question after the other is served in every second turn, and
	// does not delay others.
	q.askAs(ctx, "flood", numbered(30), 0)
	q.askAs(ctx, "flood", numbered(31), 0)
	q.askAs(ctx, "flood", numbered(32), 0)
	q.askAs(ctx, "one", numbered(40), 0)
	var order []string
	for i := range 5 {
		order = append(order, <-q.began)
		if i == 2 { // its first was answered
			q.askAs(ctx, "one", numbered(41), 0)
		}
		q.let <- struct{}{}
	}
	q.all.Wait()
	want = []string{numbered(30), numbered(40), numbered(31), numbered(41), numbered(32)}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

// A caller may have as many places as are still free: one that floods the queue leaves
// places to others, and its refusal reveals nothing of them.
func TestCallersShareTheQueue(t *testing.T) {
	q := newQueue(t, 8)
	ctx := context.Background()
	refused := func(caller string) string {
		t.Helper()
		_, err := q.Ask(ctx, answer.Question{Space: "s", Text: numbered(99), Caller: caller}, answer.Listener{})
		if fault.KindOf(err) != fault.Overloaded {
			t.Fatalf("%s: %v", caller, err)
		}
		return err.Error()
	}
	for i := range 4 {
		q.askAs(ctx, "flood", numbered(i), 0)
	}
	alone := refused("flood")
	for i := range 2 {
		q.askAs(ctx, "one", numbered(10+i), 0)
	}
	refused("one")
	q.askAs(ctx, "two", numbered(20), 0)
	if beside := refused("flood"); beside != alone {
		t.Errorf("what others do is told: %q, then %q", alone, beside)
	}
	// The same question of another caller has a place of its own.
	q.askAs(ctx, "three", numbered(3), 0)
	if n := q.Waiting(); n != 8 {
		t.Errorf("%d wait", n)
	}
	close(q.let)
	q.all.Wait()
	if n := q.Waiting(); n != 0 {
		t.Errorf("%d wait in the end", n)
	}
}

// Questions of one caller are served in their order; one too many is refused at once.
func TestQueueOrder(t *testing.T) {
	const most = 5
	q := newQueue(t, 2*most)
	ctx := context.Background()
	for i := range most {
		q.ask(ctx, numbered(i), 0)
	}
	q.ask(ctx, numbered(2), 0) // the same question takes no second place
	if n := q.Waiting(); n != most {
		t.Errorf("%d wait", n)
	}
	searched := q.docs.asked
	for range 3 {
		if _, err := q.Ask(ctx, answer.Question{Space: "s", Text: numbered(99)}, answer.Listener{}); fault.KindOf(err) != fault.Overloaded {
			t.Error(err)
		}
	}
	if q.docs.asked != searched {
		t.Error("for a question that is not answered documents were searched")
	}
	if a, err := q.Work(ctx, answer.Work{Space: "s", Question: heron.Text, Prefill: true}); err != nil || a.Tokens.Computed == 0 {
		t.Errorf("idle work has no place in this line: %+v, %v", a, err)
	}
	for i, text := range q.served(most) {
		if text != numbered(i) {
			t.Errorf("%d: served %q", i, text)
			break
		}
	}
	if n := q.Waiting(); n != 0 {
		t.Errorf("%d wait in the end", n)
	}
	// Stored answers need no place.
	for i := range most {
		q.ask(ctx, numbered(10+i), 0)
	}
	for i := range most {
		q.ask(ctx, numbered(i), 0)
	}
	if n := q.Waiting(); n != most {
		t.Errorf("%d wait", n)
	}
	close(q.let)
	q.all.Wait()
}

// Chance decides who gets the last places of a caller.
func TestLastPlaces(t *testing.T) {
	const most = 8 // of one caller; the first seven are sure
	drawn := 1.0
	q := newQueue(t, 2*most, func(p *answer.Parts) { p.Chance = func() float64 { return drawn } })
	ctx := context.Background()
	for i := range 7 {
		q.ask(ctx, numbered(i), 0)
	}
	for _, tc := range []struct {
		drawn float64
		want  fault.Kind
	}{{0.49, fault.Overloaded}, {0.51, 0}} {
		if drawn = tc.drawn; tc.want == 0 {
			q.ask(ctx, numbered(99), 0)
		} else if _, err := q.Ask(ctx, answer.Question{Space: "s", Text: numbered(99)}, answer.Listener{}); fault.KindOf(err) != tc.want {
			t.Errorf("drawn %v: %v", tc.drawn, err)
		}
	}
	if n := q.Waiting(); n != most {
		t.Errorf("%d wait", n)
	}
	drawn = 1
	if _, err := q.Ask(ctx, answer.Question{Space: "s", Text: numbered(100)}, answer.Listener{}); fault.KindOf(err) != fault.Overloaded {
		t.Error("a full line took one more:", err)
	}
	close(q.let)
	q.all.Wait()
}

// A client that leaves gives its place to others, wherever it is in the queue. The observer
// learns once that the engine was stopped, and only if it worked for that client.
func TestLeavingTheQueue(t *testing.T) {
	q := newQueue(t, 6)
	var give [3]context.CancelFunc
	var ended [3]<-chan struct{}
	for i := range give {
		var ctx context.Context
		ctx, give[i] = context.WithCancel(context.Background())
		ended[i] = q.ask(ctx, numbered(i), fault.Timeout)
	}
	if text := <-q.began; text != numbered(0) {
		t.Errorf("began with %q", text)
	}
	give[1]()
	<-ended[1]
	give[0]()
	<-q.stopped
	if text := <-q.began; text != numbered(2) {
		t.Errorf("went on with %q", text)
	}
	give[2]()
	<-q.stopped
	q.all.Wait()
	q.Close()
	if n := q.Waiting(); n != 0 || len(q.began) > 0 || len(q.stopped) > 0 {
		t.Errorf("%d wait, %d begun, %d stopped", n, len(q.began), len(q.stopped))
	}
}

// Stopped does not run for an answer that comes, nor while another client waits for it, nor
// when percached closes.
func TestNotStopped(t *testing.T) {
	q := newQueue(t, 0)
	ctx, give := context.WithCancel(context.Background())
	first := q.ask(ctx, numbered(1), fault.Timeout)
	<-q.began
	q.ask(context.Background(), numbered(1), 0)
	give()
	<-first
	q.let <- struct{}{}
	q.ask(context.Background(), numbered(2), fault.Unavailable)
	<-q.began
	q.Close()
	q.all.Wait()
	if len(q.stopped) > 0 {
		t.Errorf("%d were stopped", len(q.stopped))
	}
}

// Citations come before the answer's text, whatever fits the context and wherever the answer
// comes from. They are the same for an answer with a bound of its own.
func TestCitationsComeFirst(t *testing.T) {
	bodies := []string{budget, "Heron met in Leeds about the budget.", "The budget of Heron grew by ten.", "Heron has a budget and a boat."}
	lengths := map[int]bool{}
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, order := range []percached.Order{percached.Relevance, percached.Canonical} {
			for _, room := range []int{4096, 120, 100} {
				set := answer.Default()
				set.Placement, set.Order, set.K, set.MaxTokens = placement, order, 4, 16
				o := llmtest.DefaultOptions()
				o.Context = room
				w := newWorld(t, set, o, nil)
				for _, b := range bodies {
					w.docs.put(b)
				}
				var first []answer.Citation
				for _, q := range []answer.Question{heron, heron, {Space: "s", Text: heron.Text, MaxTokens: 1, Bypass: true}} {
					var told []answer.Citation
					var text string
					a, err := w.Ask(context.Background(), q, answer.Listener{
						Cite: func(c answer.Citation) {
							if told = append(told, c); text != "" {
								t.Error("cited when the answer had begun")
							}
						},
						Piece: func(p string) { text += p },
					})
					if err != nil || !slices.Equal(told, a.Citations) || text != a.Text || len(told) == 0 {
						t.Errorf("%v, %s, %d tokens: told %+v, then %+v, %v", placement, order, room, told, a.Citations, err)
					}
					if first == nil {
						first = told
					}
					if !slices.Equal(told, first) {
						t.Errorf("%v, %s, %d tokens: from %+v, first from %+v", placement, order, room, told, first)
					}
					lengths[len(told)] = true
				}
			}
		}
	}
	if len(lengths) < 2 {
		t.Error("everything did fit")
	}
}

// If no document fits beside the question, the question fails.
func TestNothingFits(t *testing.T) {
	set := answer.Default()
	set.MaxTokens = 16
	o := llmtest.DefaultOptions()
	o.Context = 75
	w := newWorld(t, set, o, nil)
	w.docs.put(budget)
	if a, err := w.Ask(context.Background(), heron, answer.Listener{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%+v, %v", a, err)
	}
}
