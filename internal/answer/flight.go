package answer

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/percached/percached/internal/base/fault"
)

// flight is a question on its way, followed by all who asked it. What happens
// is written down, so that a slow follower holds up neither engine nor others.
type flight struct {
	key     string
	cancel  context.CancelCauseFunc
	waiting int // who follow; guarded by Asker.mu

	mu     sync.Mutex
	events []event
	more   chan struct{} // closed, and replaced, when there is more to read
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
	return &flight{key: key, cancel: cancel, waiting: 1, more: make(chan struct{})}
}

func (f *flight) tell(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *flight) stage(name string, took time.Duration) {
	f.tell(event{stage: Stage{name, took}})
}

func (f *flight) land(a Answer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.answer, f.err = true, a, err
	close(f.more)
}

// follow tells all events to l, from the first, until the flight has landed.
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

// trimmer passes an answer on without the spaces around it: small models begin
// with one.
type trimmer struct {
	to    func(piece string)
	began bool
	held  string // spaces that more text must follow
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
