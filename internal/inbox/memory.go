package inbox

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	// expansion is about how much memory a document takes while it is parsed, cut,
	// stored and indexed, as a multiple of its size.
	expansion = 8
	// small bodies are parsed in a share of their own, and do not wait for large ones.
	small = 1 << 20
	// maxWaiting bodies wait for memory; more are refused as Overloaded.
	maxWaiting = 32
	// turnBytes of one body are parsed before another gets its memory.
	turnBytes = 16 << 20
)

// memory bounds the bytes of documents in flight. A large document may keep its
// memory for long, so half of it is for bodies, which are parsed in moments.
type memory struct {
	documents, bodies, smallBodies *share
	// pdfs bounds PDF readers to one: a small PDF may unpack to much.
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

// document waits for the memory to read a document.
func (m *memory) document(ctx context.Context, bytes int64) (reader.Room, error) {
	h, err := m.documents.take(ctx, bytes)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// share is a part of the memory. A document that needs more takes all of it.
type share struct {
	size  int64
	queue int // how many may wait; 0: any number
	free  *semaphore.Weighted

	mu         sync.Mutex
	waiting    int
	held, peak int64
}

func newShare(size int64, queue int) *share {
	size = max(size, 1)
	return &share{size: size, queue: queue, free: semaphore.NewWeighted(size)}
}

// weight is the memory for a document.
func (s *share) weight(bytes int64) int64 {
	if bytes >= s.size/expansion {
		return s.size
	}
	return expansion * max(bytes, 1)
}

// full is an error if no more may wait.
func (s *share) full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue > 0 && s.waiting >= s.queue {
		return fault.New(fault.Overloaded, "inbox.memory", "%d large uploads wait for memory, which is the limit: try again later", s.queue)
	}
	return nil
}

// take waits for the memory for a document.
func (s *share) take(ctx context.Context, bytes int64) (*hold, error) {
	if err := s.full(); err != nil {
		return nil, err
	}
	h := &hold{share: s}
	return h, h.acquire(ctx, s.weight(bytes))
}

// hold is memory that was taken.
type hold struct {
	*share
	bytes int64 // guarded by mu
}

func (h *hold) acquire(ctx context.Context, n int64) error {
	h.count(1, 0)
	if err := h.free.Acquire(ctx, n); err != nil {
		h.count(-1, 0)
		return fault.Wrap("inbox.memory", err)
	}
	h.count(-1, n)
	return nil
}

func (h *hold) count(waiting int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting += waiting
	h.bytes, h.held = h.bytes+bytes, h.held+bytes
	h.peak = max(h.peak, h.held)
}

// yield lets others have the memory first if they wait for it.
func (h *hold) yield(ctx context.Context) error {
	h.mu.Lock()
	n, alone := h.bytes, h.waiting == 0
	h.mu.Unlock()
	if alone {
		return nil
	}
	h.Release()
	return h.acquire(ctx, n)
}

// Shrink returns what a document of this size does not need.
func (h *hold) Shrink(bytes int64) { h.keep(h.weight(bytes)) }

// Release returns all memory.
func (h *hold) Release() { h.keep(0) }

func (h *hold) keep(n int64) {
	h.mu.Lock()
	back := max(h.bytes-n, 0)
	h.mu.Unlock()
	h.count(0, -back)
	h.free.Release(back)
}

// unparsed is a body that the inbox parses after it has come as a whole, so that a
// slow sender takes no memory.
type unparsed interface {
	// Sent is the body as it is sent.
	Sent() io.Reader
	// Parse converts the body to what the inbox stores.
	Parse(sent io.Reader) io.Reader
	// Held is the most bytes of the body that Parse holds at a time.
	Held() int64
}

// parse writes a body to disk, waits for memory, and keeps what it is parsed to.
func (s *sending) parse(ctx context.Context, u unparsed, keep func([]byte) error) error {
	raw, err := s.disk.create(s.id + bodyEnd)
	if err != nil {
		return unavailable("inbox.parse", err)
	}
	var size int64
	defer func() {
		raw.Close() //nolint:errcheck // it is removed
		s.discard(nil, s.id+bodyEnd)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes -= size
		s.spooled -= size
	}()
	if err := eachPiece(ctx, u.Sent(), func(p []byte) error {
		n := int64(len(p))
		if size <= small && size+n > small { // before the rest is sent in vain
			if err := s.memory.bodies.full(); err != nil {
				return err
			}
		}
		if err := s.append(raw, p); err != nil {
			return err
		}
		size += n
		return nil
	}); err != nil {
		return err
	}
	sent, err := raw.text()
	if err != nil {
		return unavailable("inbox.parse", err)
	}
	share, held := s.memory.bodies, min(size, u.Held())
	if held <= small {
		share = s.memory.smallBodies
	}
	hold, err := share.take(ctx, held)
	if err != nil {
		return err
	}
	defer hold.Release()
	parsed := 0 // since others had their turn
	return eachPiece(ctx, u.Parse(sent), func(b []byte) error {
		if parsed += len(b); parsed > turnBytes {
			parsed = 0
			if err := hold.yield(ctx); err != nil {
				return err
			}
		}
		return keep(b)
	})
}
