package backend

import (
	"context"
	"io"
	"net/url"
	"strings"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
)

// inSpace is the input of an operation on one space.
type inSpace interface{ SpaceName() string }

type operation[In inSpace, Out any] = func(context.Context, In) (Out, error)

// here makes an operation redirect the client if the space was moved to another node.
func here[In inSpace, Out any](b *Backend, do operation[In, Out]) operation[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		if err := b.checkHere(in.SpaceName()); err != nil {
			return out, err
		}
		return do(ctx, in)
	}
}

// writing is here for an operation that changes the space. It is refused while the space is
// read-only.
func writing[In inSpace, Out any](b *Backend, do operation[In, Out]) operation[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		end, err := b.beginWrite(in.SpaceName())
		if err != nil {
			return out, err
		}
		defer end()
		return do(ctx, in)
	}
}

// checkHere returns an error with the new address of a space that was moved.
func (b *Backend) checkHere(space string) error {
	sp, err := b.Knowledge.Space(space)
	if err != nil || deref(sp.Settings.MovedTo) == "" {
		return nil // the operation says if there is no such space
	}
	return api.SpaceMoved(*sp.Settings.MovedTo)
}

// beginWrite registers a change of a space, unless the space is read-only or moved.
func (b *Backend) beginWrite(space string) (end func(), err error) {
	return b.writes.begin(space, func() error {
		if err := b.checkHere(space); err != nil {
			return err
		}
		sp, err := b.Knowledge.Space(space)
		switch {
		case err != nil: // the operation says why
			return nil
		case deref(sp.Settings.ReadOnly):
			return api.SpaceReadOnly()
		case deref(sp.Settings.CopyOf) != "":
			return api.SpaceIsCopy(*sp.Settings.CopyOf)
		}
		return nil
	})
}

// writes counts the changes in progress by space.
type writes struct {
	mu     sync.Mutex
	spaces map[string]*spaceWrites
}

type spaceWrites struct {
	n        int
	none     chan struct{} // closed when n is 0
	excluded bool          // none begins
}

// begin registers a change if allowed returns nil.
func (w *writes) begin(space string, allowed func() error) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := allowed(); err != nil {
		return nil, err
	}
	if w.spaces == nil {
		w.spaces = map[string]*spaceWrites{}
	}
	s := w.spaces[space]
	switch {
	case s == nil:
		s = &spaceWrites{none: make(chan struct{})}
		w.spaces[space] = s
	case s.excluded:
		return nil, api.SpaceReadOnly()
	}
	s.n++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.n--; s.n == 0 {
			close(s.none)
			delete(w.spaces, space)
		}
	}, nil
}

// exclude calls do while no change is in progress, and refuses those that begin meanwhile.
func (w *writes) exclude(space string, do func() error) error {
	w.mu.Lock()
	if w.spaces[space] != nil {
		w.mu.Unlock()
		return fault.New(fault.Conflict, "percached", "the space %q is being changed; wait until that has ended", space)
	}
	if w.spaces == nil {
		w.spaces = map[string]*spaceWrites{}
	}
	s := &spaceWrites{none: make(chan struct{}), excluded: true}
	w.spaces[space] = s
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		close(s.none)
		delete(w.spaces, space)
	}()
	return do()
}

// await returns when the changes that are in progress now have ended.
func (w *writes) await(ctx context.Context, space string) error {
	w.mu.Lock()
	s := w.spaces[space]
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// frozen says whether a space refuses changes.
func frozen(s percached.Settings) bool {
	return deref(s.ReadOnly) || deref(s.MovedTo) != "" || deref(s.CopyOf) != ""
}

// checkMovedTo says what is wrong with the address of another node.
func checkMovedTo(address string) (wrong string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.HasSuffix(address, "/") || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "must be the base URL of a node, such as https://node2.example.org:7337, without a slash at its end"
	}
	return ""
}

func (b *Backend) exportSpace(ctx context.Context, x api.SpaceExport) (api.Nothing, error) {
	if x.Documents {
		return api.Nothing{}, b.exportDocuments(ctx, x)
	}
	if b.Home.Encryption != nil {
		x.Encrypted()
	}
	return api.Nothing{}, b.ExportSpace(ctx, b.Inbox, x.Space, x.To)
}

func (b *Backend) importSpace(ctx context.Context, x api.SpaceImport) (api.Space, error) {
	if x.Update {
		return b.updateCopy(ctx, x)
	}
	alone := func(do func() error) error {
		b.spacesMu.Lock()
		defer b.spacesMu.Unlock()
		return b.writes.exclude(x.Space, do)
	}
	sp, err := b.ImportSpace(ctx, b.Inbox, x.Space, readWhile(ctx, x.Archive), alone)
	if err != nil {
		return api.Space{}, fault.Wrap("percached: import", err)
	}
	return b.aboutSpace(sp)
}

// readWhile reads from until ctx ends.
func readWhile(ctx context.Context, from io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// askHere is ask for a space that is here. While the space is read-only, a question of a
// conversation is refused, because its turns would be lost.
func (b *Backend) askHere(ctx context.Context, q api.AskRequest, l api.Listener) (api.Answer, error) {
	if err := b.checkHere(q.Space); err != nil {
		return api.Answer{}, err
	}
	if q.Conversation == "" {
		return b.ask(ctx, q, l)
	}
	end, err := b.beginWrite(q.Space)
	if err != nil {
		return api.Answer{}, err
	}
	defer end()
	return b.ask(ctx, q, l)
}

func (b *Backend) completeHere(ctx context.Context, t api.TypingRequest, emit func(string) error) (api.Completion, error) {
	if err := b.checkHere(t.Space); err != nil {
		return api.Completion{}, err
	}
	return b.complete(ctx, t, emit)
}
