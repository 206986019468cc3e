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
	"time"

	"github.com/percached/percached/internal/supervise"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

const (
	patience = 2 * time.Second // with stored tensors
	// Small files give space back sooner; a disk with less room than this is
	// full, and with half of it nothing is opened.
	logFile = 16 << 20
	minFree = 128 << 20
)

// Node is percached on one data folder, wired.
type Node struct {
	Home       *home.Home
	Meta       *kv.DB
	Tensors    *kv.DB
	Knowledge  *knowledgebank.Bank
	Index      *retrieval.Index
	Bank       *qabank.Bank
	Tree       *qkvtree.Tree
	History    *answer.History
	Asker      *answer.Asker
	Library    *ingest.Library
	Predictor  *predictor.Predictor
	Placements *calibrate.Book
	Worker     *idle.Worker
	Scheduler  *scheduler.Scheduler

	Parts
	BuiltInModel     bool           // the language model is percached's own
	QuestionEmbedder llm.Embedder   // the embedder, as it wants questions
	gate             *llamacpp.Gate // shared by all that computes
	closers          []func() error // in order of opening
}

// Parts is what a service stands on. What is not given is the real thing.
type Parts struct {
	Engine      llm.Engine // nil where nothing is computed
	Embedder    llm.Embedder
	Now         func() time.Time
	sys         fs.FS         // what the system tells of the device
	Volatile    bool          // what is acknowledged need not survive
	SkipCleanUp bool          // cleaning up behind a former process is the caller's: see tidy
	Patience    time.Duration // with stored tensors, where it is another

	Folder   *home.Home        // open already, and the caller's to close
	Log      *slog.Logger      // else warnings go to stderr
	Progress func(of1 float64) // of loading the model; nil shows it on stderr
	Observers
}

// Open opens the data folder and all that stands on it. Without engine
// nothing can be answered.
func Open(ctx context.Context, c Options, withEngine bool, stderr io.Writer) (s *Node, err error) {
	if err := errors.Join(c.Validate(), CheckConfig(c.Config)); err != nil {
		return nil, cmdline.Misused(err)
	}
	if !c.Create && !home.Exists(c.Data) {
		return nil, fault.New(fault.NotFound, "percached", "there is no data folder %s yet: percached add makes it", c.Data)
	}
	s = &Node{gate: llamacpp.NewGate(), Parts: c.Parts, Home: c.Folder}
	if s.Now == nil {
		s.Now, s.sys = time.Now, os.DirFS("/sys")
	}
	defer func() {
		if err != nil {
			if shut := s.Close(); shut != nil {
				err = errors.Join(err, shut)
			}
			s = nil
		}
	}()
	if s.Log == nil {
		s.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	log := s.Log
	if s.Home == nil {
		if s.Home, err = home.Open(c.Data); err != nil {
			return s, err
		}
	}
	for _, step := range []func() error{
		func() error { return s.openDatabases(log) },
		func() error {
			if s.Embedder != nil {
				return nil
			}
			return s.openEmbedder(ctx, c)
		},
		func() error { return s.openStores(ctx, c, withEngine, log) },
		func() error {
			if !withEngine || s.Engine != nil {
				return nil
			}
			return s.openEngine(ctx, c, log, stderr)
		},
		func() error { return s.wire(ctx, c, log) },
	} {
		if err = step(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// MetaOptions are those of the database that must not lose anything.
func MetaOptions(log *slog.Logger) kv.Options {
	o := kv.Default()
	o.Sync, o.Logger, o.ValueLogFileSize, o.MinFree = true, log, logFile, minFree
	o.Observer.RecordDamaged = func(dir string, cause error) {
		log.Warn("cannot read RECORD; verified the database without it", "folder", dir, "cause", cause)
	}
	return o
}

func (s *Node) openDatabases(log *slog.Logger) (err error) {
	if err := CheckMeta(s.Home); err != nil {
		return err
	}
	meta := MetaOptions(log)
	meta.Sync = !s.Volatile
	s.Meta, err = kv.Open(s.Home.Path("meta"), meta)
	if _, ok := errors.AsType[*kv.Damage](err); ok {
		return fault.New(fault.Unavailable, "percached", "%s; %s", cmdline.Sentence(err), wayOut)
	}
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.Meta.Close)
	tensors := kv.Default()
	tensors.Disposable, tensors.Logger, tensors.ValueLogFileSize, tensors.MinFree = true, log, logFile, minFree
	tensors.Observer.SetAside = func(dir, aside string, cause error) {
		log.Warn("the stored tensors could not be opened: they were set aside and are computed anew", "folder", dir, "aside", aside, "cause", cause)
	}
	if s.Tensors, err = kv.Open(s.Home.Path("tensors"), tensors); err != nil {
		return err
	}
	s.closers = append(s.closers, s.Tensors.Close)
	return nil
}

// wayOut says what to do about a store that is damaged.
const wayOut = "restore a backup with percached restore FILE --force, or save what can be read with percached repair"

// CheckMeta refuses a folder that was used and whose documents are gone: an empty
// store in their place would let what is left of them be removed.
func CheckMeta(h *home.Home) error {
	meta := h.Path("meta")
	if kv.Exists(meta) {
		return nil
	}
	// Tensors come after meta when a folder is made.
	if !home.Exists(h.Path("tensors")) && !home.Exists(h.Path("index")) {
		return nil
	}
	return fault.New(fault.Unavailable, "percached", "%s is missing or empty: it held all documents; nothing was changed; put it back, or restore a backup with percached restore FILE --force", meta)
}

func (s *Node) openStores(ctx context.Context, c Options, withEngine bool, log *slog.Logger) (err error) {
	s.QuestionEmbedder = llm.ForQuestions(s.Embedder)
	k := knowledgebank.Default()
	k.Now, k.ChunkWords, k.Observer.Damaged = s.Now, c.ChunkWords, s.damaged("knowledge")
	if s.Knowledge, err = knowledgebank.Open(s.Meta, k); err != nil {
		return err
	}
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed, r.Logger, r.Fusion = s.Home.Path("index"), s.Meta, llm.ForDocuments(s.Embedder), s.Knowledge, log, retrieval.Fusion(c.Fusion)
	if s.Index, err = retrieval.Open(r); err != nil {
		return err
	}
	s.closers = append(s.closers, s.Index.Close)
	b := qabank.Default()
	b.Limit, b.Now, b.Observer = c.BankLimit, s.Now, s.BankObserver
	if s.Bank, err = qabank.Open(s.Meta, b); err != nil {
		return err
	}
	s.closers = append(s.closers, s.Bank.Close)
	t := qkvtree.Default()
	t.Key, t.Limit, t.Now, t.Observer = s.Home.Key, c.TensorLimit, s.Now, s.TreeObserver
	t.Spare = !withEngine // a command that computes nothing may not know what the daemon is set to
	if s.Tree, err = qkvtree.Open(s.Tensors, t); err != nil {
		return err
	}
	s.closers = append(s.closers, s.Tree.Close)
	if s.History, err = answer.OpenHistory(s.Meta, c.History); err != nil {
		return err
	}
	s.closers = append(s.closers, s.History.Flush)
	if s.Placements, err = calibrate.Open(s.Meta); err != nil {
		return err
	}
	spaces, err := s.Knowledge.Spaces()
	if err != nil {
		return err
	}
	if withEngine { // as for tensors; what a full disk keeps now goes later
		_ = s.Bank.SetLimit(ctx, c.BankLimit)
		for _, sp := range spaces {
			_ = s.History.Trim(sp.Name)
		}
	}
	return s.limitSpaces(spaces)
}

// wire joins the parts, and brings them together after a crash.
func (s *Node) wire(ctx context.Context, c Options, log *slog.Logger) (err error) {
	settings, err := s.Settings(c.Config)
	if err != nil { // now that the model is known
		return cmdline.Misused(err)
	}
	watch := &idle.Watch{}
	s.Asker, err = answer.New(answer.Parts{
		Knowledge: s.Knowledge, Searcher: s.Index, Bank: s.Bank, Tree: s.Tree, Embedder: s.QuestionEmbedder, Engine: s.Engine,
		History: s.History, Instructions: s.instructions, Placement: s.placement, Patience: cmp.Or(s.Patience, patience), Now: s.Now, Logger: log,
		Observer: answer.Observer{Asked: s.Observers.withAsked(watch.Asked), Stopped: s.Stopped}, Waiting: c.MaxWaiting, Chance: rand.Float64, Unchecked: c.Engine != nil, // that is none of a user's
	}, settings)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { s.Asker.Close(); return nil })
	if err := s.wireIdle(c, log); err != nil {
		return err
	}
	watch.Scheduler, watch.Predictor = s.Scheduler, s.Predictor
	return s.recover(ctx)
}

// wireIdle joins what works while nobody asks.
func (s *Node) wireIdle(c Options, log *slog.Logger) error {
	rules, err := s.IdleRules(c.Config)
	if err != nil {
		return err
	}
	p := predictor.Default()
	p.DB, p.Knowledge, p.Engine, p.Now, p.Prompts = s.Meta, s.Knowledge, noEngine{}, s.Now, s.PromptOf
	p.Observer.Damaged = s.damaged("predictor")
	if s.Engine != nil {
		p.Engine = s.Engine
	}
	p.Check = &idle.Check{
		Knowledge: s.Knowledge, Index: s.Index, Bank: s.Bank, Embedder: s.QuestionEmbedder, Settings: s.Asker, Floor: rules.Floor,
	}
	if s.Predictor, err = predictor.Open(p); err != nil {
		return err
	}
	s.closers = append(s.closers, s.Predictor.Close)
	s.Library = ingest.New(ingest.Layers{
		Meta: s.Meta, Tensors: s.Tensors, Knowledge: s.Knowledge, Index: s.Index, Bank: s.Bank, Tree: s.Tree,
		History: s.History, Asker: s.Asker, Predictor: s.Predictor, Logger: log,
	})
	s.Worker, err = idle.New(idle.Parts{
		Knowledge: s.Knowledge, Index: s.Index, Bank: s.Bank, Tree: s.Tree, History: s.History, Asker: s.Asker,
		Predictor: s.Predictor, Library: s.Library, Placements: s.Placements, Embedder: s.QuestionEmbedder, Engine: s.Engine, Now: s.Now,
	}, rules)
	if err != nil {
		return err
	}
	s.Scheduler, err = scheduler.Open(scheduler.Options{
		DB: s.Meta, Worker: s.Worker, Config: rules.Policy, Alive: s.alive, Now: s.Now, Sys: s.sys, Logger: log, Observer: s.SchedulerObserver,
	})
	if err != nil {
		return err
	}
	s.Library.Jobs, s.Worker.Parked = s.Scheduler, s.Scheduler.Parked
	s.closers = append(s.closers, s.Scheduler.Close)
	return nil
}

// alive says whether a name is that of a stored entry or of a chunk.
func (s *Node) alive(space string, id [16]byte) bool {
	if there, _ := s.Bank.Has(space, id); there {
		return true
	}
	found, err := s.Knowledge.Versions(space, []percached.ChunkID{id})
	return err != nil || len(found) > 0
}

// noEngine is for commands that compute nothing.
type noEngine struct{}

func (noEngine) Generate(context.Context, percached.Prompt, func(string) error) (percached.Result, error) {
	return percached.Result{}, fault.New(fault.Unavailable, "percached", "no language model is open")
}

func (noEngine) Info() percached.ModelInfo { return percached.ModelInfo{} }

// recover brings the parts together after a crash. Where that fails, say for want
// of room, what is there can be read and asked all the same.
func (s *Node) recover(ctx context.Context) error {
	err := s.Library.Recover(ctx, s.Home.Unclean)
	if err == nil {
		s.Home.Unclean = false
		if !s.SkipCleanUp {
			err = s.Library.CleanUp(ctx, nil)
		}
	}
	return s.endure(ctx, err)
}

// CleanUp takes off the disk what a former process left there of what was forgotten.
// Where ctx cuts it short, the next process does.
func (s *Node) CleanUp(ctx context.Context) {
	due, err := s.Library.NeedsCleanUp()
	if err == nil && due {
		if err = s.Library.CleanUp(ctx, nil); err == nil {
			s.Log.Info("what was forgotten before the start has left the disk")
		}
	}
	_ = s.endure(ctx, err)
}

// endure tells of an error that is nothing new: without what it stopped, a service
// works.
func (s *Node) endure(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.Log.Warn("what a former process left undone could not be ended and is tried again next time", "kind", fault.KindOf(err), "error", err)
	return nil
}

// Close closes everything in the opposite order.
func (s *Node) Close() error {
	var errs []error
	if r, ok := s.Engine.(*supervise.Engine); ok {
		r.Stop()
	}
	behind := s.Library != nil && s.Library.Behind()
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	err := errors.Join(errs...)
	if s.Home == nil {
		return err
	}
	s.Home.Unclean = s.Home.Unclean || behind || err != nil
	if s.Home != s.Folder {
		if shut := s.Home.Close(); err == nil {
			err = shut
		}
	}
	s.Home = nil
	return err
}
