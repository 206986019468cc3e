package answer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/likeness"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// knowledge keeps documents and chunks. It is the truth that all else follows.
type knowledge interface {
	Space(name string) (percached.Space, error)
	Seq(space string) (uint64, error)
	Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error)
}

// searcher finds chunks. Standing returns the last change of a space that its search
// covers: it may lag behind the knowledge bank.
type searcher interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error)
	Standing(space string) (retrieval.Standing, error)
}

// embedder computes the vectors of questions.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// tokenizer is the part of an engine that a prompt is planned with.
type tokenizer interface {
	Tokenize(segments []percached.Segment) ([][]int32, error)
	Info() percached.ModelInfo
}

// engine runs prompts.
type engine interface {
	tokenizer
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)
	Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error)
}

// tree stores slices.
type tree interface {
	View(r qkvtree.Request, fn func(slices []*percached.Slice, m qkvtree.Match) error) error
	Insert(r qkvtree.Request, slices []*percached.Slice) error
	Has(r qkvtree.Request) []bool
	Lacks(r qkvtree.Request) []bool
}

// Parts are what an Asker works with. Those without a comment are required.
type Parts struct {
	Knowledge knowledge
	Searcher  searcher
	Bank      *qabank.Bank
	// Likeness compares questions. Nil: the model for the embedder. The bank must know its
	// calibration.
	Likeness *likeness.Model
	Tree     tree
	Embedder embedder
	Engine   engine
	History  *History
	// Conversations may be nil: then no question names one.
	Conversations *conversation.Store
	// Instructions, if set, returns the instructions of a space; false means that the
	// space uses the built-in ones.
	Instructions func(space string) (string, bool, error)
	// Placement, if set, returns the placement that was measured to serve a model best
	// over documents of a kind; false means that none was measured.
	Placement func(kind string, s Settings) (percached.Placement, bool)
	// Form, if set, returns the least exact form of tensors whose loss was measured to be
	// small for a model over documents of a kind.
	Form func(kind string, s Settings) percached.Form
	// Memory, if set, decides how a question uses the facts about the user.
	Memory func(space, question string) (Consulted, error)
	// Patience bounds how long a question waits for stored tensors.
	Patience time.Duration
	// Waiting bounds how many questions wait for the engine or use it; 0 means no
	// bound. A caller may take as many places as are still free, so at most half of
	// them. One question more is Overloaded. Stored answers take no place, and
	// identical questions of one caller share one.
	Waiting int
	// Energy, if set, begins to measure a question. End returns its energy in J; nil if
	// it is not known.
	Energy func() (end func(took time.Duration) *float64)
	// Unchecked accepts every answer as grounded. It is for engines that make their
	// answers up, so that no word of them stands in a document.
	Unchecked bool
	// Chance returns a number from 0 to 1. It decides which request gets one of a
	// caller's last places, so that no client is refused for ever. Nil gives them to
	// the first.
	Chance   func() float64
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer receives what happens to questions. Any func may be nil.
type Observer struct {
	// Asked runs when a question comes. The func that it returns receives the result
	// before the client does.
	Asked func(space, question string) (answered func(Answer, error))
	// Checked runs when an answer that was served for a question in other words has been
	// compared with a fresh one.
	Checked func(space string, right bool)
	// Changed runs when idle work has changed the answer of a question that a user had
	// asked.
	Changed func(space string, entry qabank.ID)
	// Completed runs when a text has been completed.
	Completed func(Completed)
	// Stopped runs when the engine was stopped because no client waits any more.
	Stopped func()
}

// Asker answers questions. It is safe for concurrent use.
type Asker struct {
	Parts
	settings atomic.Pointer[Settings]
	queue    queue // for the engine
	embeds   queue // for the embedder

	finding sync.Mutex // held while a conversation is found by its turns

	mu      sync.Mutex
	flights map[string]*flight
	typed   map[typingKey]*typing
	works   int // pieces of idle work begun so far
	// preparing holds the conversations that Prepare works on, and channels that are closed when it ends.
	preparing map[conversation.ID]chan struct{}
	closed    bool
	running   sync.WaitGroup

	// storing is held shared from the check that the chunks of an answer are still
	// there until the answer is stored.
	storing sync.RWMutex
}

// New makes an Asker. The settings hold where a space or a question has no others.
func New(p Parts, s Settings) (*Asker, error) {
	if err := s.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, "answer.New", "%w", err)
	}
	if p.Waiting < 0 {
		return nil, fault.New(fault.Invalid, "answer.New", "the queue has %d places; set 0 (no bound) or more", p.Waiting)
	}
	if p.Likeness == nil && p.Embedder != nil {
		p.Likeness = likeness.For(p.Embedder.Info(), s.Threshold)
	}
	a := &Asker{Parts: p, queue: queue{limit: p.Waiting, chance: p.Chance}, flights: map[string]*flight{}, preparing: map[conversation.ID]chan struct{}{}}
	a.settings.Store(&s)
	return a, nil
}

// Configure changes the settings for questions that come from now on.
func (a *Asker) Configure(s Settings) error {
	if err := s.Validate(); err != nil {
		return fault.New(fault.Invalid, "answer.Configure", "%w", err)
	}
	a.settings.Store(&s)
	return nil
}

// Waiting counts the questions that wait for the engine, use it, or are being stored.
// Idle work does not count.
func (a *Asker) Waiting() int { return a.queue.count() }

// Close ends the questions and the idle work in flight and waits for them.
func (a *Asker) Close() {
	a.mu.Lock()
	a.closed = true
	for _, f := range a.flights {
		f.cancel(errClosed)
	}
	for _, t := range a.typed {
		if t.cancel != nil {
			t.cancel(errClosed)
		}
	}
	a.mu.Unlock()
	a.running.Wait()
}

// Settle waits until everything that is being stored now is stored. Whatever is stored
// later rests on chunks that exist later. To forget chunks, remove them from the
// knowledge bank, call Settle, then clear the other layers: no question in flight can
// bring anything back. What was typed is forgotten, too: chunks may stand before it.
func (a *Asker) Settle() {
	a.storing.Lock()
	defer a.storing.Unlock()
	a.forgetTyped()
}

// Keep runs fn, which checks that chunks exist and stores what rests on them. Settle
// waits for fn too.
func (a *Asker) Keep(fn func() error) error {
	a.storing.RLock()
	defer a.storing.RUnlock()
	return fn()
}

// Why a flight ends without an answer.
var (
	errGone   = fault.New(fault.Conflict, "answer", "the documents changed while the question was answered")
	errClosed = fault.New(fault.Unavailable, "answer.Ask", "percached is closing")
	errNobody = fault.New(fault.Timeout, "answer.Ask", "no client waits for the answer any more")
)

// Ask answers a question. It returns when the answer is complete and stored, or when
// ctx ends; the work then continues only while another client waits for the same
// answer. The path itself is in answer.
func (a *Asker) Ask(ctx context.Context, q Question, l Listener) (answer Answer, err error) {
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	dialog, failed := a.openDialog(&q)
	if failed == nil {
		q, _ = q.understand()
	}
	if a.Observer.Asked != nil {
		answered := a.Observer.Asked(q.Space, q.Text)
		defer func() { answered(answer, err) }()
	}
	if a.Energy != nil { // ends before the observer, which lets idle work begin again
		end := a.Energy()
		defer func() { answer.Joules = end(answer.Times.Total) }()
	}
	if failed != nil {
		return Answer{}, fault.Wrap("answer.Ask", failed)
	}
	f, err := a.joinFlight(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	defer a.leaveFlight(f)
	answer, err = f.follow(ctx, l)
	if q.asked != "" {
		answer.UnderstoodAs = q.Text
	}
	if err == nil {
		a.continueDialog(q, dialog, &answer)
	}
	return answer, err
}

// request is one question with all that holds for it. It never changes; compute replaces it if the
// context becomes shorter.
type request struct {
	Question
	work      *Work // nil: a client waits for the answer
	settings  Settings
	mark      string // names the settings in the bank
	under     string // names the client's instructions there
	banked    bool   // the bank may have a part in the answer
	maxTokens int    // of the answer
}

func (a *Asker) newRequest(q Question, s Settings, w *Work) request {
	r := request{Question: q, work: w, settings: s, mark: a.Mark(s), under: q.under(), banked: s.Bank && q.standsAlone(), maxTokens: s.MaxTokens}
	if q.MaxTokens > 0 {
		r.maxTokens = min(r.maxTokens, q.MaxTokens)
	}
	return r
}

// under names what the client demands of an answer beside the question's own.
func (q *Question) under() string {
	if q.Grammar == "" {
		return qabank.UnderOf(q.Instructions)
	}
	return qabank.UnderOf(q.Instructions) + "/" + qabank.UnderOf(q.Grammar)
}

// entry is the ID of the question's own entry in the bank.
func (r request) entry() qabank.ID { return qabank.NewIDUnder(r.Space, r.Text, r.under) }

// priority of everything that is computed for the request.
func (r request) priority() percached.Priority {
	if r.work != nil {
		return percached.Background
	}
	return percached.Foreground
}

// prefills says that the work stops before the answer.
func (r request) prefills() bool { return r.work != nil && r.work.Prefill }

// answer takes one request along its path. Each step takes values and returns values;
// p collects times and notes, and sends events to the clients. If idle work is cut
// short, the answer says what the work took, and the tensors made so far are stored.
func (a *Asker) answer(ctx context.Context, r request, p *progress) (answer Answer, err error) {
	defer func() { answer = p.complete(answer, err) }()
	seq, err := a.Knowledge.Seq(r.Space)
	if err != nil {
		return Answer{}, err
	}
	// A stored answer, if one passes the gate.
	repeat := a.exactRepeat(r, p)
	found := retrieved{seq: seq, memory: a.consult(r.Space, r.wholeText(), r.settings)}
	w, hit, err := a.passGate(ctx, r, found, r.startGate(), repeat, p)
	if err != nil {
		return Answer{}, err
	}
	if hit != nil {
		served := a.serve(r, *hit, w.Gate, found, p)
		p.stageEnded("match_question", &p.times.MatchQuestion)
		return a.finish(ctx, r, served, nil, p)
	}
	if found.vectors, err = a.embed(ctx, r, p); err != nil {
		return Answer{}, err
	}
	near := a.matchBank(r, found.vector(), repeat)
	p.stageEnded("match_question", &p.times.MatchQuestion)
	if len(near) > 0 && r.settings.Guard {
		if found, err = a.retrieve(ctx, r, found, p); err != nil {
			return Answer{}, err
		}
	}
	if w, hit, err = a.passGate(ctx, r, found, w, near, p); err != nil {
		return Answer{}, err
	}
	if hit != nil {
		return a.finish(ctx, r, a.serve(r, *hit, w.Gate, found, p), nil, p)
	}
	// A computed answer, when the request's turn has come.
	place, err := a.admit(r)
	if err != nil {
		return Answer{}, err
	}
	defer place.leave()
	if !found.searched {
		if found, err = a.retrieve(ctx, r, found, p); err != nil {
			return Answer{}, err
		}
	}
	plan, err := a.plan(r, found.best(r.settings.K), p)
	if err != nil {
		return Answer{}, err
	}
	if found, plan, err = a.awaitTurn(ctx, r, found, plan, place, p); err != nil {
		return Answer{}, err
	}
	r, plan, computed, made, err := a.compute(ctx, r, found, plan, w, p)
	place.pass()
	computed.Gate, computed.Citations = w.after(plan), plan.citations
	return a.finish(ctx, r, draft{Answer: computed, found: found, rests: plan.used(), made: made, talk: plan.talk, considered: w.check(r, found)}, err, p)
}

// admit takes a place in the queue for the engine. Idle work has none: it waits in the
// engine's own line, behind all questions.
func (a *Asker) admit(r request) (*place, error) {
	if r.work != nil {
		return nil, nil
	}
	return a.queue.enter(r.Caller)
}

// awaitTurn waits until all questions before this one have had the engine. If the
// documents changed meanwhile, it retrieves and plans anew: a chunk that is gone must not
// be told. The request keeps its turn.
func (a *Asker) awaitTurn(ctx context.Context, r request, found retrieved, plan promptPlan, place *place, p *progress) (retrieved, promptPlan, error) {
	if plan.empty() || r.work != nil {
		return found, plan, nil
	}
	err := place.turn(ctx)
	p.waited()
	if err != nil || a.unchanged(r.Space, found.seq, plan.used()) {
		return found, plan, err
	}
	if found.seq, err = a.Knowledge.Seq(r.Space); err != nil {
		return found, plan, err
	}
	if found, err = a.retrieve(ctx, r, found, p); err != nil {
		return found, plan, err
	}
	plan, err = a.plan(r, found.best(r.settings.K), p)
	return found, plan, err
}
