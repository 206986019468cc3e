package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// flight is a question in flight. All clients that asked it follow the same flight. It
// records its events, so that a slow follower delays neither the engine nor the others.
type flight struct {
	key       string
	cancel    context.CancelCauseFunc
	followers int // guarded by Asker.mu

	mu     sync.Mutex
	events []event
	more   chan struct{} // closed, and replaced, when there are more events
	done   bool
	answer Answer
	err    error
}

// event is a piece of the answer, the end of a stage, or a citation.
type event struct {
	piece string
	stage Stage
	cite  *Citation
}

func newFlight(key string, cancel context.CancelCauseFunc) *flight {
	return &flight{key: key, cancel: cancel, followers: 1, more: make(chan struct{})}
}

// joinFlight follows the flight of an identical question, or starts one.
func (a *Asker) joinFlight(ctx context.Context, q Question) (*flight, error) {
	set, err := a.settingsOf(q)
	if err != nil {
		return nil, fault.Wrap("answer.Ask", err)
	}
	// The key holds the space's count of changes and the settings, so that nobody gets an
	// answer from before a change. If there is no count, the flight itself reports why.
	seq, _ := a.Knowledge.Seq(q.Space)
	key := q.key(seq, set)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	if f, ok := a.flights[key]; ok {
		f.followers++
		return f, nil
	}
	// The flight has a context of its own: it outlives the client who started it if
	// others have joined.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f := newFlight(key, cancel)
	a.flights[key] = f
	a.running.Go(func() {
		defer cancel(nil)
		answer, err := a.answer(inner, a.newRequest(q, set, nil), a.newProgress(f))
		if err != nil && errors.Is(context.Cause(inner), errClosed) {
			err = errClosed
		}
		a.mu.Lock()
		if a.flights[key] == f {
			delete(a.flights, key)
		}
		a.mu.Unlock()
		f.complete(answer, fault.Wrap("answer.Ask", err))
	})
	return f, nil
}

// leaveFlight ends a flight that nobody follows any more.
func (a *Asker) leaveFlight(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.followers--; f.followers == 0 {
		f.cancel(errNobody)
		if a.flights[f.key] == f { // the next client starts a new one
			delete(a.flights, f.key)
		}
	}
}

// beginWork enters idle work among the flights, so that Close ends it. Nobody joins it.
func (a *Asker) beginWork(ctx context.Context) (context.Context, *flight, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, errClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a.works++
	f := newFlight(fmt.Sprintf("work %d", a.works), cancel) // a question's key begins with a quote
	a.flights[f.key] = f
	a.running.Add(1)
	return ctx, f, nil
}

func (a *Asker) endWork(f *flight) {
	f.cancel(nil)
	a.mu.Lock()
	delete(a.flights, f.key)
	a.mu.Unlock()
	a.running.Done()
}

// key is equal for questions that get the same answer: at the same count of changes of
// their space and under the same settings.
func (q *Question) key(seq uint64, set Settings) string {
	same := *q
	same.Space, same.Text = "", "" // quoted below: JSON would alter some bytes
	same.Settings = percached.Settings{}
	b, _ := json.Marshal([]any{same, set}) // plain values always marshal
	return strconv.Quote(q.Space) + " " + strconv.FormatUint(seq, 10) + " " + strconv.Quote(q.Text) + string(b)
}

func (f *flight) add(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *flight) complete(a Answer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.answer, f.err = true, a, err
	close(f.more)
}

// follow passes all events to l, from the first, until the flight is complete.
func (f *flight) follow(ctx context.Context, l Listener) (Answer, error) {
	for at := 0; ; {
		f.mu.Lock()
		events, more, done := f.events[at:], f.more, f.done
		f.mu.Unlock()
		for _, e := range events {
			if e.piece != "" && l.Piece != nil {
				l.Piece(e.piece)
			}
			if e.stage.Name != "" && l.Stage != nil {
				l.Stage(e.stage.Name, e.stage.Took)
			}
			if e.cite != nil && l.Cite != nil {
				l.Cite(*e.cite)
			}
		}
		if at += len(events); done {
			return f.answer, f.err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Answer{}, fault.Wrap("answer.Ask", ctx.Err())
		}
	}
}

// progress collects the times and notes of one request and sends its events to the
// flight. Only the goroutine of the request uses it.
type progress struct {
	flight *flight // nil: nobody follows
	now    func() time.Time
	logger *slog.Logger
	began  time.Time
	lapped time.Time // end of the latest lap
	times  Times
	notes  []string
	pieces int // of the answer
	cited  map[percached.ChunkID]bool
}

func (a *Asker) newProgress(f *flight) *progress {
	now := a.Now()
	return &progress{flight: f, now: a.Now, logger: a.Logger, began: now, lapped: now, cited: map[percached.ChunkID]bool{}}
}

func (p *progress) send(e event) {
	if p.flight != nil {
		p.flight.add(e)
	}
}

// piece sends a piece of the answer.
func (p *progress) piece(text string) {
	p.pieces++
	p.send(event{piece: text})
}

// cite sends the citations of these chunks, those that it sent before left out, and returns them.
// A plan made anew cites some of the same chunks.
func (p *progress) cite(chunks []percached.Chunk) []Citation {
	cited := make([]Citation, len(chunks))
	for i, c := range chunks {
		cited[i] = citation(c)
		if !p.cited[c.ID] {
			p.cited[c.ID] = true
			p.send(event{cite: &cited[i]})
		}
	}
	return cited
}

func citation(c percached.Chunk) Citation {
	cited := Citation{Chunk: c.ID, About: strings.TrimPrefix(c.Head, "### "), Quote: c.Body}
	if len(c.Documents) > 0 {
		cited.Document = c.Documents[0]
	}
	return cited
}

// lap adds the time since the latest lap.
func (p *progress) lap(to *time.Duration) {
	now := p.now()
	*to += now.Sub(p.lapped)
	p.lapped = now
}

// stageEnded adds the time since the latest lap and sends the stage's time.
func (p *progress) stageEnded(name string, to *time.Duration) {
	p.lap(to)
	p.stage(name, *to)
}

func (p *progress) stage(name string, took time.Duration) {
	p.send(event{stage: Stage{name, took}})
}

// restartLap leaves out the time since the latest lap.
func (p *progress) restartLap() { p.lapped = p.now() }

// engineEnded takes over the times that the engine reports, and sends them.
func (p *progress) engineEnded(t percached.Times) {
	p.times.Queue += t.Queue
	p.times.LoadTensors, p.times.Prefill, p.times.FirstToken, p.times.Decode, p.times.Capture = t.Restore, t.Prefill, t.FirstToken, t.Decode, t.Capture
	p.stage("queue", p.times.Queue)
	p.stage("load_tensors", p.times.LoadTensors)
	p.stage("prefill", p.times.Prefill)
	p.stage("first_token", p.times.FirstToken)
	p.stage("decode", p.times.Decode)
	p.stage("capture", p.times.Capture)
}

// waited counts the time since the latest lap as waiting for the engine.
func (p *progress) waited() { p.lap(&p.times.Queue) }

// without records that a part failed and the question goes on without it.
func (p *progress) without(part string, err error) {
	p.notes = append(p.notes, part+" did not work and was left out")
	p.logger.Warn("a question was answered without a part", "part", part, "kind", fault.KindOf(err), "error", err)
}

// complete fills the times and notes into the answer. A client whose question failed
// receives the error alone.
func (p *progress) complete(a Answer, err error) Answer {
	p.times.Total = p.now().Sub(p.began)
	a.Times, a.Notes = p.times, p.notes
	if err == nil {
		p.stage("total", p.times.Total)
	}
	return a
}

// trimmer passes an answer on without the spaces around it. Small models begin with one.
type trimmer struct {
	to    func(piece string)
	began bool
	held  string // spaces, kept until more text follows
}

func (t *trimmer) piece(p string) error {
	if !t.began {
		p = strings.TrimLeftFunc(p, unicode.IsSpace)
	}
	p = t.held + p
	t.held = ""
	if body := strings.TrimRightFunc(p, unicode.IsSpace); body != p {
		p, t.held = body, p[len(body):]
	}
	if p != "" {
		t.began = true
		t.to(p)
	}
	return nil
}
