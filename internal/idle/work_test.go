package idle_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

const budget, again = "What is the budget of Heron?", "Of Heron, what is the budget?"

// A question that was served with another one's answer gets its own when there is
// time, once, whatever process does it.
func TestServedQuestionsAreAnswered(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	if a := b.ask(again); a.Outcome != answer.AnswerHit {
		t.Fatalf("%+v", a.Gate)
	}
	b.stand()
	if got := b.entries(); len(got) != 1 {
		t.Errorf("before there was time: %v", got)
	}
	if got := kinds(b.rest()); got["answer done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	if d := cmp.Diff(map[string]string{budget: "answered, asked", again: "answered, asked"}, b.entries()); d != "" {
		t.Error(d)
	}
	a := b.ask(again)
	if a.Outcome != answer.AnswerHit || a.Entry != qabank.NewID(space, again) {
		t.Errorf("asked again: %s, %v", a.Outcome, a.Entry)
	}
	b.stand()
	if got := kinds(b.rest()); got["answer done"] > 0 {
		t.Errorf("it was answered once more: %v", got)
	}
}

// An answer whose documents changed is made anew: what is served next rests on
// what stands there now.
func TestStaleAnswersAreRefreshed(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	b.rest()
	b.add("Heron", text("Heron")+" The budget may grow by ten.")
	if d := cmp.Diff(map[string]string{budget: "answered, stale, asked"}, b.entries()); d != "" {
		t.Fatal(d)
	}
	if got := kinds(b.rest()); got["refresh done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	a := b.ask(budget)
	now, err := b.Knowledge.Document(space, b.document("Heron"))
	b.ok(err)
	if a.Outcome != answer.AnswerHit || len(a.Citations) != 1 || a.Citations[0].Chunk != now.Chunks[0] {
		t.Errorf("%s from %+v", a.Outcome, a.Citations)
	}
}

// What was predicted under another model, and is not served any more, is answered
// anew by the one at hand; what somebody asked waits until it is asked again.
func TestPredictionsOfAnotherModel(t *testing.T) {
	b := newBench(t, nil)
	predicts := []string{"Where does the Heron committee meet?", "Where is the office of Heron?"}
	b.predicts = [][]string{predicts}
	b.letter("Heron")
	b.ask(budget)
	b.rest()
	if a := b.ask(predicts[0]); a.Outcome != answer.AnswerHit {
		t.Fatalf("%s: %+v", a.Outcome, a.Gate)
	}
	b.rest()
	b.models.engine = "another"
	b.stand()
	if got := kinds(b.rest()); got["populate done"] != 1 || got["refresh done"] > 0 {
		t.Errorf("jobs: %v", got)
	}
	for i, served := range []bool{false, true} {
		if a := b.ask(predicts[i]); (a.Outcome == answer.AnswerHit) != served {
			t.Errorf("%s: %s, %+v", predicts[i], a.Outcome, a.Gate)
		}
	}
	if got := kinds(b.rest()); got["populate done"] > 0 {
		t.Errorf("it was answered once more: %v", got)
	}
}

// addNothing puts an empty document in the place of another.
func (b *bench) addNothing(key string) {
	b.Helper()
	_, err := b.Library.Add(context.Background(), space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		return emit(&knowledgebank.Source{Key: key, Title: key, Source: "note", Format: "text", Date: b.now()})
	}, nil)
	b.ok(err)
}

// holds counts what is kept in all layers.
func (b *bench) holds() map[string]int {
	b.Helper()
	st, err := b.Predictor.Stats(space)
	b.ok(err)
	past, err := b.History.Recent(space, 100)
	b.ok(err)
	n := map[string]int{"summaries": st.Parts, "predictions": st.Predictions, "entries": len(b.entries()), "history": len(past)}
	b.Tree.Nodes(space, func(i qkvtree.Info) {
		if i.Chunk != (percached.ChunkID{}) {
			n["slices"]++
		}
	})
	maps.DeleteFunc(n, func(_ string, n int) bool { return n == 0 })
	return n
}

// With a document goes all that idle work made of it, and none of it comes back,
// whatever job was under way.
func TestForgottenStaysForgotten(t *testing.T) {
	predicts := []string{"Where does the Heron committee meet?", "What does the Heron committee talk about?"}
	setUp := func(placement percached.Placement) *bench {
		b := newBench(t, func(b *bench) { b.set.Placement = placement })
		b.predicts = [][]string{predicts, {"Where is the office of Heron?"}}
		b.letter("Heron")
		b.ask(budget)
		b.ask(again)
		return b
	}
	b := setUp(percached.Sequential)
	b.rest()
	if d := cmp.Diff(map[string]int{"summaries": 1, "predictions": 2, "entries": 4, "history": 2, "slices": 1}, b.holds()); d != "" {
		t.Fatal(d)
	}
	b.forget("Heron")
	if d := cmp.Diff(map[string]int{}, b.holds()); d != "" {
		t.Errorf("left: %s", d)
	}
	if got := kinds(b.rest()); got["clean done"] != 1 || len(got) != 1 {
		t.Errorf("jobs: %v", got)
	}
	if untidy, err := b.Library.NeedsCleanUp(); untidy || err != nil {
		t.Error("its bytes are still there", err)
	}

	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for at := 3; at < 140; at += 19 {
			b := setUp(placement)
			steps, forgotten := 0, make(chan struct{})
			b.step = func(s llmtest.Step) {
				if s.Op == llmtest.OpQueue {
					return
				}
				if steps++; steps != at {
					return
				}
				go func() {
					defer close(forgotten)
					b.forget("Heron")
				}()
			}
			b.rest()
			if steps < at {
				t.Fatalf("only %d steps", steps)
			}
			<-forgotten
			b.rest()
			if d := cmp.Diff(map[string]int{}, b.holds()); d != "" {
				t.Errorf("forgotten at step %d; left: %s", at, d)
			}
		}
	}
}

// What fails is tried again, and parked with its reason in the end; it can be
// done when whatever failed works again.
func TestBrokenPartsAreWaitedFor(t *testing.T) {
	b := newBench(t, nil)
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	b.ask(budget)
	b.ask(again)
	b.broken.engine.Store(true)
	b.rest()
	parked := b.scheduler.Queue()
	if len(parked) == 0 {
		t.Fatal("nothing is in the queue")
	}
	for _, j := range parked {
		if !j.Parked || j.Attempts != 5 || j.Reason == "" {
			t.Errorf("%+v", j)
		}
	}
	b.broken.engine.Store(false)
	if got := b.rest(); len(got) > 0 {
		t.Errorf("parked jobs were done: %v", kinds(got))
	}
	for _, j := range parked {
		b.ok(b.scheduler.Retry(j.ID()))
	}
	b.rest()
	if left := b.scheduler.Queue(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if d := cmp.Diff(map[string]int{"summaries": 1, "predictions": 1, "entries": 3, "history": 2, "slices": 1}, b.holds()); d != "" {
		t.Error(d)
	}

	b.ask("The budget of Heron is what?")
	b.broken.embedder.Store(true)
	b.letter("Kite")
	if got := kinds(b.rest()); got["abstract done"] != 1 {
		t.Errorf("without an embedder: %v", got)
	}
	b.broken.embedder.Store(false)
	b.rest()
	for _, j := range b.scheduler.Queue() {
		b.ok(b.scheduler.Retry(j.ID()))
	}
	b.rest()
	if got := b.entries()["The budget of Heron is what?"]; got != "answered, asked" {
		t.Errorf("the entry is %q", got)
	}
}

// Where only answers are kept of predicted questions, their tensors are not made
// by another kind of work either.
func TestAnswersOnly(t *testing.T) {
	answers := percached.PredictAnswers
	b := newBench(t, nil)
	b.want(func(s *percached.Settings) { s.Prediction = &answers })
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	got := kinds(b.rest())
	if d := cmp.Diff(map[string]int{"abstract done": 1, "predict done": 1, "populate done": 1}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"summaries": 1, "predictions": 1, "entries": 1}, b.holds()); d != "" {
		t.Error(d)
	}
	both := percached.PredictBoth
	b.want(func(s *percached.Settings) { s.Prediction = &both })
	if got := kinds(b.rest()); got["restore done"] != 1 {
		t.Errorf("now that tensors are wanted: %v", got)
	}
}

// Without the bank predicted questions are prefilled: their answers would not be
// kept. An engine that cannot store tensors leaves nothing worth predicting.
func TestNothingIsMadeInVain(t *testing.T) {
	no := false
	b := newBench(t, nil)
	b.want(func(s *percached.Settings) { s.Bank = &no })
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	for _, s := range b.rest() {
		if s.Job.Kind == scheduler.Populate && s.Done.Generated > 0 {
			t.Error("an answer was made that is not kept")
		}
	}
	if d := cmp.Diff(map[string]int{"summaries": 1, "predictions": 1, "slices": 1}, b.holds()); d != "" {
		t.Error(d)
	}
	b = newBench(t, func(b *bench) { b.models.noSlices, b.set.Threshold = "a test", 0.9 })
	b.letter("Heron")
	if got := b.rest(); len(got) > 0 {
		t.Errorf("jobs: %v", kinds(got))
	}
}

// An answer from the bank waits for nothing at all of the job under way.
func TestHitsWaitForNothing(t *testing.T) {
	b := newBench(t, nil)
	b.predicts = [][]string{{"Where does the Heron committee meet?"}}
	b.letter("Heron")
	b.ask(budget)
	for _, kind := range []scheduler.Kind{scheduler.Abstract, scheduler.Populate} {
		hits := 0
		b.step = func(s llmtest.Step) {
			st, err := b.scheduler.Status()
			b.ok(err)
			if s.Priority == percached.Background && hits == 0 && st.Running != nil && st.Running.Kind == kind {
				hits++ // the job stands still meanwhile
				if a := b.ask(budget); a.Outcome != answer.AnswerHit {
					t.Errorf("%s", a.Outcome)
				}
			}
		}
		b.sleep(10 * time.Minute)
		ended := b.work()
		if len(ended) == 0 || ended[len(ended)-1].End != scheduler.EndPreempted || hits != 1 {
			t.Fatalf("%s: %d hits, %v", kind, hits, kinds(ended))
		}
	}
	if got := kinds(b.rest()); got["populate done"] != 1 {
		t.Errorf("in the end: %v", got)
	}
}

// What is answered while the vectors are another model's was found by words alone: it
// is held against all of a search as soon as that is possible.
func TestAnswersByWordsAreChecked(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.rest()
	b.models.embedder = "another embedder"
	b.stand()
	b.ask(budget)
	seen := func() uint64 {
		e, err := b.Bank.Get(space, qabank.NewID(space, budget))
		b.ok(err)
		return e.Seen
	}
	if n := seen(); n != 0 {
		t.Errorf("it passes for one that has seen %d changes", n)
	}
	if got := kinds(b.rest()); got["reembed done"] != 1 || got["check done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	seq, err := b.Knowledge.Seq(space)
	b.ok(err)
	if n := seen(); n != seq {
		t.Errorf("it has seen %d changes of %d", n, seq)
	}
}

// Entries are held against newer documents when none came for an hour, summed up or
// not.
func TestCheckWaitsItsHour(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	b.rest()
	b.add("Gulls", gulls)
	for at := time.Duration(0); at < time.Hour; at += 10 * time.Minute {
		b.scheduler.Changed(space)
		if got := kinds(b.work()); got["check done"] > 0 {
			t.Errorf("after %v: %v", at, got)
		}
		b.sleep(10 * time.Minute)
	}
	if got := kinds(b.work()); got["check done"] != 1 {
		t.Errorf("after an hour: %v", got)
	}
}

// A question that is taken out of the history while idle work looks at it does not
// come into the bank.
func TestClearedQuestionsStayAway(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	if a := b.ask(again); a.Outcome != answer.AnswerHit {
		t.Fatalf("%+v", a.Gate)
	}
	cleared := false
	b.step = func(s llmtest.Step) {
		if s.Op == llmtest.OpEmbed && s.Priority == percached.Background && !cleared {
			cleared = true
			_, err := b.History.Clear(space)
			b.ok(err)
		}
	}
	b.rest()
	if d := cmp.Diff(map[string]string{budget: "answered, asked"}, b.entries()); d != "" || !cleared {
		t.Errorf("cleared: %v; %s", cleared, d)
	}
}

// Looking for work ends with its context, however much there is to look through.
func TestLookEnds(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	w, err := idle.New(b.Parts, b.config)
	b.ok(err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, k := range []scheduler.Kind{scheduler.Abstract, scheduler.Restore, scheduler.Warm} {
		if due, err := w.Due(ctx, space, k, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", k, due, err)
		}
	}
}
