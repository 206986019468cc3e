package answer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

const (
	opComplete = "answer.Complete"
	// typedNotes is how many chunks stand before a typed text.
	typedNotes = 2
	// typedQuery is how many of the latest words are searched for, and typedStep how many
	// new words of a sentence lead to another search.
	typedQuery, typedStep = 30, 4
	// leastQuery is the least number of words of a search that are one sentence.
	leastQuery = 4
	// mostTyping bounds the texts in progress, and typingAge how long one is remembered.
	mostTyping, typingAge = 64, 5 * time.Minute
)

// errTyped ends a completion when the same caller sends another one for the space.
var errTyped = fault.New(fault.Conflict, opComplete, "a newer request of the same token replaced this one")

// typist completes texts.
type typist interface {
	Complete(ctx context.Context, t percached.Typing, emit func(piece string) error) (percached.Typed, error)
	ForgetTyped()
}

// Completion is a text that a user types in a space, at one moment.
type Completion struct {
	Space, Caller string
	Before, After string // of the cursor
	Alternatives  int
	MaxTokens     int // of a candidate
}

// Completed holds the candidates and the chunks that stood before the text.
type Completed struct {
	percached.Typed
	Citations []Citation
}

// typing is what a caller types in a space. It is never stored on disk.
type typing struct {
	requests int                     // so far
	cancel   context.CancelCauseFunc // of the request in progress; nil: there is none
	query    searched                // latest
	seq      uint64                  // of the space then
	chunks   []percached.ChunkID
	used     time.Time
}

// searched is a search, without its text.
type searched struct {
	length int
	sum    [sha256.Size]byte
}

func newSearched(query string) searched { return searched{len(query), sha256.Sum256([]byte(query))} }

type typingKey struct{ space, caller string }

// Complete continues a text, grounded in the documents of its space. A newer request of the
// same caller for the space ends the older one with a conflict.
func (a *Asker) Complete(ctx context.Context, c Completion, emit func(piece string) error) (done Completed, err error) {
	engine, ok := a.Engine.(typist)
	if !ok {
		return done, fault.New(fault.Unsupported, opComplete, "this engine does not complete texts")
	}
	if _, err := a.Knowledge.Space(c.Space); err != nil {
		return done, err
	}
	seq, err := a.Knowledge.Seq(c.Space)
	if err != nil {
		return done, err
	}
	ctx, t, end, err := a.beginTyping(ctx, c)
	if err != nil {
		return done, err
	}
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errTyped) {
			err = errTyped
		}
		end()
	}()
	chunks, err := a.typedChunks(ctx, c, t, seq)
	if err != nil {
		return done, err
	}
	text := percached.Typing{Owner: c.Space + "\x00" + c.Caller, Before: c.Before, After: c.After, Alternatives: c.Alternatives, MaxTokens: c.MaxTokens, Splice: true}
	for _, chunk := range chunks {
		text.Notes = append(text.Notes, strings.TrimSpace(chunk.Rendered())+"\n\n")
		done.Citations = append(done.Citations, citation(chunk))
	}
	done.Typed, err = engine.Complete(ctx, text, emit)
	if !a.unchanged(c.Space, seq, chunks) {
		engine.ForgetTyped() // what a deletion forgot before may have been computed again
		err = cmp.Or(err, error(errGone))
	}
	if err != nil {
		return Completed{}, fault.Wrap(opComplete, err)
	}
	if a.Observer.Completed != nil {
		a.Observer.Completed(done)
	}
	return done, nil
}

// beginTyping replaces the caller's earlier request for the space.
func (a *Asker) beginTyping(ctx context.Context, c Completion) (_ context.Context, t *typing, end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, nil, errClosed
	}
	key, now := typingKey{c.Space, c.Caller}, a.Now()
	if t = a.typed[key]; t == nil {
		if t = a.newTyping(now); t == nil {
			return nil, nil, nil, fault.New(fault.Overloaded, opComplete, "too many texts are being completed")
		}
		a.typed[key] = t
	}
	if t.cancel != nil {
		t.cancel(errTyped)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t.requests++
	request := t.requests
	t.cancel, t.used = cancel, now
	a.running.Add(1)
	return ctx, t, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		cancel(nil)
		if t.requests == request {
			t.cancel = nil
		}
		a.running.Done()
	}, nil
}

// newTyping makes room for another text: it forgets those that nobody went on with, and the
// oldest if there are many. It returns nil if all are in progress. The caller holds the lock.
func (a *Asker) newTyping(now time.Time) *typing {
	if a.typed == nil {
		a.typed = map[typingKey]*typing{}
	}
	var oldest *typingKey
	for key, t := range a.typed {
		switch {
		case t.cancel != nil:
		case now.Sub(t.used) > typingAge:
			delete(a.typed, key)
		case oldest == nil || t.used.Before(a.typed[*oldest].used):
			oldest = &key
		}
	}
	if len(a.typed) >= mostTyping {
		if oldest == nil {
			return nil
		}
		delete(a.typed, *oldest)
	}
	return &typing{}
}

// forgetTyped forgets all that was typed.
func (a *Asker) forgetTyped() {
	a.mu.Lock()
	for _, t := range a.typed {
		t.query, t.chunks = searched{}, nil
	}
	a.mu.Unlock()
	if engine, ok := a.Engine.(typist); ok {
		engine.ForgetTyped()
	}
}

// typedChunks returns the chunks that stand before a text. It searches anew if the documents
// changed, or if enough words were typed. Chunks that it found before keep their places, so
// that their tokens need not be computed again.
func (a *Asker) typedChunks(ctx context.Context, c Completion, t *typing, seq uint64) ([]percached.Chunk, error) {
	query := typedSearch(c.Before)
	a.mu.Lock()
	before, old, same := t.query, t.chunks, t.seq == seq
	a.mu.Unlock()
	if query == "" {
		return nil, nil
	}
	if same && !before.outdated(query) {
		return a.readChunks(c.Space, old, typedNotes)
	}
	found, err := a.findChunks(ctx, c.Caller, c.Space, query, typedNotes)
	if err != nil {
		return nil, fault.Wrap(opComplete, err)
	}
	place := func(chunk percached.Chunk) int {
		if i := slices.Index(old, chunk.ID); i >= 0 {
			return i
		}
		return typedNotes
	}
	slices.SortStableFunc(found, func(a, b percached.Chunk) int { return place(a) - place(b) })
	ids := make([]percached.ChunkID, len(found))
	for i, chunk := range found {
		ids[i] = chunk.ID
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t.query, t.seq, t.chunks = newSearched(query), seq, ids
	return found, nil
}

// typedSearch returns the words to search for: those of the sentence before the cursor,
// without the word that is being typed, and of the one before if it is short.
func typedSearch(before string) string {
	end := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	words := strings.Fields(before[:end+1])
	words = words[max(0, len(words)-typedQuery):]
	from := 0
	for i, w := range words {
		if len(words)-i > leastQuery && strings.ContainsAny(w[len(w)-1:], ".!?:") {
			from = i + 1
		}
	}
	return strings.Join(words[from:], " ")
}

// outdated reports whether a search is more than a few words longer than this one, or other.
func (s searched) outdated(now string) bool {
	return s.length == 0 || len(now) < s.length || newSearched(now[:s.length]) != s || len(strings.Fields(now[s.length:])) >= typedStep
}
