package idle_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

// bench is a world whose engine and embedder share a device, may break, and tell
// what they do. Its model sums up by repeating, and predicts what it is told to.
type bench struct {
	*world
	predicts [][]string // what the model prints at each prediction, in order
	garbage  string     // what it prints in place of anything else
	searched func()     // is told of each search that an answer or a check makes
	broken   struct{ engine, embedder atomic.Bool }
	models   struct{ engine, embedder, noSlices string }
	limits   struct{ abstract, bank int64 } // zero: the usual ones
}

// newBench makes a bench. Change is told the bench before anything is opened for
// good, and may set its models and the world's settings.
func newBench(t testing.TB, change func(*bench)) *bench {
	t.Helper()
	b := &bench{}
	b.models.engine, b.models.embedder = "fake", "fake-embedder"
	b.world = newWorld(t, func(w *world) {
		b.world = w
		w.config.Stride = 2
		w.config.Policy.Budget = scheduler.Budget{Compute: 1000 * time.Hour, Questions: 1 << 20, Written: 1 << 40}
		w.config.Policy.Pay.Trial = 1000 * time.Hour // whatever it earns
		if change != nil {
			change(b)
		}
	})
	b.says = b.model
	b.stand()
	return b
}

// model plays the model.
func (b *bench) model(question string) (string, bool) {
	if b.garbage != "" {
		return b.garbage, true
	}
	if text, ok := strings.CutPrefix(question, "Please summarize the following text"); ok {
		_, text, _ = strings.Cut(text, "key concepts: ")
		text, _, _ = strings.Cut(text, ". Focus only")
		return text + ".", true
	}
	if strings.HasPrefix(question, "You are a smartphone AI assistant") {
		if len(b.predicts) == 0 {
			return "I have no idea.", true
		}
		var list []string
		for i, q := range b.predicts[0] {
			list = append(list, fmt.Sprintf("%d. %s", i+1, q))
		}
		b.predicts = b.predicts[1:]
		return strings.Join(list, "\n"), true
	}
	return "", false
}

// stand closes everything and opens it again, as the next process would, on the
// models that are named.
func (b *bench) stand() {
	b.Helper()
	b.close()
	b.engine.Close()
	b.embedder.Close()
	o := llmtest.DefaultOptions()
	o.Name, o.NoSlices, o.Clock, o.Costs = b.models.engine, b.models.noSlices, b.clock, costs()
	o.Script = func(_ percached.Prompt, question string) (string, bool) { return b.says(question) }
	o.Step = func(s llmtest.Step) {
		if b.step != nil {
			b.step(s)
		}
	}
	e := llmtest.DefaultEmbedOptions()
	e.Name, e.Step, e.Gate, e.Clock, e.Costs.Embed = b.models.embedder, o.Step, o.Gate, b.clock, time.Millisecond
	b.engine, b.embedder = llmtest.NewFake(o), llmtest.NewFakeEmbedder(e)
	b.open()
	b.rewire()
}

// rewire puts what may break between the layers.
func (b *bench) rewire() {
	b.Helper()
	b.Asker.Close()
	b.ok(b.scheduler.Close())
	b.ok(b.Predictor.Close())
	engine := breakable{b.engine, &b.broken.engine}
	embedder := breakableEmbedder{b.embedder, &b.broken.embedder}
	log := slog.New(slog.DiscardHandler)
	watch := &idle.Watch{}
	var err error
	if b.limits.bank > 0 {
		b.ok(b.Bank.Close())
		o := qabank.Default()
		o.Now, o.Limit = b.now, b.limits.bank
		b.Bank, err = qabank.Open(b.meta, o)
		b.ok(err)
		b.Library.Bank = b.Bank
	}
	b.Asker, err = answer.New(answer.Parts{
		Unchecked: !b.checked,
		Knowledge: b.Knowledge, Searcher: searcher{b.Index, b}, Bank: b.Bank, Tree: b.Tree, Embedder: embedder, Engine: engine,
		History: b.History, Patience: time.Hour, Now: b.now, Logger: log, Observer: answer.Observer{Asked: watch.Asked},
	}, b.set)
	b.ok(err)
	p := predictor.Default()
	p.DB, p.Knowledge, p.Engine, p.Now, p.Asked = b.meta, b.Knowledge, engine, b.now, idle.Asked(b.History)
	p.Check = &idle.Check{Knowledge: b.Knowledge, Index: b.Index, Bank: b.Bank, Embedder: embedder, Settings: b.Asker, Floor: b.config.Floor}
	if b.limits.abstract > 0 {
		p.AbstractLimit = b.limits.abstract
	}
	b.Predictor, err = predictor.Open(p)
	b.ok(err)
	b.Embedder = embedder
	worker, err := idle.New(b.Parts, b.config)
	b.ok(err)
	s := scheduler.Options{DB: b.meta, Worker: worker, Config: b.config.Policy, Now: b.now}
	s.Observer.Ended = func(st scheduler.Step) { b.ended = append(b.ended, st) }
	b.scheduler, err = scheduler.Open(s)
	b.ok(err)
	b.Library.Asker, b.Library.Predictor, b.Library.Jobs = b.Asker, b.Predictor, b.scheduler
	watch.Scheduler, watch.Predictor = b.scheduler, b.Predictor
}

// searcher tells of searches.
type searcher struct {
	*retrieval.Index
	b *bench
}

func (s searcher) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	if s.b.searched != nil {
		s.b.searched()
	}
	return s.Index.Search(ctx, q)
}

var errBroken = fault.New(fault.Unavailable, "test", "it is broken")

// breakable is an engine that computes nothing while it is broken.
type breakable struct {
	*llmtest.Fake
	broken *atomic.Bool
}

func (e breakable) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if e.broken.Load() {
		return percached.Result{}, errBroken
	}
	return e.Fake.Generate(ctx, p, emit)
}

func (e breakable) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	if e.broken.Load() {
		return percached.Result{}, errBroken
	}
	return e.Fake.Prefill(ctx, p)
}

// breakableEmbedder gives no vectors while it is broken.
type breakableEmbedder struct {
	*llmtest.FakeEmbedder
	broken *atomic.Bool
}

func (e breakableEmbedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	if e.broken.Load() {
		return nil, errBroken
	}
	return e.FakeEmbedder.Embed(ctx, p, texts)
}

// want sets what the space wants otherwise.
func (b *bench) want(change func(*percached.Settings)) {
	b.Helper()
	sp, err := b.Knowledge.Space(space)
	b.ok(err)
	change(&sp.Settings)
	b.ok(b.Knowledge.Configure(space, sp.Settings))
	b.scheduler.Changed(space)
}

// rest lets all quiet times pass and does all that is due, back-off and all, and
// fails if that does not come to an end. It gives the jobs that ended.
func (b *bench) rest() []scheduler.Step {
	b.Helper()
	var all []scheduler.Step
	for range 50 {
		b.sleep(7 * time.Hour) // longer than the longest back-off
		ended := b.work()
		if len(ended) == 0 {
			return all
		}
		all = append(all, ended...)
	}
	b.Fatalf("idle work does not end: %v", kinds(b.ended))
	return nil
}

// kinds counts jobs by kind and end.
func kinds(steps []scheduler.Step) map[string]int {
	n := map[string]int{}
	for _, s := range steps {
		n[string(s.Job.Kind)+" "+string(s.End)]++
	}
	return n
}

// letter is a document about a thing of that name.
func (b *bench) letter(name string) {
	b.Helper()
	b.add(name, text(name))
}

func text(name string) string {
	return fmt.Sprintf("The budget of %[1]s reaches 46 thousand euros. The office of %[1]s stands in Leeds, behind the old mill. "+
		"The %[1]s committee meets on Monday at noon and talks about lanterns, ferries and the weather.", name)
}

// document is the ID of one that add took in.
func (b *bench) document(key string) percached.DocumentID {
	b.Helper()
	docs, err := b.Knowledge.Documents(space, percached.DocumentID{}, 1000)
	b.ok(err)
	at := slices.IndexFunc(docs, func(d percached.Document) bool { return d.Key == key })
	if at < 0 {
		b.Fatalf("there is no document %q", key)
	}
	return docs[at].ID
}

func (b *bench) forget(key string) {
	b.Helper()
	_, err := b.Library.Delete(context.Background(), space, b.document(key))
	b.ok(err)
}
