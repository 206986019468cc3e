package inbox

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	// expansion is how many times its own bytes a document takes, about, while it is
	// parsed, cut, stored and indexed.
	expansion = 8
	// small is what of a body is parsed in a share of its own, so that those who send
	// little do not wait for those who send much.
	small = 1 << 20
	// maxWaiting bodies wait for their share of the memory; more is Overloaded.
	maxWaiting = 32
)

// memory bounds the bytes that documents take while they are in flight. A large one
// that is being taken in may be so for long, so half of it is for those that are
// being sent, which are parsed in a moment.
type memory struct {
	documents, bodies, smallBodies *share
	// pdfs holds one while a PDF is read: a small one may unpack to much, but ends in
	// seconds.
	pdfs chan struct{}
}

func newMemory(bytes int64) *memory {
	return &memory{
		documents: newShare(bytes/2, 0), bodies: newShare(bytes/4, maxWaiting), smallBodies: newShare(bytes/4, maxWaiting),
		pdfs: make(chan struct{}, 1),
	}
}

// pdf waits until no other PDF is being read.
func (m *memory) pdf(ctx context.Context) (done func(), err error) {
	select {
	case m.pdfs <- struct{}{}:
		return func() { <-m.pdfs }, nil
	case <-ctx.Done():
		return nil, fault.Wrap("inbox.memory", ctx.Err())
	}
}

// body waits for the memory in which a body can be parsed.
func (m *memory) body(ctx context.Context, bytes int64) (*hold, error) {
	if bytes <= small {
		return m.smallBodies.take(ctx, bytes)
	}
	return m.bodies.take(ctx, bytes)
}

// document waits for the memory in which a document can be read.
func (m *memory) document(ctx context.Context, bytes int64) (reader.Room, error) {
	h, err := m.documents.take(ctx, bytes)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// share is a part of the memory. What needs more than all of it takes all of it.
type share struct {
	size  int64
	queue int // who may wait; 0: everybody
	free  *semaphore.Weighted

	mu         sync.Mutex
	waiting    int
	held, peak int64
}

func newShare(size int64, queue int) *share {
	size = max(size, 1)
	return &share{size: size, queue: queue, free: semaphore.NewWeighted(size)}
}

// hold is what was taken of a share.
type hold struct {
	*share
	bytes int64 // guarded by mu
}

// weight is what a document of so many bytes takes of the share.
func (s *share) weight(bytes int64) int64 {
	if bytes >= s.size/expansion {
		return s.size
	}
	return expansion * max(bytes, 1)
}

// full says that as many wait as may.
func (s *share) full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse()
}

// refuse is full for who holds mu.
func (s *share) refuse() error {
	if s.queue > 0 && s.waiting >= s.queue {
		return fault.New(fault.Overloaded, "inbox.memory", "%d large uploads wait to be read, and no more can", s.queue)
	}
	return nil
}

// take waits for memory for a document of so many bytes.
func (s *share) take(ctx context.Context, bytes int64) (*hold, error) {
	const op = "inbox.memory"
	s.mu.Lock()
	if err := s.refuse(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.waiting++
	s.mu.Unlock()
	h := &hold{share: s}
	err := h.acquire(ctx, s.weight(bytes))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	return h, nil
}

func (h *hold) acquire(ctx context.Context, n int64) error {
	if err := h.free.Acquire(ctx, n); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes, h.held = n, h.held+n
	h.peak = max(h.peak, h.held)
	return nil
}

// giveWay lets those who wait for the share have it first, if there are any.
func (h *hold) giveWay(ctx context.Context) error {
	h.mu.Lock()
	n, alone := h.bytes, h.waiting == 0
	h.mu.Unlock()
	if alone {
		return nil
	}
	h.Release()
	return fault.Wrap("inbox.memory", h.acquire(ctx, n))
}

// Shrink gives back what is more than a document of so many bytes takes.
func (h *hold) Shrink(bytes int64) { h.keep(h.weight(bytes)) }

// Release gives back all.
func (h *hold) Release() { h.keep(0) }

func (h *hold) keep(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if back := h.bytes - n; back > 0 {
		h.bytes, h.held = n, h.held-back
		h.free.Release(back)
	}
}
