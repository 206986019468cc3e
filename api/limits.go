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

// minRate is how many bytes of a body must come in a second, over all. A slow modem
// sends as much. A sender below it would hold a place for hours.
const minRate = 1 << 10

// body is the body of a request: no longer than it may be, and given up when
// nothing of it comes for a while, or too little in all.
type body struct {
	from     io.ReadCloser
	control  *http.ResponseController
	wait     time.Duration
	waited   time.Duration // for the sender, in all
	declared int64         // its length, as the client says; -1: not said
	limit    int64
	read     int64
	err      error // sticky
}

func newBody(r *http.Request, c *http.ResponseController, o *Options) *body {
	b := &body{from: r.Body, control: c, wait: o.SendTimeout, declared: r.ContentLength, limit: o.MaxBody}
	if r.ContentLength == 0 || r.Body == nil {
		// net/http looks whether the client is there by reading: no deadline may
		// stop it.
		b.err = io.EOF
	}
	return b
}

// allow lets the body of a request be longer than those that are held in memory.
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
	case int64(len(p))-1 > left: // one more shows that there is more
		p = p[:left+1]
	}
	// A sender has so much time for nothing, and a second for each minRate bytes.
	earned := b.wait + time.Duration(b.read)*(time.Second/minRate)
	began := time.Now() // sockets go by the machine's clock
	_ = b.control.SetReadDeadline(began.Add(min(b.wait, earned-b.waited)))
	n, err := b.from.Read(p)
	b.waited += time.Since(began)
	if int64(n) > left {
		n, err = int(left), b.tooLarge()
	}
	b.read += int64(n)
	switch {
	case err == nil || err == io.EOF:
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = refuse(problemSlowRequest, "nothing came for %v, or less than %d bytes a second for longer", b.wait, minRate)
	default:
		if _, ours := errors.AsType[*problemError](err); !ours {
			err = refuse(problemBadBody, "it broke off")
		}
	}
	b.err = err
	return n, err
}

func (b *body) Close() error { return nil } // net/http closes its own

// ended says whether all was read: only then can the connection be used again.
func (b *body) ended() bool { return b.err == io.EOF }

// finish reads what came of a body that is not wanted, without waiting for more: a
// small one came with the header, and its connection can be used again. One in chunks
// could not be read on after that.
func (b *body) discardReceived(r *http.Request) {
	if b.err != nil || r.ContentLength < 0 || r.Header.Get("Expect") != "" {
		return
	}
	_ = b.control.SetReadDeadline(time.Now())
	if _, err := io.Copy(io.Discard, b.from); err == nil {
		b.err = io.EOF
	}
}

// pass reads past the rest of a body that is not wanted, for as long as a client may
// send nothing: one that writes all before it reads would else find the connection
// reset, and never see its answer. Who waits to be asked for the body is not asked.
func (b *body) discardRest(r *http.Request) {
	name, _, _ := problemFor(b.err)
	if b.err != nil && name != problemTooLarge || b.read == 0 && r.Header.Get("Expect") != "" {
		return
	}
	b.extend()
	_, _ = io.Copy(io.Discard, b.from)
}

// fault is why the body could not be read to its end, if that is so.
func (b *body) readError() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}

// extend gives the sender new time.
func (b *body) extend() { _ = b.control.SetReadDeadline(time.Now().Add(b.wait)) }

func (b *body) tooLarge() error {
	return refuse(problemTooLarge, "%d bytes are the most that may come here", b.limit)
}

// places bounds what goes on at the same time. A request that gets no place is
// refused at once. A token gets as many places as are still free: alone half of
// them, beside one other token a third, and so on. So a token that has none finds
// one, whatever others do, and nobody needs to know how many tokens there are.
type slots struct {
	mu       sync.Mutex
	free     int
	reserved int            // of those free: for the owner alone
	inUse    map[string]int // by token
}

func newSlots(all int) *slots {
	return &slots{free: all, reserved: min(1, all/2), inUse: map[string]int{}}
}

// take takes a place for a token, if there is one for it.
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

// takePlace takes the place that a request needs. Listening to events and sending
// files take long, so each has places of its own: neither keeps a token from its
// other requests. A request without a token needs none, so that it takes none from
// those that have one.
func (s *Server) acquireSlot(ctx context.Context, rt route, g Grant) (give func(), err error) {
	from, problem := s.requests, problemTooManyRequests
	switch {
	case rt.need.scope == scopeNone:
		return func() {}, nil
	case rt.op == "events":
		from, problem = s.streams, problemTooManyStreams
	case rt.op == "upload", rt.op == "importEntries", rt.op == "backup", rt.op == "restore":
		from = s.uploads
	}
	if !from.acquire(g) {
		return nil, refuse(problem, "no place is free for this token")
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
