package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// minRate is the least average rate of a body, in bytes a second. A slow modem reaches it. A
// slower sender would hold a slot for hours.
const minRate = 1 << 10

// body is a request body with a size limit and timeouts: for a pause, and for a low average
// rate.
type body struct {
	from     io.ReadCloser
	control  *http.ResponseController
	wait     time.Duration
	waited   time.Duration // total time spent waiting for the sender
	declared int64         // Content-Length; -1: unknown
	limit    int64
	read     int64
	err      error               // sticky
	booked   int64               // bytes that the quota counts already
	take     func(n int64) error // books what was read; nil: nothing is booked
}

func newBody(r *http.Request, c *http.ResponseController, o *Options) *body {
	b := &body{from: r.Body, control: c, wait: o.SendTimeout, declared: r.ContentLength, limit: o.MaxBody}
	if r.ContentLength == 0 || r.Body == nil {
		// net/http detects a disconnect by reading; a deadline would break that.
		b.err = io.EOF
	}
	return b
}

// setBodyLimit allows a body longer than Options.MaxBody, for operations that do not hold it in
// memory.
func setBodyLimit(r *http.Request, limit int64) { exchangeOf(r.Context()).body.limit = limit }

func (b *body) Read(p []byte) (int, error) {
	left := b.limit - b.read
	switch {
	case b.err != nil:
		return 0, b.err
	case b.declared > b.limit:
		b.err = b.tooLarge()
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	case int64(len(p))-1 > left: // one byte more shows that the body is too long
		p = p[:left+1]
	}
	// The sender may wait b.wait, plus one second for each minRate bytes sent.
	earned := b.wait + time.Duration(b.read)*(time.Second/minRate)
	began := time.Now() // sockets use the machine's clock
	_ = b.control.SetReadDeadline(began.Add(min(b.wait, earned-b.waited)))
	n, err := b.from.Read(p)
	b.waited += time.Since(began)
	if int64(n) > left {
		n, err = int(left), b.tooLarge()
	}
	b.read += int64(n)
	if b.take != nil && n > 0 {
		if used := b.take(int64(n)); used != nil {
			n, err = 0, used
		}
	}
	switch {
	case err == nil || err == io.EOF:
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = refuse(problemSlowRequest, "no data arrived for %v, or the average rate fell below %d bytes a second", b.wait, minRate)
	default:
		if _, ours := errors.AsType[*problemError](err); !ours {
			err = refuse(problemBadBody, "the body ended early")
		}
	}
	b.err = err
	return n, err
}

func (b *body) Close() error { return nil } // net/http closes the real body

// ended says whether the body was read to its end. Only then can the connection be reused.
func (b *body) ended() bool { return b.err == io.EOF }

// discardReceived reads the part of an unwanted body that has arrived, without waiting. A small
// body arrives with the header; its connection can then be reused. A chunked body cannot be
// continued after a timeout and is skipped.
func (b *body) discardReceived(r *http.Request) {
	if b.err != nil || r.ContentLength < 0 || r.Header.Get("Expect") != "" {
		return
	}
	_ = b.control.SetReadDeadline(time.Now())
	if _, err := io.Copy(io.Discard, b.from); err == nil {
		b.err = io.EOF
	}
}

// discardRest reads the rest of an unwanted body, until the sender pauses for the send timeout.
// A client that writes everything before it reads would otherwise see a reset connection
// instead of the response. A client that waits for "100 Continue" is not asked for its body.
func (b *body) discardRest(r *http.Request) {
	name, _, _ := problemFor(b.err)
	if b.err != nil && name != problemTooLarge || b.read == 0 && r.Header.Get("Expect") != "" {
		return
	}
	b.extend()
	_, _ = io.Copy(io.Discard, b.from)
}

// readError returns why the body could not be read completely, or nil.
func (b *body) readError() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}

// extend renews the read deadline.
func (b *body) extend() { _ = b.control.SetReadDeadline(time.Now().Add(b.wait)) }

func (b *body) tooLarge() error {
	return refuse(problemTooLarge, "the body is longer than the limit of %d bytes", b.limit)
}

// slots limits concurrent requests. A request that gets no slot is refused at once. A token may
// hold as many slots as are still free: half of them alone, a third beside one other token, and
// so on. So every token finds a slot, whatever others do, and nobody needs to count the tokens.
type slots struct {
	mu       sync.Mutex
	free     int
	reserved int            // free slots reserved for the owner
	inUse    map[string]int // by token
}

func newSlots(all int) *slots {
	return &slots{free: all, reserved: min(1, all/2), inUse: map[string]int{}}
}

// acquire takes a slot for a token, if one is available to it.
func (p *slots) acquire(g Grant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free
	if !g.isOwner() {
		free -= p.reserved
	}
	if p.inUse[g.Token] >= free {
		return false
	}
	p.free--
	p.inUse[g.Token]++
	return true
}

func (p *slots) release(g Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.inUse[g.Token]--; p.inUse[g.Token] == 0 {
		delete(p.inUse, g.Token)
	}
}

// acquireSlot takes the slot that a request needs. Event streams and transfers of files take
// long, so each has its own slots and does not block a token's other requests. A request
// without a token needs no slot.
func (s *Server) acquireSlot(ctx context.Context, rt route, g Grant) (give func(), err error) {
	from, problem := s.requests, problemTooManyRequests
	switch {
	case rt.need.scope == scopeNone:
		return func() {}, nil
	case rt.op == "events":
		from, problem = s.streams, problemTooManyStreams
	case rt.op == "upload", rt.op == "uploadDocuments", rt.op == "importEntries", rt.op == "backup", rt.op == "restore",
		rt.op == "exportSpace", rt.op == "importSpace":
		from = s.uploads
	}
	if !from.acquire(g) {
		return nil, refuse(problem, "all slots for this token are in use")
	}
	done := func() {}
	if s.Observer.Working != nil {
		done = s.Observer.Working(ctx, g.Token)
	}
	return func() {
		done()
		from.release(g)
	}, nil
}
