package idle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/ingest"
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

// engine says what a model's tensors take.
type engine interface {
	Info() percached.ModelInfo
}

// Parts are the layers in which there is work. All are needed but Placements.
type Parts struct {
	Knowledge  *knowledgebank.Bank
	Index      *retrieval.Index
	Bank       *qabank.Bank
	Tree       *qkvtree.Tree
	History    *answer.History
	Asker      *answer.Asker
	Predictor  *predictor.Predictor
	Library    *ingest.Library
	Placements *calibrate.Book // nil: none is measured
	Embedder   embedder
	Engine     engine
	Now        func() time.Time
}

// Worker finds idle work and does it, for one scheduler: one call of Due or Do
// at a time.
type Worker struct {
	Parts
	// Parked, when not nil, counts the jobs of a kind that failed too often and
	// are not tried any more. It is set before there is work.
	Parked func(space string, k scheduler.Kind) int
	config atomic.Pointer[Config]
	kinds  map[scheduler.Kind]kind
	full   map[string]room // spaces in which no slice was missing
}

// kind is how work of one kind is found and done.
type kind struct {
	due func(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error)
	do  func(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error)
}

// New makes a worker.
func New(p Parts, c Config) (*Worker, error) {
	if err := c.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, "idle.New", "%w", err)
	}
	w := &Worker{Parts: p, full: map[string]room{}}
	w.config.Store(&c)
	w.kinds = map[scheduler.Kind]kind{
		scheduler.Reembed:   {w.dueReembed, w.reembed},
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
		scheduler.Clean:     {w.dueClean, w.clean},
	}
	return w, nil
}

// Config is what idle work there is, where a space wants nothing else.
func (w *Worker) Config() Config { return *w.config.Load() }

// Configure changes what idle work there is, from the next call of Due and Do on.
// The Floor is no part of that: a Check has it.
func (w *Worker) Configure(c Config) error {
	if err := c.Validate(); err != nil {
		return fault.New(fault.Invalid, "idle.Configure", "%w", err)
	}
	w.config.Store(&c)
	return nil
}

// Spaces lists the spaces.
func (w *Worker) Spaces() ([]string, error) {
	spaces, err := w.Knowledge.Spaces()
	names := make([]string, len(spaces))
	for i, s := range spaces {
		names[i] = s.Name
	}
	return names, err
}

// Due finds at most limit pieces of work of a kind, most useful first.
func (w *Worker) Due(ctx context.Context, space string, k scheduler.Kind, limit int) ([]scheduler.Due, error) {
	const op = "idle.Due"
	r, err := w.rules(space)
	if fault.KindOf(err) == fault.NotFound { // the space went
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	due, err := w.kinds[k].due(ctx, space, r, limit)
	return due[:min(len(due), limit)], fault.Wrap(op, err)
}

// Do does one piece of work.
func (w *Worker) Do(ctx context.Context, j scheduler.Job) (scheduler.Done, error) {
	const op = "idle.Do"
	k, ok := w.kinds[j.Kind]
	if !ok {
		return scheduler.Done{}, fault.New(fault.NotFound, op, "there is no work of the kind %s", j.Kind)
	}
	r, err := w.rules(j.Space)
	if err != nil {
		return scheduler.Done{}, fault.Wrap(op, err)
	}
	if j.Kind.Predicts() && !r.predicts() { // it was wanted when it was found
		return nothing()
	}
	done, err := k.do(ctx, j.Space, r, j.Subject)
	return done, fault.Wrap(op, err)
}

// nothing says that a job's work is done already.
func nothing() (scheduler.Done, error) { return scheduler.Done{Nothing: true}, nil }

// id reads the name of an entry, a chunk or a prediction.
func id(subject string) (i [16]byte, err error) {
	var q qabank.ID
	if q.UnmarshalText([]byte(subject)) != nil {
		return i, fault.New(fault.NotFound, "idle", "%q names nothing", subject)
	}
	return q, nil
}

// cost is what an answer took, with what it made that will save something.
func cost(a answer.Answer) scheduler.Done {
	d := scheduler.Done{Computed: a.Tokens.Computed, Generated: a.Tokens.Generated, Written: a.Written}
	if a.Tokens.Computed == 0 {
		return d
	}
	token := a.Times.Prefill / time.Duration(a.Tokens.Computed)
	if a.Entry != (qabank.ID{}) && a.Text != "" { // a question without reuse would compute all of its prompt
		d.Credits = append(d.Credits, scheduler.Credit{ID: a.Entry, Saves: token*time.Duration(a.Tokens.Prompt) + a.Times.Decode})
	}
	for _, c := range a.Made { // the question is computed anyway, and is about as long
		d.Credits = append(d.Credits, scheduler.Credit{ID: c, Saves: a.Times.Prefill / time.Duration(len(a.Made)+1)})
	}
	return d
}

// dueReembed: the vectors of a space are another embedding model's.
func (w *Worker) dueReembed(_ context.Context, space string, _ rules, _ int) ([]scheduler.Due, error) {
	st, err := w.Index.Standing(space)
	if err != nil || !st.EmbedderStale {
		return nil, err
	}
	return []scheduler.Due{{Subject: w.Embedder.Info().Fingerprint}}, nil
}

// reembed makes new vectors, of the questions first: the index tells that there
// is something left to do.
func (w *Worker) reembed(ctx context.Context, space string, _ rules, _ string) (scheduler.Done, error) {
	questions, err := w.Bank.Reembed(ctx, space, w.Embedder)
	if err != nil {
		return scheduler.Done{}, err
	}
	chunks, err := w.Index.Reembed(ctx, space, nil)
	return scheduler.Done{Nothing: err == nil && questions+chunks == 0}, err
}

// dueClean: bytes of what was forgotten are still on the disk.
func (w *Worker) dueClean(context.Context, string, rules, int) ([]scheduler.Due, error) {
	due, err := w.Library.Untidy()
	if err != nil || !due {
		return nil, err
	}
	return []scheduler.Due{{Subject: "forgotten"}}, nil
}

func (w *Worker) clean(ctx context.Context, _ string, _ rules, _ string) (scheduler.Done, error) {
	err := w.Library.CleanUp(ctx, nil)
	if fault.KindOf(err) == fault.Conflict { // a backup is being made: later
		return scheduler.Done{Nothing: true}, nil
	}
	return scheduler.Done{}, err
}
