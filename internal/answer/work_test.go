package answer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

func (w *world) stored() (n int) {
	w.tree.Nodes("s", func(qkvtree.Info) { n++ })
	return n
}

// A question is prefilled, then answered, then asked: each step uses what the one before has
// stored.
func TestPrefillDecodeAsk(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	source := w.docs.put(budget)
	ctx := context.Background()
	work := answer.Work{Space: "s", Question: heron.Text, Prefill: true, Origin: "predicted", Sources: []percached.ChunkID{source}}
	pre, err := w.Work(ctx, work)
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := w.bank.Exact("s", heron.Text)
	if !ok || err != nil || e.Answered || e.Origin != "predicted" || !slices.Equal(e.Sources, work.Sources) || len(e.Evidence) != 1 {
		t.Fatalf("after prefilling: %+v, %v", e, err)
	}
	if w.stored() != 2 || pre.Tokens.Computed == 0 || pre.Tokens.Generated != 0 || pre.Written == 0 || len(pre.Made) != 1 {
		t.Fatalf("%d slices are stored; it took %+v", w.stored(), pre)
	}
	again, err := w.Work(ctx, work)
	if err != nil || again.Tokens.Computed != 0 || again.Written != 0 {
		t.Errorf("prefilled twice: %+v, %v", again, err)
	}
	if a := w.asks(t, answer.Question{Space: "s", Text: "Is the budget of Heron known?"}); a.Outcome != answer.TensorHit {
		t.Errorf("another question found no tensors: %s", a.Outcome)
	}
	dec, err := w.Work(ctx, answer.Work{Space: "s", Question: heron.Text})
	if err != nil || dec.Tokens.Generated == 0 || dec.Chunks.Stored != 1 || dec.Written != 0 {
		t.Errorf("decoded: %+v, %v", dec, err)
	}
	e, _, _ = w.bank.Exact("s", heron.Text)
	if !e.Answered || e.Origin != "predicted" || len(e.Sources) != 1 || e.Hits != 0 {
		t.Errorf("after decoding: %+v", e)
	}
	if a := w.asks(t, heron); a.Outcome != answer.AnswerHit || a.Text != dec.Text || a.Entry != e.ID {
		t.Errorf("asked: %+v", a)
	}
	// Work does not enter the history.
	if r, err := w.history.Recent("s", 10); len(r) != 2 || err != nil {
		t.Error(r, err)
	}
	// Prefilling does not undo an answer.
	if _, err := w.Work(ctx, work); err != nil {
		t.Fatal(err)
	}
	if e, _, _ := w.bank.Exact("s", heron.Text); !e.Answered {
		t.Error("prefilling took an answer away")
	}
}

// Work that is preempted keeps what it has computed.
func TestWorkIsPreempted(t *testing.T) {
	for _, how := range []string{"a question", "the context"} {
		t.Run(how, func(t *testing.T) {
			o := llmtest.DefaultOptions()
			at, let, queued := make(chan struct{}), make(chan struct{}), make(chan struct{})
			held := false
			o.Step = func(s llmtest.Step) {
				if s.Op == llmtest.OpQueue && s.Priority == percached.Foreground {
					close(queued)
				}
				if s.Op == llmtest.OpPrefill && s.Priority == percached.Background && s.Segment == 2 && !held {
					held = true
					close(at)
					<-let
				}
			}
			set := answer.Default()
			w := newWorld(t, set, o, nil)
			w.docs.put(budget)
			w.docs.put("The budget of Heron " + strings.Repeat("was asked for again and again ", 20))
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			done := make(chan error, 1)
			var got answer.Answer
			go func() {
				var err error
				got, err = w.Work(ctx, answer.Work{Space: "s", Question: heron.Text, Origin: "predicted"})
				done <- err
			}()
			<-at
			asked := make(chan struct{})
			if how == "a question" {
				go func() {
					defer close(asked)
					w.ask(t, "Who asked for Heron?")
				}()
			} else {
				cancel(percached.ErrPreempted)
				close(asked)
			}
			if how == "a question" {
				<-queued
			}
			close(let)
			if err := <-done; !errors.Is(err, percached.ErrPreempted) {
				t.Fatal(err)
			}
			<-asked
			if got.Written == 0 || w.stored() < 2 {
				t.Errorf("%d slices were kept of what was computed; it took %+v", w.stored(), got)
			}
			if _, there, _ := w.bank.Exact("s", heron.Text); there {
				t.Error("there is an entry of what was never answered")
			}
			again, err := w.Work(context.Background(), answer.Work{Space: "s", Question: heron.Text, Origin: "predicted"})
			if err != nil || again.Chunks.Stored == 0 {
				t.Errorf("it did not go on where it was: %+v, %v", again.Chunks, err)
			}
		})
	}
}

func TestWorkKeepsWhatAPersonAsked(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	id := w.docs.put(budget)
	w.asks(t, heron)
	if _, err := w.Work(context.Background(), answer.Work{Space: "s", Question: heron.Text, Origin: "predicted", Sources: []percached.ChunkID{id}}); err != nil {
		t.Fatal(err)
	}
	if e, _, _ := w.bank.Exact("s", heron.Text); e.Origin != answer.Asked || len(e.Sources) != 0 {
		t.Errorf("%+v", e)
	}
}

func TestFill(t *testing.T) {
	for _, p := range []percached.Placement{percached.Sequential, percached.Parallel} {
		t.Run(p.String(), func(t *testing.T) {
			set := answer.Default()
			set.Placement = p
			w := newWorld(t, set, llmtest.DefaultOptions(), nil)
			a, b := w.docs.put(budget), w.docs.put("Ana Ruiz leads Heron.")
			ctx := context.Background()
			if n, err := w.Missing("s", []percached.ChunkID{a, b}); n == 0 || err != nil {
				t.Fatal(n, err)
			}
			got, err := w.Fill(ctx, "s", []percached.ChunkID{a, b})
			if err != nil || len(got.Made) != 2 || w.stored() != 3 || got.Tokens.Computed == 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			if n, err := w.Missing("s", []percached.ChunkID{a, b}); n != 0 || err != nil {
				t.Error(n, err)
			}
			if _, err := w.Fill(ctx, "s", []percached.ChunkID{a, {1}}); fault.KindOf(err) != fault.NotFound {
				t.Error(err)
			}
			if r := w.bank.Stats("s"); r.Entries != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Slices without room count as neither made nor written.
func TestNoRoomForTensors(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	id := w.docs.put(budget)
	if err := w.tree.SetLimit(0); err != nil {
		t.Fatal(err)
	}
	got, err := w.Fill(context.Background(), "s", []percached.ChunkID{id})
	if fault.KindOf(err) != fault.Unavailable || got.Tokens.Computed == 0 {
		t.Errorf("%+v, %v", got.Tokens, err)
	}
	for _, a := range []answer.Answer{got, w.asks(t, heron)} {
		if a.Written != 0 || len(a.Made) != 0 {
			t.Errorf("%d bytes written, of %v", a.Written, a.Made)
		}
	}
}

// Work that could not be stored fails: otherwise idle work would repeat it for ever.
func TestWorkThatIsNotKept(t *testing.T) {
	broken := llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	broken.Close()
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) { p.Embedder = broken })
	w.docs.put(budget)
	if _, err := w.Work(context.Background(), answer.Work{Space: "s", Question: heron.Text}); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	w, h := heldWorld(t)
	done := make(chan error)
	go func() {
		_, err := w.Work(context.Background(), answer.Work{Space: "s", Question: heron.Text})
		done <- err
	}()
	<-h.began
	for id := range w.docs.chunks {
		w.docs.drop(id)
	}
	close(h.let)
	if err := <-done; fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

// The observer receives each question and its result.
func TestObserver(t *testing.T) {
	var told []answer.Outcome
	asking := 0
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Observer.Asked = func(string, string) func(answer.Answer, error) {
			asking++
			return func(a answer.Answer, err error) {
				asking--
				told = append(told, a.Outcome)
			}
		}
	})
	w.docs.put(budget)
	w.asks(t, heron)
	w.asks(t, heron)
	if _, err := w.Work(context.Background(), answer.Work{Space: "s", Question: heron.Text}); err != nil {
		t.Fatal(err)
	}
	if asking != 0 || !slices.Equal(told, []answer.Outcome{answer.Miss, answer.AnswerHit}) {
		t.Error(asking, told)
	}
}

// An answer has the energy of its question, if that is known. Each question is measured to its
// end, also one that fails, before the observer hears of it.
func TestEnergyOfAnAnswer(t *testing.T) {
	var told []*float64
	measures := 0
	known := new(12.5)
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Energy = func() func(time.Duration) *float64 {
			measures++
			return func(time.Duration) *float64 { measures--; return known }
		}
		p.Observer.Asked = func(string, string) func(answer.Answer, error) {
			return func(a answer.Answer, _ error) { told = append(told, a.Joules) }
		}
	})
	w.docs.put(budget)
	if a := w.asks(t, heron); a.Joules == nil || *a.Joules != 12.5 {
		t.Errorf("%+v", a.Joules)
	}
	known = nil
	if a := w.asks(t, heron); a.Joules != nil {
		t.Errorf("%v J, which is not known", *a.Joules)
	}
	if _, err := w.Ask(t.Context(), answer.Question{Space: "none", Text: heron.Text}, answer.Listener{}); err == nil {
		t.Error("a space that is not there")
	}
	if measures != 0 || len(told) != 3 || told[0] == nil || told[1] != nil {
		t.Errorf("%d questions are still measured; observed %v", measures, told)
	}
}

// A user learns that background work found another answer, until the answer is given.
func TestChangedAnswer(t *testing.T) {
	ctx := context.Background()
	var told []qabank.ID
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Observer.Changed = func(space string, id qabank.ID) { told = append(told, id) }
	})
	w.docs.put(budget)
	first := w.asks(t, heron)
	again := func(changed int) {
		t.Helper()
		w.now = w.now.Add(time.Hour)
		if _, err := w.Work(ctx, answer.Work{Space: "s", Question: heron.Text, Again: true}); err != nil {
			t.Fatal(err)
		}
		news, err := w.bank.PageChanged("s", qabank.ID{}, 10)
		if err != nil || len(news) != changed || len(told) != changed {
			t.Fatalf("%d entries are changed and %d were told, not %d: %v", len(news), len(told), changed, err)
		}
	}
	again(0) // the same answer
	w.docs.put("The budget of Heron rose: 51 thousand.")
	again(1)
	e, _, _ := w.bank.Exact("s", heron.Text)
	if !e.Changed || e.ID != told[0] || e.Answer == first.Text {
		t.Errorf("%+v, once %q", e, first.Text)
	}
	w.now = w.now.Add(time.Hour)
	if a := w.asks(t, heron); a.Outcome != answer.AnswerHit {
		t.Fatal(a.Outcome)
	}
	if news, err := w.bank.PageChanged("s", qabank.ID{}, 10); len(news) != 0 || err != nil {
		t.Errorf("the user knows %+v; %v", news, err)
	}
	if e, _, _ := w.bank.Exact("s", heron.Text); e.Changed {
		t.Error("still changed")
	}
}
