package main

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

// service is percached on one data folder, wired.
type service struct {
	home       *home.Home
	meta       *kv.DB
	tensors    *kv.DB
	knowledge  *knowledgebank.Bank
	index      *retrieval.Index
	bank       *qabank.Bank
	tree       *qkvtree.Tree
	history    *answer.History
	asker      *answer.Asker
	library    *ingest.Library
	predictor  *predictor.Predictor
	placements *calibrate.Book
	worker     *idle.Worker
	scheduler  *scheduler.Scheduler

	ground
	builtIn   bool           // the language model is percached's own
	questions llm.Embedder   // the embedder, as it wants questions
	gate      *llamacpp.Gate // shared by all that computes
	closers   []func() error // in order of opening
}

// ground is what a service stands on. What is not given is the real thing.
type ground struct {
	engine   llm.Engine // nil where nothing is computed
	embedder llm.Embedder
	now      func() time.Time
	sys      fs.FS         // what the system tells of the device
	volatile bool          // what is acknowledged need not survive
	untidy   bool          // cleaning up behind a former process is the caller's: see tidy
	patience time.Duration // with stored tensors, where it is another

	folder   *home.Home                      // open already, and the caller's to close
	log      *slog.Logger                    // else warnings go to stderr
	progress func(stage string, of1 float64) // of opening; else what is slow is told on stderr
	news     *news                           // who is told what the service does
}

// openService opens the data folder and all that stands on it. Without engine
// nothing can be answered.
func openService(ctx context.Context, c setup, withEngine bool, stderr io.Writer) (s *service, err error) {
	if err := errors.Join(c.Validate(), checkConfig(c.Config)); err != nil {
		return nil, cmdline.Misused(err)
	}
	if !c.Create && !home.Exists(c.Data) {
		return nil, fault.New(fault.NotFound, "percached", "there is no data folder %s yet: percached add makes it", c.Data)
	}
	s = &service{gate: llamacpp.NewGate(), ground: c.ground, home: c.folder}
	if s.now == nil {
		s.now, s.sys = time.Now, os.DirFS("/sys")
	}
	defer func() {
		if err != nil {
			if shut := s.close(); shut != nil {
				err = errors.Join(err, shut)
			}
			s = nil
		}
	}()
	if s.log == nil {
		s.log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	log := s.log
	if s.home == nil {
		if s.home, err = home.Open(c.Data); err != nil {
			return s, err
		}
	}
	for _, step := range []func() error{
		func() error { return s.openDatabases(log) },
		func() error {
			if s.embedder != nil {
				return nil
			}
			return s.openEmbedder(ctx, c)
		},
		func() error { return s.openStores(ctx, c, withEngine, log) },
		func() error {
			if !withEngine || s.engine != nil {
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

// metaOptions are those of the database that must not lose anything.
func metaOptions(log *slog.Logger) kv.Options {
	o := kv.Default()
	o.Sync, o.Logger, o.ValueLogFileSize, o.MinFree = true, log, logFile, minFree
	o.Observer.RecordDamaged = func(dir string, cause error) {
		log.Warn("cannot read RECORD; verified the database without it", "folder", dir, "cause", cause)
	}
	return o
}

func (s *service) openDatabases(log *slog.Logger) (err error) {
	if err := hasMeta(s.home); err != nil {
		return err
	}
	meta := metaOptions(log)
	meta.Sync = !s.volatile
	s.meta, err = kv.Open(s.home.Path("meta"), meta)
	if _, ok := errors.AsType[*kv.Damage](err); ok {
		return fault.New(fault.Unavailable, "percached", "%s; %s", cmdline.Sentence(err), wayOut)
	}
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.meta.Close)
	tensors := kv.Default()
	tensors.Disposable, tensors.Logger, tensors.ValueLogFileSize, tensors.MinFree = true, log, logFile, minFree
	tensors.Observer.SetAside = func(dir, aside string, cause error) {
		log.Warn("the stored tensors could not be opened: they were set aside and are computed anew", "folder", dir, "aside", aside, "cause", cause)
	}
	if s.tensors, err = kv.Open(s.home.Path("tensors"), tensors); err != nil {
		return err
	}
	s.closers = append(s.closers, s.tensors.Close)
	return nil
}

// wayOut says what to do about a store that is damaged.
const wayOut = "restore a backup with percached restore FILE --force, or save what can be read with percached repair"

// hasMeta refuses a folder that was used and whose documents are gone: an empty
// store in their place would let what is left of them be removed.
func hasMeta(h *home.Home) error {
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

func (s *service) openStores(ctx context.Context, c setup, withEngine bool, log *slog.Logger) (err error) {
	s.questions = llm.ForQuestions(s.embedder)
	k := knowledgebank.Default()
	k.Now, k.ChunkWords, k.Observer.Damaged = s.now, c.ChunkWords, s.news.damaged("knowledge")
	if s.knowledge, err = knowledgebank.Open(s.meta, k); err != nil {
		return err
	}
	if s.news != nil {
		s.news.ids = s.knowledge.PublicIDs
	}
	r := retrieval.Default()
	r.Dir, r.DB, r.Embedder, r.Feed, r.Logger, r.Fusion = s.home.Path("index"), s.meta, llm.ForDocuments(s.embedder), s.knowledge, log, retrieval.Fusion(c.Fusion)
	if s.index, err = retrieval.Open(r); err != nil {
		return err
	}
	s.closers = append(s.closers, s.index.Close)
	b := qabank.Default()
	b.Limit, b.Now, b.Observer = c.BankLimit, s.now, s.news.ofBank()
	if s.bank, err = qabank.Open(s.meta, b); err != nil {
		return err
	}
	s.closers = append(s.closers, s.bank.Close)
	t := qkvtree.Default()
	t.Key, t.Limit, t.Now, t.Observer = s.home.Key, c.TensorLimit, s.now, s.news.ofTree()
	t.Spare = !withEngine // a command that computes nothing may not know what the daemon is set to
	if s.tree, err = qkvtree.Open(s.tensors, t); err != nil {
		return err
	}
	s.closers = append(s.closers, s.tree.Close)
	if s.history, err = answer.OpenHistory(s.meta, c.History); err != nil {
		return err
	}
	s.closers = append(s.closers, s.history.Flush)
	if s.placements, err = calibrate.Open(s.meta); err != nil {
		return err
	}
	spaces, err := s.knowledge.Spaces()
	if err != nil {
		return err
	}
	if withEngine { // as for tensors; what a full disk keeps now goes later
		_ = s.bank.SetLimit(ctx, c.BankLimit)
		for _, sp := range spaces {
			_ = s.history.Trim(sp.Name)
		}
	}
	return s.limitSpaces(spaces)
}

// limitSpaces gives the spaces that want one a limit of their own.
func (s *service) limitSpaces(spaces []percached.Space) error {
	for _, sp := range spaces {
		if err := s.limitTensors(sp); err != nil {
			return err
		}
	}
	return nil
}

// wire joins the parts, and brings them together after a crash.
func (s *service) wire(ctx context.Context, c setup, log *slog.Logger) (err error) {
	settings, err := s.settings(c.Config)
	if err != nil { // now that the model is known
		return cmdline.Misused(err)
	}
	watch := &idle.Watch{}
	s.asker, err = answer.New(answer.Parts{
		Knowledge: s.knowledge, Searcher: s.index, Bank: s.bank, Tree: s.tree, Embedder: s.questions, Engine: s.engine,
		History: s.history, Instructions: s.instructions, Placement: s.placement, Patience: cmp.Or(s.patience, patience), Now: s.now, Logger: log,
		Observer: answer.Observer{Asked: s.news.asked(watch.Asked), Stopped: s.news.stopped()}, Waiting: c.MaxWaiting, Chance: rand.Float64, Unchecked: c.engine != nil, // that is none of a user's
	}, settings)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { s.asker.Close(); return nil })
	if err := s.wireIdle(c, log); err != nil {
		return err
	}
	watch.Scheduler, watch.Predictor = s.scheduler, s.predictor
	return s.recover(ctx)
}

// wireIdle joins what works while nobody asks.
func (s *service) wireIdle(c setup, log *slog.Logger) error {
	rules, err := s.idleRules(c.Config)
	if err != nil {
		return err
	}
	p := predictor.Default()
	p.DB, p.Knowledge, p.Engine, p.Now, p.Prompts = s.meta, s.knowledge, noEngine{}, s.now, s.prompt
	p.Observer.Damaged = s.news.damaged("predictor")
	if s.engine != nil {
		p.Engine = s.engine
	}
	p.Check = &idle.Check{
		Knowledge: s.knowledge, Index: s.index, Bank: s.bank, Embedder: s.questions, Settings: s.asker, Floor: rules.Floor,
	}
	if s.predictor, err = predictor.Open(p); err != nil {
		return err
	}
	s.closers = append(s.closers, s.predictor.Close)
	s.library = ingest.New(ingest.Layers{
		Meta: s.meta, Tensors: s.tensors, Knowledge: s.knowledge, Index: s.index, Bank: s.bank, Tree: s.tree,
		History: s.history, Asker: s.asker, Predictor: s.predictor, Logger: log,
	})
	s.worker, err = idle.New(idle.Parts{
		Knowledge: s.knowledge, Index: s.index, Bank: s.bank, Tree: s.tree, History: s.history, Asker: s.asker,
		Predictor: s.predictor, Library: s.library, Placements: s.placements, Embedder: s.questions, Engine: s.engine, Now: s.now,
	}, rules)
	if err != nil {
		return err
	}
	s.scheduler, err = scheduler.Open(scheduler.Options{
		DB: s.meta, Worker: s.worker, Config: rules.Policy, Alive: s.alive, Now: s.now, Sys: s.sys, Logger: log, Observer: s.news.ofScheduler(),
	})
	if err != nil {
		return err
	}
	s.library.Jobs, s.worker.Parked = s.scheduler, s.scheduler.Parked
	s.closers = append(s.closers, s.scheduler.Close)
	return nil
}

// alive says whether a name is that of a stored entry or of a chunk.
func (s *service) alive(space string, id [16]byte) bool {
	if there, _ := s.bank.Has(space, id); there {
		return true
	}
	found, err := s.knowledge.Versions(space, []percached.ChunkID{id})
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
func (s *service) recover(ctx context.Context) error {
	err := s.library.Recover(ctx, s.home.Unclean)
	if err == nil {
		s.home.Unclean = false
		if !s.untidy {
			err = s.library.CleanUp(ctx, nil)
		}
	}
	return s.endure(ctx, err)
}

// tidy takes off the disk what a former process left there of what was forgotten.
// Where ctx cuts it short, the next process does.
func (s *service) tidy(ctx context.Context) {
	due, err := s.library.Untidy()
	if err == nil && due {
		if err = s.library.CleanUp(ctx, nil); err == nil {
			s.log.Info("what was forgotten before the start has left the disk")
		}
	}
	_ = s.endure(ctx, err)
}

// endure tells of an error that is nothing new: without what it stopped, a service
// works.
func (s *service) endure(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.log.Warn("what a former process left undone could not be ended and is tried again next time", "kind", fault.KindOf(err), "error", err)
	return nil
}

// close closes everything in the opposite order.
func (s *service) close() error {
	var errs []error
	if r, ok := s.engine.(*supervise.Engine); ok {
		r.Stop()
	}
	behind := s.library != nil && s.library.Behind()
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	err := errors.Join(errs...)
	if s.home == nil {
		return err
	}
	s.home.Unclean = s.home.Unclean || behind || err != nil
	if s.home != s.folder {
		if shut := s.home.Close(); err == nil {
			err = shut
		}
	}
	s.home = nil
	return err
}

// space finds a space, or makes it. One that is there must be of the kind if that
// was asked for.
func (s *service) space(name, kind string, asked bool) error {
	if _, err := s.knowledge.Space(name); err == nil && !asked {
		return nil
	}
	return s.knowledge.CreateSpace(percached.Space{Name: name, Kind: kind})
}
