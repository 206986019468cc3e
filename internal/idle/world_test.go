package idle_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const space = "s"

// world is all layers on a folder, with an engine that follows a script and a
// clock that moves with what it computes.
type world struct {
	testing.TB
	dir   string
	back  time.Duration // by which the clock on the wall was set back
	clock *llmtest.Virtual
	idle.Parts
	meta, tensors *kv.DB
	scheduler     *scheduler.Scheduler
	engine        *llmtest.Fake
	embedder      *llmtest.FakeEmbedder
	close         func()

	set    answer.Settings
	config idle.Config
	says   func(question string) (string, bool) // the model's script
	apart  func(question string) (string, bool) // and where chunks stand side by side; nil: the same
	// noParallel is why the model allows no other placement than sequential.
	noParallel string
	// checked holds answers against the documents: without a script the model makes them up.
	checked bool
	step    func(llmtest.Step)
	ended   []scheduler.Step
}

// costs of a small machine.
func costs() llmtest.Costs {
	return llmtest.Costs{Compute: 10 * time.Millisecond, Decode: 50 * time.Millisecond, Restore: time.Millisecond, Capture: time.Millisecond}
}

func newWorld(t testing.TB, change func(*world)) *world {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir(), clock: &llmtest.Virtual{}, set: answer.Default(), config: idle.Default()}
	w.set.Threshold, w.set.MaxTokens = 0.85, 8
	w.config.Policy.Zone = time.UTC
	if change != nil {
		change(w)
	}
	o := llmtest.DefaultOptions()
	o.Clock, o.Costs, o.NoParallel = w.clock, costs(), w.noParallel
	o.Script = func(p percached.Prompt, question string) (string, bool) {
		if w.apart != nil && p.Placement == percached.Parallel {
			return w.apart(question)
		}
		if w.says == nil {
			return "", false
		}
		return w.says(question)
	}
	o.Step = func(s llmtest.Step) {
		if w.step != nil {
			w.step(s)
		}
	}
	w.engine, w.embedder = llmtest.NewFake(o), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	w.open()
	t.Cleanup(func() {
		w.close()
		w.engine.Close()
		w.embedder.Close()
	})
	w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "emails"}))
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) now() time.Time {
	return time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC).Add(w.clock.Now().Sub(time.Time{}) - w.back)
}

func (w *world) open() {
	w.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	var err error
	w.meta, err = kv.Open(filepath.Join(w.dir, "meta"), o)
	w.ok(err)
	w.tensors, err = kv.Open(filepath.Join(w.dir, "tensors"), o)
	w.ok(err)
	k := knowledgebank.Default()
	k.Now = w.now
	w.Knowledge, err = knowledgebank.Open(w.meta, k)
	w.ok(err)
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed = filepath.Join(w.dir, "index"), w.meta, w.embedder, w.Knowledge
	w.Index, err = retrieval.Open(r)
	w.ok(err)
	b := qabank.Default()
	b.Now = w.now
	w.Bank, err = qabank.Open(w.meta, b)
	w.ok(err)
	tr := qkvtree.Default()
	tr.Key, tr.Limit, tr.Now = []byte("0123456789abcdef"), 1<<20, w.now
	w.Tree, err = qkvtree.Open(w.tensors, tr)
	w.ok(err)
	w.History, err = answer.OpenHistory(w.meta, 1000)
	w.ok(err)
	talks, err := conversation.Open(w.meta, w.now)
	w.ok(err)
	log := slog.New(slog.DiscardHandler)
	watch := &idle.Watch{}
	w.Asker, err = answer.New(answer.Parts{
		Unchecked: !w.checked,
		Knowledge: w.Knowledge, Searcher: w.Index, Bank: w.Bank, Tree: w.Tree, Embedder: w.embedder, Engine: w.engine, History: w.History,
		Patience: time.Hour, Now: w.now, Logger: log, Energy: watch.Energy, Observer: answer.Observer{Asked: watch.Asked}, Placement: w.placement, Form: w.form,
	}, w.set)
	w.ok(err)
	p := predictor.Default()
	p.DB, p.Knowledge, p.Engine, p.Now, p.Asked = w.meta, w.Knowledge, w.engine, w.now, idle.Asked(w.History)
	p.Check = &idle.Check{Knowledge: w.Knowledge, Index: w.Index, Bank: w.Bank, Embedder: w.embedder, Settings: w.Asker, Floor: w.config.Floor}
	w.Predictor, err = predictor.Open(p)
	w.ok(err)
	layers := ingest.Layers{
		Meta: w.meta, Tensors: w.tensors, Knowledge: w.Knowledge, Index: w.Index, Bank: w.Bank, Tree: w.Tree,
		History: w.History, Conversations: talks, Asker: w.Asker, Predictor: w.Predictor, Logger: log,
	}
	w.Library = ingest.New(layers)
	w.Embedder, w.Engine, w.Now = w.embedder, w.engine, w.now
	w.Placements, err = calibrate.Open(w.meta)
	w.ok(err)
	worker, err := idle.New(w.Parts, w.config)
	w.ok(err)
	s := scheduler.Options{DB: w.meta, Worker: worker, Config: w.config.Policy, Now: w.now}
	s.Observer.Ended = func(st scheduler.Step) { w.ended = append(w.ended, st) }
	w.scheduler, err = scheduler.Open(s)
	w.ok(err)
	w.Library.Jobs, worker.Parked = w.scheduler, w.scheduler.Parked
	watch.Scheduler, watch.Predictor = w.scheduler, w.Predictor
	w.close = func() {
		w.Asker.Close()
		if err := errors.Join(w.scheduler.Close(), w.Predictor.Close(), w.History.Flush(), w.Tree.Close(), w.Bank.Close(), w.Index.Close(), w.tensors.Close(), w.meta.Close()); err != nil {
			w.Error(err)
		}
	}
}

// placement is what was found to serve the model, as a service wires it.
func (w *world) placement(kind string, set answer.Settings) (percached.Placement, bool) {
	rec := w.Placements.Get(idle.Subject(w.engine.Info(), kind, set))
	return rec.Placement()
}

// form is the least exact form that was found to lose little.
func (w *world) form(kind string, set answer.Settings) percached.Form {
	rec := w.Placements.Get(idle.Subject(w.engine.Info(), kind, set))
	return rec.Forms[set.Placement].Form(set.MaxChanged)
}

func (w *world) add(key, text string) {
	w.Helper()
	_, err := w.Library.Add(context.Background(), space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		return emit(&knowledgebank.Source{
			Key: key, Title: key, Source: "mail from Ana Ruiz", Format: "text", Date: w.now(), Blocks: []knowledgebank.Block{{Text: text}},
		})
	}, nil)
	w.ok(err)
}

func (w *world) ask(question string) answer.Answer {
	w.Helper()
	a, err := w.Asker.Ask(context.Background(), answer.Question{Space: space, Text: question}, answer.Listener{})
	w.ok(err)
	return a
}

// work does all that is due now, as long as the scheduler lets it, and gives the
// jobs that ended.
func (w *world) work() []scheduler.Step {
	w.Helper()
	w.ended = nil
	for range 1000 {
		st, err := w.scheduler.Step(context.Background())
		w.ok(err)
		if st.Job == nil {
			return w.ended
		}
	}
	w.Fatal("idle work does not end")
	return nil
}

// sleep lets time pass without anybody doing anything.
func (w *world) sleep(d time.Duration) { w.clock.Sleep(d) }

// entries lists the bank: question, state.
func (w *world) entries() map[string]string {
	w.Helper()
	found := map[string]string{}
	w.ok(w.Bank.Each(space, func(e qabank.Entry) error {
		state := "prefilled"
		if e.Answered {
			state = "answered"
		}
		if e.Stale {
			state += ", stale"
		}
		found[e.Question] = strings.Join([]string{state, e.Origin}, ", ")
		return nil
	}))
	return found
}
