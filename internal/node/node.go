package node

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/internal/supervise"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/likeness"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

const (
	tensorPatience = 2 * time.Second // maximum time to load stored tensors
	logFile        = 16 << 20        // bytes of a value log file; small files release space sooner
)

// Node is an open data folder with its layers.
type Node struct {
	Home          *home.Home
	Meta          *kv.DB
	Tensors       *kv.DB
	Knowledge     *knowledgebank.Bank
	Index         *retrieval.Index
	Bank          *qabank.Bank
	Tree          *qkvtree.Tree
	History       *answer.History
	Conversations *conversation.Store
	Asker         *answer.Asker
	Library       *ingest.Library
	Predictor     *predictor.Predictor
	Placements    *calibrate.Book
	Worker        *idle.Worker
	Scheduler     *scheduler.Scheduler
	Memory        *memory.Book
	Dependencies
	BuiltInModel     bool            // the language model is the built-in one
	QuestionEmbedder llm.Embedder    // the embedder, with the prefix of questions
	Likeness         *likeness.Model // compares questions, for this embedder
	gate             *llamacpp.Gate  // shared by the engine and the embedder
	budget           budgets
	configuring      sync.Mutex     // held while settings of the layers change
	closers          []func() error // in order of opening
	keep             atomic.Int64   // how long what users asked is kept, in ns; 0: for ever
}

// Dependencies replace parts that Open would make itself. The zero value replaces none.
type Dependencies struct {
	Engine      llm.Engine // the language model
	Embedder    llm.Embedder
	Now         func() time.Time
	deviceFS    fs.FS          // battery and temperature sensors
	Readings    func() Reading // of the machine; nil: this one
	Volatile    bool           // do not sync writes to disk
	SkipCleanUp bool           // the caller calls CleanUp after Open
	Patience    time.Duration  // maximum time to load stored tensors; 0: the default

	Folder   *home.Home        // an open data folder, which the caller closes
	Log      *slog.Logger      // nil: warnings go to stderr
	Progress func(of1 float64) // progress of loading the model; nil: shown on stderr
	Observers
}

// Open opens the data folder and its layers. Without the engine the node cannot compute
// answers.
func Open(ctx context.Context, c Options, withEngine bool, stderr io.Writer) (n *Node, err error) {
	if err := errors.Join(c.Validate(), CheckConfig(c.Config)); err != nil {
		return nil, cmdline.Misused(err)
	}
	if !c.Create && !home.Exists(c.Data) {
		return nil, fault.New(fault.NotFound, "percached", "there is no data folder %s; percached add creates it", c.Data)
	}
	n = &Node{gate: llamacpp.NewGate(), Dependencies: c.Dependencies, Home: c.Folder}
	if n.Now == nil {
		n.Now, n.deviceFS = time.Now, os.DirFS("/sys")
	}
	defer func() {
		if err != nil {
			if shut := n.Close(); shut != nil {
				err = errors.Join(err, shut)
			}
			n = nil
		}
	}()
	if n.Log == nil {
		n.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	log := n.Log
	if n.Home == nil {
		if n.Home, err = home.Open(c.Data, c.KeySource()); err != nil {
			return n, err
		}
	}
	for _, step := range []func() error{
		func() error { return n.openDatabases(log) },
		func() error {
			if n.Embedder != nil {
				return nil
			}
			return n.openEmbedder(ctx, c)
		},
		func() error { return n.openStores(ctx, c, withEngine, log) },
		func() error {
			if !withEngine || n.Engine != nil {
				return nil
			}
			return n.openEngine(ctx, c, log, stderr)
		},
		func() error { return n.wire(ctx, c, log) },
	} {
		if err = step(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// MetaOptions are the options of the database meta, which must not lose writes.
func MetaOptions(h *home.Home, log *slog.Logger) kv.Options {
	o := kv.Default()
	o.Key = h.Subkey("meta")
	o.Sync, o.Logger, o.ValueLogFileSize, o.MinFree = true, log, logFile, MinFree
	o.Observer.RecordDamaged = func(dir string, cause error) {
		log.Warn("cannot read RECORD; verified the database without it", "folder", dir, "cause", cause)
	}
	return o
}

func (n *Node) openDatabases(log *slog.Logger) (err error) {
	if err := CheckMeta(n.Home); err != nil {
		return err
	}
	meta := MetaOptions(n.Home, log)
	meta.Sync = !n.Volatile
	n.Meta, err = kv.Open(n.Home.Path("meta"), meta)
	if _, ok := errors.AsType[*kv.Damage](err); ok {
		return fault.New(fault.Unavailable, "percached", "%s; %s", cmdline.Sentence(err), damageHint)
	}
	if err != nil {
		return err
	}
	n.closers = append(n.closers, n.Meta.Close)
	tensors := kv.Default()
	tensors.Key = n.Home.Subkey("tensors")
	tensors.Disposable, tensors.Logger, tensors.ValueLogFileSize, tensors.MinFree = true, log, logFile, MinFree
	tensors.Observer.SetAside = func(dir, aside string, cause error) {
		log.Warn("cannot open the stored tensors; moved them aside, and will compute them again", "folder", dir, "aside", aside, "cause", cause)
	}
	if n.Tensors, err = kv.Open(n.Home.Path("tensors"), tensors); err != nil {
		return err
	}
	n.closers = append(n.closers, n.Tensors.Close)
	return nil
}

// damageHint says how to repair a damaged database.
const damageHint = "restore a backup with percached restore FILE --force, or recover the readable part with percached repair"

// CheckMeta refuses a used folder without its database of documents. If an empty database
// took its place, the rest of the data would be deleted.
func CheckMeta(h *home.Home) error {
	meta := h.Path("meta")
	if kv.Exists(meta) {
		return nil
	}
	// A new folder gets meta before tensors.
	if !home.Exists(h.Path("tensors")) && !home.Exists(h.Path("index")) {
		return nil
	}
	return fault.New(fault.Unavailable, "percached", "the database %s is missing or empty; put it back, or restore a backup with percached restore FILE --force", meta)
}

func (n *Node) openStores(ctx context.Context, c Options, withEngine bool, log *slog.Logger) (err error) {
	n.QuestionEmbedder = llm.ForQuestions(n.Embedder)
	k := knowledgebank.Default()
	k.Now, k.ChunkWords, k.Observer.Damaged = n.Now, c.ChunkWords, n.observeDamage("knowledge")
	if n.Knowledge, err = knowledgebank.Open(n.Meta, k); err != nil {
		return err
	}
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed, r.Logger, r.Fusion = n.Home.Path("index"), n.Meta, llm.ForDocuments(n.Embedder), n.Knowledge, log, retrieval.Fusion(c.Fusion)
	r.Key = n.Home.Subkey("index")
	if n.Index, err = retrieval.Open(r); err != nil {
		return err
	}
	n.closers = append(n.closers, n.Index.Close)
	b := qabank.Default()
	b.Limit, b.Now, b.Observer = c.BankLimit, n.Now, n.BankObserver
	n.Likeness = likeness.For(n.Embedder.Info(), n.ownThreshold())
	b.Scorer, b.Start = n.Likeness.Name, n.Likeness.Calibration
	if n.Bank, err = qabank.Open(n.Meta, b); err != nil {
		return err
	}
	n.closers = append(n.closers, n.Bank.Close)
	t := qkvtree.Default()
	t.Key, t.Limit, t.Now, t.Observer = n.Home.Key, n.chooseTensors(c.Config).Limit, n.Now, n.TreeObserver
	t.Spare = !withEngine // without an engine the limit of the daemon is unknown
	if n.Tree, err = qkvtree.Open(n.Tensors, t); err != nil {
		return err
	}
	n.closers = append(n.closers, n.Tree.Close)
	if n.History, err = answer.OpenHistory(n.Meta, c.History); err != nil {
		return err
	}
	n.closers = append(n.closers, n.History.Flush)
	if n.Conversations, err = conversation.Open(n.Meta, n.Now); err != nil {
		return err
	}
	if n.Placements, err = calibrate.Open(n.Meta); err != nil {
		return err
	}
	spaces, err := n.Knowledge.Spaces()
	if err != nil {
		return err
	}
	if withEngine { // errors, such as a full disk, are retried at the next start
		_ = n.Bank.SetLimit(ctx, c.BankLimit)
		for _, sp := range spaces {
			_ = n.History.Trim(sp.Name)
		}
	}
	return n.limitSpaces(spaces)
}

// wire connects the layers and recovers from a crash.
func (n *Node) wire(ctx context.Context, c Options, log *slog.Logger) (err error) {
	settings, err := n.Settings(c.Config)
	if err != nil { // some values depend on the model
		return cmdline.Misused(err)
	}
	n.keep.Store(int64(c.Keep))
	watch := &idle.Watch{}
	n.Asker, err = answer.New(answer.Parts{
		Knowledge: n.Knowledge, Searcher: n.Index, Bank: n.Bank, Likeness: n.Likeness, Tree: n.Tree, Embedder: n.QuestionEmbedder, Engine: n.Engine,
		History: n.History, Conversations: n.Conversations, Instructions: n.instructions, Placement: n.placement, Form: n.form, Memory: n.consult, Patience: cmp.Or(n.Patience, tensorPatience), Now: n.Now, Logger: log,
		Energy: watch.Energy, Observer: answer.Observer{Asked: n.Observers.withAsked(watch.Asked), Completed: n.Completed, Checked: n.Checked, Changed: n.Changed, Stopped: n.Stopped}, Waiting: c.MaxWaiting, Chance: rand.Float64, Unchecked: c.Engine != nil, // tests use fake engines
	}, settings)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, func() error { n.Asker.Close(); return nil })
	if err := n.wireIdle(c, log); err != nil {
		return err
	}
	watch.Scheduler, watch.Predictor = n.Scheduler, n.Predictor
	return n.recover(ctx)
}

// wireIdle connects the layers of idle work.
func (n *Node) wireIdle(c Options, log *slog.Logger) error {
	rules, err := n.IdleRules(c.Config)
	if err != nil {
		return err
	}
	p := predictor.Default()
	p.DB, p.Knowledge, p.Engine, p.Now, p.Prompts = n.Meta, n.Knowledge, noEngine{}, n.Now, n.Prompt
	p.Observer.Damaged = n.observeDamage("predictor")
	p.Asked = idle.Asked(n.History)
	if n.Engine != nil {
		p.Engine = n.Engine
		if info := n.Engine.Info(); c.Model != "" { // the built-in model was trained on the prompts
			p.FollowsPrompts, p.PromptWords = info.Large(), max(p.PromptWords, min(info.Context, budget.UsualContext)/16)
		}
	}
	p.Check = &idle.Check{
		Knowledge: n.Knowledge, Index: n.Index, Bank: n.Bank, Embedder: n.QuestionEmbedder, Settings: n.Asker, Floor: rules.Floor,
	}
	if n.Predictor, err = predictor.Open(p); err != nil {
		return err
	}
	n.closers = append(n.closers, n.Predictor.Close)
	n.Library = ingest.New(ingest.Layers{
		Meta: n.Meta, Tensors: n.Tensors, Knowledge: n.Knowledge, Index: n.Index, Bank: n.Bank, Tree: n.Tree,
		History: n.History, Conversations: n.Conversations, Asker: n.Asker, Predictor: n.Predictor, Logger: log,
		Key: n.Home.Key, Now: n.Now,
	})
	n.Memory = memory.New(memory.Options{DB: n.Meta, Knowledge: n.Knowledge, Store: n.storeDocument, Now: n.Now})
	n.Library.Facts = n.Memory
	n.Worker, err = idle.New(idle.Parts{
		Knowledge: n.Knowledge, Index: n.Index, Bank: n.Bank, Tree: n.Tree, History: n.History, Asker: n.Asker,
		Predictor: n.Predictor, Library: n.Library, Placements: n.Placements, Memory: n.Memory, Embedder: n.QuestionEmbedder, Engine: n.Engine, Now: n.Now,
	}, rules)
	if err != nil {
		return err
	}
	n.Scheduler, err = scheduler.Open(scheduler.Options{
		DB: n.Meta, Worker: n.Worker, Config: rules.Policy, Alive: n.alive, Now: n.Now, Sys: n.deviceFS, Logger: log, Observer: n.SchedulerObserver,
	})
	if err != nil {
		return err
	}
	n.Library.Jobs, n.Worker.Parked = n.Scheduler, n.Scheduler.Parked
	n.closers = append(n.closers, n.Scheduler.Close)
	return nil
}

// alive says whether an ID is that of a stored entry or a chunk.
func (n *Node) alive(space string, id [16]byte) bool {
	if there, _ := n.Bank.Has(space, id); there {
		return true
	}
	found, err := n.Knowledge.Versions(space, []percached.ChunkID{id})
	return err != nil || len(found) > 0
}

// noEngine is the engine of commands that open no language model.
type noEngine struct{}

func (noEngine) Generate(context.Context, percached.Prompt, func(string) error) (percached.Result, error) {
	return percached.Result{}, fault.New(fault.Unavailable, "percached", "no language model is open")
}

func (noEngine) Info() percached.ModelInfo { return percached.ModelInfo{} }

// recover completes what a crash interrupted. If that fails, for example on a full disk, the
// node can still answer questions.
func (n *Node) recover(ctx context.Context) error {
	err := n.Library.Recover(ctx, n.Home.Unclean)
	if err == nil {
		n.Home.Unclean = false
		if !n.SkipCleanUp {
			err = n.Library.CleanUp(ctx, nil)
		}
	}
	return n.warnUnfinished(ctx, err)
}

// CleanUp removes the bytes of deleted data that an earlier process left on disk. If ctx
// ends first, the next process continues.
func (n *Node) CleanUp(ctx context.Context) {
	due, err := n.Library.NeedsCleanUp()
	if err == nil && due {
		if err = n.Library.CleanUp(ctx, nil); err == nil {
			n.Log.Info("removed the bytes of deleted data from disk")
		}
	}
	_ = n.warnUnfinished(ctx, err)
}

// warnUnfinished logs an error of recovery. The node works without it.
func (n *Node) warnUnfinished(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	n.Log.Warn("cannot complete the work of an earlier process; will retry at the next start", "kind", fault.KindOf(err), "error", err)
	return nil
}

// Close closes everything in the opposite order.
func (n *Node) Close() error {
	var errs []error
	if r, ok := n.Engine.(*supervise.Engine); ok {
		r.Stop()
	}
	unfinished := n.Library != nil && n.Library.Behind()
	for i := len(n.closers) - 1; i >= 0; i-- {
		errs = append(errs, n.closers[i]())
	}
	n.closers = nil
	err := errors.Join(errs...)
	if n.Home == nil {
		return err
	}
	n.Home.Unclean = n.Home.Unclean || unfinished || err != nil
	if n.Home != n.Folder {
		if shut := n.Home.Close(); err == nil {
			err = shut
		}
	}
	n.Home = nil
	return err
}
