package inbox

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/fault"
)

// Inbox keeps uploads until their documents are stored.
//
// Locks, in the order in which they are taken: a turn of the library (RemoveFromMeta),
// writing, mu. No callback runs under writing or mu.
type Inbox struct {
	o       Options
	disk    *disk
	store   store
	memory  *memory
	lanes   *semaphore.Weighted
	wake    chan struct{}  // tells Run to look for work
	closing chan struct{}  // closed by Close
	sent    sync.WaitGroup // counts running Accepts

	// writing is held to change records, from reading memory to changing it.
	writing sync.Mutex

	// mu guards what follows. Nobody reads or writes the disk while holding it.
	mu       sync.Mutex
	uploads  map[string]*entry // by ID
	queue    []*entry          // that have not ended, by seq
	sending  map[*sending]struct{}
	withheld []withheld
	seq      uint64
	bytes    int64 // in spool files
	running  bool
	closed   bool
	busy     map[string]bool // spaces that work runs for
	waiting  int             // spaces that wait for a lane
}

// Close refuses new uploads and waits until running Accepts have noticed: end their
// senders first. Run must have ended.
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

func errUnknown(op string) error {
	return fault.New(fault.NotFound, op, "there is no such upload, or it ended long ago")
}

// Get returns an upload of a space.
func (in *Inbox) Get(space, id string) (Upload, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.uploads[id]
	if e == nil || e.Space != space {
		return Upload{}, errUnknown("inbox.Get")
	}
	return e.Upload, nil
}

// List returns the latest n uploads of a space, the latest first.
func (in *Inbox) List(space string, n int) []Upload {
	in.mu.Lock()
	defer in.mu.Unlock()
	var found []*entry
	for _, e := range in.uploads {
		if e.Space == space {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, latestFirst)
	list := make([]Upload, 0, min(max(n, 0), len(found)))
	for _, e := range found[:cap(list)] {
		list = append(list, e.Upload)
	}
	return list
}

func latestFirst(a, b *entry) int { return cmp.Compare(b.seq, a.seq) }

// Waiting counts the uploads of all spaces that have not ended.
func (in *Inbox) Waiting() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.queue)
}

// Wait returns an upload when it has ended. The upload continues if ctx ends first.
func (in *Inbox) Wait(ctx context.Context, id string) (Upload, error) {
	const op = "inbox.Wait"
	in.mu.Lock()
	e := in.uploads[id]
	in.mu.Unlock()
	if e == nil {
		return Upload{}, errUnknown(op)
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

// insert adds an upload. The caller holds mu.
func (in *Inbox) insert(e *entry) {
	in.uploads[e.ID] = e
	if !e.State.ended() {
		in.queue = append(in.queue, e)
	}
}

// forgetEntry removes an upload and returns the change that deletes its record. The
// caller holds mu.
func (in *Inbox) forgetEntry(e *entry) change {
	delete(in.uploads, e.ID)
	in.unqueue(e)
	return change{key: keyOf(e.ID)}
}

// unqueue removes an upload from the queue. The caller holds mu.
func (in *Inbox) unqueue(e *entry) {
	if at := slices.Index(in.queue, e); at >= 0 {
		in.queue = slices.Delete(in.queue, at, at+1)
		in.bytes -= e.Bytes
	}
}

func (in *Inbox) wakeRun() {
	select {
	case in.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// prune removes uploads that ended too long ago, or too many others ago, and returns
// the changes that delete their records. The caller holds mu, or is Open.
func (in *Inbox) prune() (changes []change) {
	ended := map[string][]*entry{} // by space
	now := in.o.Now()
	for _, e := range in.uploads {
		if e.State.ended() {
			ended[e.Space] = append(ended[e.Space], e)
		}
	}
	for _, es := range ended {
		slices.SortFunc(es, latestFirst)
		for i, e := range es {
			if i >= in.o.KeepCount || now.Sub(e.Ended) > in.o.Keep {
				changes = append(changes, in.forgetEntry(e))
			}
		}
	}
	return changes
}

// discard deletes records and files that nobody needs. The next Open deletes what
// cannot be deleted now.
func (in *Inbox) discard(records []change, files ...string) {
	if err := in.writeMany(records); err != nil {
		in.o.Logger.Warn("cannot delete records of the inbox", "error", err)
	}
	if err := in.disk.remove(files...); err != nil {
		in.o.Logger.Warn("cannot delete files of the inbox", "error", err)
	}
}

// writeMany writes changes that are independent of each other.
func (in *Inbox) writeMany(changes []change) error {
	const together = 1000 // fit into one transaction
	for some := range slices.Chunk(changes, together) {
		if err := in.store.write(some...); err != nil {
			return err
		}
	}
	return nil
}

// stored reads the record of an upload.
func (in *Inbox) stored(id string) (*record, error) {
	key := keyOf(id)
	b, err := in.store.get(key)
	if err != nil {
		return nil, err
	}
	return decodeRecord(key, b)
}

// notify calls the observer with an upload's current state.
func (in *Inbox) notify(e *entry) {
	in.mu.Lock()
	u := e.Upload
	in.mu.Unlock()
	if in.o.Observer.Moved != nil {
		in.o.Observer.Moved(u)
	}
}
