package answer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// knowledge is the truth about documents and chunks.
type knowledge interface {
	Space(name string) (percached.Space, error)
	Seq(space string) (uint64, error)
	Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error)
}

// searcher finds chunks. Its Standing says up to which change of a space it finds
// them: documents that are just coming in may not be found yet.
type searcher interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error)
	Standing(space string) (retrieval.Standing, error)
}

// embedder turns questions into vectors.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// engine runs prompts.
type engine interface {
	Tokenize(segments []percached.Segment) ([][]int32, error)
	Info() percached.ModelInfo
	runner
}

// runner is the part of an engine that computes.
type runner interface {
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)
	Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error)
}

// tree keeps tensors.
type tree interface {
	View(r qkvtree.Request, fn func(slices []*percached.Slice, m qkvtree.Match) error) error
	Insert(r qkvtree.Request, slices []*percached.Slice) error
	Has(r qkvtree.Request) []bool
}

// Parts are what an Asker is made of. All are needed.
type Parts struct {
	Knowledge knowledge
	Searcher  searcher
	Bank      *qabank.Bank
	Tree      tree
	Embedder  embedder
	Engine    engine
	History   *History
	// Instructions, when not nil, gives what prompts of a space begin with
	// instead of the built-in instructions; false: nothing.
	Instructions func(space string) (string, bool, error)
	// Placement, when not nil, says in which placement a model answers best from
	// documents of a kind, where nobody chose one; false: nothing is known.
	Placement func(kind string, s Settings) (percached.Placement, bool)
	// Patience is how long stored tensors may keep a question waiting.
	Patience time.Duration
	// Waiting is how many questions may wait for the engine or use it at a time, and
	// a caller may have as many as are still free, so half of them alone; one more is
	// Overloaded. Questions that the bank answers do not count, identical ones of one
	// caller count once. 0: any number.
	Waiting int
	// Unchecked takes answers for grounded without a look: those of an engine whose
	// answers are made up.
	Unchecked bool
	// Chance, a number from 0 to 1, decides which question of a caller gets one of the
	// caller's last places, so that a client is not refused for ever. Nil: the first.
	Chance   func() float64
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer is told of what goes on. Any func may be nil.
type Observer struct {
	// Asked: somebody asks something. The func that it gives is told what became
	// of it, before the person is.
	Asked func(space, question string) (answered func(Answer, error))
	// Stopped: the engine was made to stop, as nobody waits for the answer any more.
	Stopped func()
}

// Asker answers questions. It is safe for concurrent use.
type Asker struct {
	Parts
	settings atomic.Pointer[Settings]
	line     line // for the engine
	embeds   line // for the embedder

	mu      sync.Mutex
	flights map[string]*flight
	works   int // that were begun
	closed  bool
	running sync.WaitGroup

	// storing is held shared while what came of a question is stored, from
	// the look whether its chunks are still there.
	storing sync.RWMutex
}

// New makes an Asker; spaces may want other settings than these.
func New(p Parts, s Settings) (*Asker, error) {
	if err := s.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, "answer.New", "%w", err)
	}
	if p.Waiting < 0 {
		return nil, fault.New(fault.Invalid, "answer.New", "%d questions may wait", p.Waiting)
	}
	a := &Asker{Parts: p, line: line{most: p.Waiting, chance: p.Chance}, flights: map[string]*flight{}}
	a.settings.Store(&s)
	return a, nil
}

// Configure changes the settings, for questions that come from now on.
func (a *Asker) Configure(s Settings) error {
	if err := s.Validate(); err != nil {
		return fault.New(fault.Invalid, "answer.Configure", "%w", err)
	}
	a.settings.Store(&s)
	return nil
}

// Waiting counts the questions that wait for the engine or use it, those among
// them that are just being stored. Idle work is none of them.
func (a *Asker) Waiting() int { return a.line.count() }

// Close ends the questions in flight and waits for them.
func (a *Asker) Close() {
	a.mu.Lock()
	a.closed = true
	for _, f := range a.flights {
		f.cancel(errClosed)
	}
	a.mu.Unlock()
	a.running.Wait()
}

// Settle waits until what is being stored now is stored. What is stored later
// rests on chunks that are in the knowledge bank later: so who forgets takes the
// chunks out of the knowledge bank, settles, and then clears the other layers,
// and no question that was under way brings anything back.
func (a *Asker) Settle() {
	a.storing.Lock()
	defer a.storing.Unlock()
}

// Keep runs fn, which looks whether chunks are there and stores what rests on
// them: Settle waits for it, too.
func (a *Asker) Keep(fn func() error) error {
	a.storing.RLock()
	defer a.storing.RUnlock()
	return fn()
}

// Why a flight ends before it lands.
var (
	errGone   = fault.New(fault.Conflict, "answer", "the documents changed meanwhile")
	errClosed = fault.New(fault.Unavailable, "answer.Ask", "percached is closing")
	errNobody = fault.New(fault.Timeout, "answer.Ask", "nobody waits for the answer any more")
)

// Ask answers a question. It returns when the answer is complete and stored, or
// when ctx ends: the work goes on only while somebody else waits for it.
func (a *Asker) Ask(ctx context.Context, q Question, l Listener) (answer Answer, err error) {
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	if a.Observer.Asked != nil {
		answered := a.Observer.Asked(q.Space, q.Text)
		defer func() { answered(answer, err) }()
	}
	f, err := a.board(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	defer a.leave(f)
	return f.follow(ctx, l)
}

// board joins the flight of an identical question, or starts one.
func (a *Asker) board(ctx context.Context, q Question) (*flight, error) {
	set, err := a.settingsOf(q)
	if err != nil {
		return nil, fault.Wrap("answer.Ask", err)
	}
	// Who asks after a change of the documents or the settings must not get an
	// answer from before it. Where there is no count, the flight says why.
	seq, _ := a.Knowledge.Seq(q.Space)
	key := q.key(seq, set)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	if f, ok := a.flights[key]; ok {
		f.waiting++
		return f, nil
	}
	// The flight is its own: it outlives the caller who started it if others joined.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f := newFlight(key, cancel)
	a.flights[key] = f
	a.running.Go(func() {
		defer cancel(nil)
		answer, err := a.answer(inner, q, set, nil, f)
		if err != nil && errors.Is(context.Cause(inner), errClosed) {
			err = errClosed
		}
		a.mu.Lock()
		if a.flights[key] == f {
			delete(a.flights, key)
		}
		a.mu.Unlock()
		f.land(answer, fault.Wrap("answer.Ask", err))
	})
	return f, nil
}

// leave ends a flight that nobody follows any more.
func (a *Asker) leave(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel(errNobody)
		if a.flights[f.key] == f { // who comes now starts anew
			delete(a.flights, f.key)
		}
	}
}

// key is equal for questions that get the same answer at a count of changes of
// their space, under the settings that hold for them.
func (q *Question) key(seq uint64, set Settings) string {
	same := *q
	same.Space, same.Text = "", "" // JSON would have some bytes be others
	same.Settings = percached.Settings{}
	b, _ := json.Marshal([]any{same, set}) // plain values always marshal
	return strconv.Quote(q.Space) + " " + strconv.FormatUint(seq, 10) + " " + strconv.Quote(q.Text) + string(b)
}
