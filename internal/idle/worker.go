package idle

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

// embedder turns questions into vectors.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// engine describes the model's tensors.
type engine interface {
	Info() percached.ModelInfo
}

// Parts are the layers that have work. All but Placements and Memory are required.
type Parts struct {
	Knowledge  *knowledgebank.Bank
	Index      *retrieval.Index
	Bank       *qabank.Bank
	Tree       *qkvtree.Tree
	History    *answer.History
	Asker      *answer.Asker
	Predictor  *predictor.Predictor
	Library    *ingest.Library
	Placements *calibrate.Book // nil: no measurements
	Memory     *memory.Book    // nil: no facts are found
	Embedder   embedder
	Engine     engine
	Now        func() time.Time
}

// Worker finds and does idle work for one scheduler: one call of Due or Do at a time.
type Worker struct {
	Parts
	// Parked, if set, counts the parked jobs of a kind. It is set before the first call.
	Parked func(space string, k scheduler.Kind) int
	config atomic.Pointer[Config]
	kinds  map[scheduler.Kind]kind
	full   map[string]tensorSearch // spaces without missing slices
	latest latestVectors
	// unpackable says that the model's tensors have no smaller form.
	unpackable atomic.Bool
}

// kind is how to find and do work of one kind.
type kind struct {
	due func(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error)
	do  func(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error)
}

// New creates a worker.
func New(p Parts, c Config) (*Worker, error) {
	if err := c.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, "idle.New", "%w", err)
	}
	w := &Worker{Parts: p, full: map[string]tensorSearch{}}
	w.config.Store(&c)
	w.kinds = map[scheduler.Kind]kind{
		scheduler.Reembed:   {w.dueReembed, w.reembed},
		scheduler.Remember:  {w.dueRemember, w.remember},
		scheduler.Check:     {w.dueCheck, w.check},
		scheduler.Refresh:   {w.dueRefresh, w.refresh},
		scheduler.Answer:    {w.dueAnswer, w.decode},
		scheduler.Abstract:  {w.dueAbstract, w.abstract},
		scheduler.Predict:   {w.duePredict, w.predict},
		scheduler.History:   {w.dueHistory, w.fromHistory},
		scheduler.Populate:  {w.duePopulate, w.populate},
		scheduler.Decode:    {w.dueDecode, w.decode},
		scheduler.Restore:   {w.dueRestore, w.restore},
		scheduler.Calibrate: {w.dueCalibrate, w.calibrate},
		scheduler.Warm:      {w.dueWarm, w.warm},
		scheduler.Pack:      {w.duePack, w.pack},
		scheduler.Clean:     {w.dueClean, w.clean},
	}
	return w, nil
}

// Config returns the configuration of spaces without overrides.
func (w *Worker) Config() Config { return *w.config.Load() }

// Configure replaces the configuration from the next call of Due or Do. It does not
// change the Floor, which Check holds.
func (w *Worker) Configure(c Config) error {
	if err := c.Validate(); err != nil {
		return fault.New(fault.Invalid, "idle.Configure", "%w", err)
	}
	w.config.Store(&c)
	return nil
}

// Spaces lists all spaces, and forgets what it kept of others.
func (w *Worker) Spaces() ([]string, error) {
	spaces, err := w.Knowledge.Spaces()
	names := make([]string, len(spaces))
	for i, s := range spaces {
		names[i] = s.Name
	}
	if err == nil {
		w.latest.forget(func(space string) bool { return !slices.Contains(names, space) })
	}
	return names, err
}

// Due lists at most limit jobs of a kind, most useful first.
func (w *Worker) Due(ctx context.Context, space string, k scheduler.Kind, limit int) ([]scheduler.Due, error) {
	const op = "idle.Due"
	r, err := w.rules(space)
	if fault.KindOf(err) == fault.NotFound { // the space was deleted
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	if w.isFrozen(space) {
		return nil, nil
	}
	due, err := w.kinds[k].due(ctx, space, r, limit)
	return due[:min(len(due), limit)], fault.Wrap(op, err)
}

// isFrozen says whether a space is being moved to another node, or was: what idle work stores
// here would be lost.
func (w *Worker) isFrozen(space string) bool {
	sp, err := w.Knowledge.Space(space)
	return err == nil && (sp.Settings.ReadOnly != nil && *sp.Settings.ReadOnly || sp.Settings.MovedTo != nil)
}

// Do does one job.
func (w *Worker) Do(ctx context.Context, j scheduler.Job) (scheduler.Done, error) {
	const op = "idle.Do"
	k, ok := w.kinds[j.Kind]
	if !ok {
		return scheduler.Done{}, fault.New(fault.NotFound, op, "unknown kind of job %s", j.Kind)
	}
	r, err := w.rules(j.Space)
	if err != nil {
		return scheduler.Done{}, fault.Wrap(op, err)
	}
	if w.isFrozen(j.Space) || j.Kind.Predicts() && !r.predicts() { // it was due when it was found
		return nothing()
	}
	done, err := k.do(ctx, j.Space, r, j.Subject)
	return done, fault.Wrap(op, err)
}

// nothing is the result of a job whose work is already done.
func nothing() (scheduler.Done, error) { return scheduler.Done{Nothing: true}, nil }

// id parses the ID of an entry, a chunk or a prediction.
func id(subject string) (i [16]byte, err error) {
	var q qabank.ID
	if q.UnmarshalText([]byte(subject)) != nil {
		return i, fault.New(fault.NotFound, "idle", "unknown ID %q", subject)
	}
	return q, nil
}

// cost is the cost of an answer, with the credits for what it made.
func cost(a answer.Answer) scheduler.Done {
	d := scheduler.Done{Computed: a.Tokens.Computed, Generated: a.Tokens.Generated, Written: a.Written}
	if a.Tokens.Computed == 0 {
		return d
	}
	part := a.Times.Prefill / time.Duration(len(a.Made)+1) // a chunk, or the question, which is about as long
	if a.Entry != (qabank.ID{}) && a.Text != "" {          // without the entry, the stored chunks still save their part
		d.Credits = append(d.Credits, scheduler.Credit{ID: a.Entry, Saves: part + a.Times.Decode})
	}
	for _, c := range a.Made {
		d.Credits = append(d.Credits, scheduler.Credit{ID: c, Saves: part})
	}
	return d
}

// dueReembed names a job if the space's vectors are from another embedding model.
func (w *Worker) dueReembed(_ context.Context, space string, _ rules, _ int) ([]scheduler.Due, error) {
	st, err := w.Index.Standing(space)
	if err != nil || !st.EmbedderStale {
		return nil, err
	}
	return []scheduler.Due{{Subject: w.Embedder.Info().Fingerprint}}, nil
}

// reembed computes new vectors, those of the questions first: the index shows whether
// work remains.
func (w *Worker) reembed(ctx context.Context, space string, _ rules, _ string) (scheduler.Done, error) {
	questions, err := w.Bank.Reembed(ctx, space, w.Embedder)
	if err != nil {
		return scheduler.Done{}, err
	}
	chunks, err := w.Index.Reembed(ctx, space, nil)
	return scheduler.Done{Nothing: err == nil && questions+chunks == 0}, err
}

// dueClean names a job if bytes of forgotten documents are still on disk.
func (w *Worker) dueClean(context.Context, string, rules, int) ([]scheduler.Due, error) {
	due, err := w.Library.NeedsCleanUp()
	if err != nil || !due {
		return nil, err
	}
	return []scheduler.Due{{Subject: "forgotten"}}, nil
}

func (w *Worker) clean(ctx context.Context, _ string, _ rules, _ string) (scheduler.Done, error) {
	err := w.Library.CleanUp(ctx, nil)
	if fault.KindOf(err) == fault.Conflict { // a backup is running: retry later
		return scheduler.Done{Nothing: true}, nil
	}
	return scheduler.Done{}, err
}
