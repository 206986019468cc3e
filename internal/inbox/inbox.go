package inbox

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// Inbox keeps uploads until they are taken in.
//
// Locks, in the order in which they are taken: writing, mu. No callback runs
// under any.
type Inbox struct {
	o      Options
	disk   *disk
	memory *memory
	// wake is rung when there may be something to take in.
	wake chan struct{}
	// closing is closed by Close.
	closing chan struct{}
	// sent counts Accepts under way.
	sent sync.WaitGroup

	// writing is held by who changes what is on disk of uploads that were
	// accepted, from looking at memory to changing it.
	writing sync.Mutex

	// mu guards what follows. It is never held while the disk is read or written.
	mu       sync.Mutex
	uploads  map[string]*entry // by ID
	keys     map[named]*entry
	queue    []*entry // that have not ended; those that came at once may stand in another order than by seq
	sending  map[*sending]struct{}
	withheld []withheld
	seq      uint64
	bytes    int64 // that are spooled
	aside    bool  // something was set aside
	running  bool
	closed   bool
	busy     map[string]bool   // spaces of which an upload is being taken in
	served   map[string]uint64 // when a space had its last turn, of those with uploads
	turns    uint64
}

// named is a key of a client in a space.
type named struct{ space, key string }

// Close refuses what comes from now on, and waits for each Accept under way to
// see that: end those who send before. Run must have ended.
func (in *Inbox) Close() error {
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return nil
	}
	in.closed = true
	close(in.closing)
	for s := range in.sending {
		s.refuse(errClosed("inbox.Accept"))
	}
	in.mu.Unlock()
	in.sent.Wait()
	return nil
}

func errClosed(op string) error { return fault.New(fault.Unavailable, op, "percached is ending") }

// Get gives an upload of a space.
func (in *Inbox) Get(space, id string) (Upload, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.uploads[id]
	if e == nil || e.Space != space {
		return Upload{}, fault.New(fault.NotFound, "inbox.Get", "there is no such upload, or it was long ago")
	}
	return e.Upload, nil
}

// List gives the latest n uploads of a space, the latest first.
func (in *Inbox) List(space string, n int) []Upload {
	in.mu.Lock()
	defer in.mu.Unlock()
	var found []*entry
	for _, e := range in.uploads {
		if e.Space == space {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Compare(b.seq, a.seq) })
	list := make([]Upload, 0, min(max(n, 0), len(found)))
	for _, e := range found[:cap(list)] {
		list = append(list, e.Upload)
	}
	return list
}

// Waiting counts the uploads of all spaces that have not ended.
func (in *Inbox) Waiting() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.queue)
}

// Wait gives an upload when it has ended. If ctx ends before, the upload goes on.
func (in *Inbox) Wait(ctx context.Context, id string) (Upload, error) {
	const op = "inbox.Wait"
	in.mu.Lock()
	e := in.uploads[id]
	in.mu.Unlock()
	if e == nil {
		return Upload{}, fault.New(fault.NotFound, op, "there is no such upload, or it was long ago")
	}
	select {
	case <-e.over:
	case <-ctx.Done():
		return Upload{}, fault.Wrap(op, ctx.Err())
	case <-in.closing:
		return Upload{}, errClosed(op)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return e.Upload, nil
}

// insert makes an upload known. The caller holds mu.
func (in *Inbox) insert(e *entry) {
	in.uploads[e.ID] = e
	k := named{e.Space, e.Key}
	if old := in.keys[k]; e.Key != "" && (old == nil || old.seq < e.seq) {
		in.keys[k] = e
	}
	if !e.State.over() {
		in.queue = append(in.queue, e)
	}
}

// drop makes an upload unknown. The caller holds mu.
func (in *Inbox) drop(e *entry) {
	delete(in.uploads, e.ID)
	if k := (named{e.Space, e.Key}); in.keys[k] == e {
		delete(in.keys, k)
	}
	in.unqueue(e)
}

// unqueue takes an upload that is over, or gone, off those to be taken in. The
// caller holds mu.
func (in *Inbox) unqueue(e *entry) {
	if at := slices.Index(in.queue, e); at >= 0 {
		in.queue = slices.Delete(in.queue, at, at+1)
		in.bytes -= e.Bytes
	}
}

// ring wakes Run.
func (in *Inbox) ring() {
	select {
	case in.wake <- struct{}{}:
	default: // it rings already
	}
}

// prune makes uploads unknown that ended too long ago, or too many others ago,
// and gives the names of their records. The caller holds mu.
func (in *Inbox) prune() (names []string) {
	ended := map[string][]*entry{} // by space
	now := in.o.Now()
	for _, e := range in.uploads {
		if e.State.over() {
			ended[e.Space] = append(ended[e.Space], e)
		}
	}
	for _, es := range ended {
		slices.SortFunc(es, func(a, b *entry) int { return cmp.Compare(b.seq, a.seq) })
		for i, e := range es {
			if i >= in.o.KeepCount || now.Sub(e.Ended) > in.o.Keep {
				in.drop(e)
				names = append(names, e.ID+recordEnd)
			}
		}
	}
	return names
}

// discard removes files that are of no use. One that stays is seen when the
// folder is opened next.
func (in *Inbox) discard(names ...string) {
	for _, name := range names {
		if err := in.disk.remove(name); err != nil {
			in.o.Logger.Warn("a file of the inbox could not be removed", "error", err)
		}
	}
}
