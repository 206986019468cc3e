package pull

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	opFetch   = "pull: fetch"
	attempts  = 6        // in a row that bring nothing to speak of
	something = 1 << 20  // bytes that are something to speak of
	spare     = 64 << 20 // bytes that the disk keeps free
)

// fetch brings all of the file in as many attempts as it takes.
func (p *Puller) fetch(ctx context.Context, s Source, expect expectation, t *part, r *Result) error {
	pause, left, reached, furthest := time.Second, attempts, false, t.at
	for !t.whole() {
		came, err := p.attempt(ctx, s, expect, t)
		r.Fetched += came
		gained := t.at - furthest // who begins anew each time brings the same again
		furthest = max(furthest, t.at)
		var gone fleeting
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &gone):
			return err
		case gone.unreached && !reached: // a wrong address does not become right
			return gone.error
		}
		reached = true
		if gained >= something {
			pause, left = time.Second, attempts
		}
		if left--; left == 0 {
			return gone.error
		}
		after := max(pause, gone.after)
		p.observer.Cut(gone.error, after)
		if err := p.wait(ctx, after); err != nil {
			return err
		}
		pause = min(2*pause, 30*time.Second)
	}
	return nil
}

// attempt asks once and takes what comes.
func (p *Puller) attempt(ctx context.Context, s Source, expect expectation, t *part) (came int64, err error) {
	ctx, stop := p.watch(ctx)
	defer stop.end()
	defer func() { err = ended(ctx, err) }()
	got, err := p.get(ctx, s, expect.by == ByCaller && expect.hash != "", t.header())
	if err != nil {
		return 0, err
	}
	defer got.Body.Close()
	switch got.StatusCode {
	case http.StatusOK:
		if t.at > 0 {
			p.observer.Anew()
			t.anew()
		}
	case http.StatusPartialContent:
		if t.at == 0 || !t.continues(got) {
			p.observer.Anew()
			t.anew()
			return 0, fleeting{error: fault.New(fault.Unavailable, opFetch, "%s gives another part of the file than it was asked for", got.Request.URL.Host)}
		}
	case http.StatusRequestedRangeNotSatisfiable:
		p.observer.Anew()
		t.anew()
		return 0, fleeting{error: fault.New(fault.Unavailable, opFetch, "%s does not give the rest of the file", got.Request.URL.Host)}
	default:
		return 0, p.refused(got.Response)
	}
	if t.at == 0 {
		if err := t.learn(got); err != nil {
			return 0, err
		}
	}
	if err := p.willDo(s, expect, t); err != nil {
		return 0, err
	}
	if err := t.begin(); err != nil {
		return 0, err
	}
	return p.copy(got.Body, got.Request.URL.Host, t, stop)
}

// willDo refuses what cannot become what is wanted, before it is fetched.
func (p *Puller) willDo(s Source, expect expectation, t *part) error {
	if t.SHA256 != "" && expect.hash != "" && t.SHA256 != expect.hash {
		t.remove()
		return wrongHash(s.url.Host+" offers a file whose SHA-256", t.SHA256, expect)
	}
	free, known := p.free(filepath.Dir(t.path))
	if need := t.Size - t.at; t.Size >= 0 && known && need+spare > free {
		return fault.New(fault.Unavailable, opFetch, "the disk has %d MB free and the file takes %d MB more: %w", free/1_000_000, (need+spare)/1_000_000, syscall.ENOSPC)
	}
	return nil
}

// accept holds what came against what is expected, and gives whose word its hash
// rests on.
func (p *Puller) accept(ctx context.Context, expect expectation, t *part, r *Result) (expectation, error) {
	var err error
	if r.SHA256, r.Bytes, err = p.hash(ctx, t.f); err != nil {
		return expect, err
	}
	switch {
	case expect.hash == "" && t.SHA256 != "":
		expect = expectation{hash: t.SHA256, by: ByHub}
	case expect.hash == "":
		expect = expectation{hash: r.SHA256, by: ByNobody}
	}
	if expect.hash != r.SHA256 {
		t.remove()
		return expect, wrongHash("what was fetched was removed: its SHA-256", r.SHA256, expect)
	}
	if err := p.check(ctx, t.path); err != nil {
		if ctx.Err() != nil {
			return expect, context.Cause(ctx)
		}
		t.remove()
		return expect, fault.New(fault.KindOf(err), opFetch, "what came is no model that can be used and was removed: %w", inner(err))
	}
	return expect, nil
}

func wrongHash(what, got string, expect expectation) error {
	who, then := "", ""
	switch expect.by {
	case ByCaller:
		who = "which was named"
	case ByNote:
		who = "which was noted when it was fetched before"
		then = "; if it is meant to be another one now, name its hash with --sha256"
	case ByHub:
		who = "which the hub says"
	}
	return fault.New(fault.Invalid, opFetch, "%s is %s and must be %s, %s%s", what, got, expect.hash, who, then)
}

// inner is an error without the operations that it went through.
func inner(err error) error {
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err
		}
		err = f.Err
	}
}

// learn takes what the server says of a file that comes from its beginning.
func (p *part) learn(r *reply) error {
	p.Size, p.SHA256 = r.ContentLength, r.sha256
	if r.size >= 0 {
		if p.Size >= 0 && p.Size != r.size {
			return fault.New(fault.Invalid, opFetch, "the hub says that the file has %d bytes, and %s sends %d", r.size, r.Request.URL.Host, p.Size)
		}
		p.Size = r.size
	}
	p.ETag, p.Modified = r.Header.Get("ETag"), r.Header.Get("Last-Modified")
	if strings.HasPrefix(p.ETag, "W/") { // says too little to go on by
		p.ETag = ""
	}
	return nil
}

// continues: what comes is the rest of the file of which the part is.
func (p *part) continues(r *reply) bool {
	from, size, ok := contentRange(r.Header.Get("Content-Range"))
	same := func(was, now string) bool { return was == "" || now == "" || was == now }
	return ok && from == p.at && (size < 0 || p.Size < 0 || size == p.Size) && (r.size < 0 || p.Size < 0 || r.size == p.Size) &&
		same(p.ETag, r.Header.Get("ETag")) && same(p.SHA256, r.sha256) && (p.ETag != "" || same(p.Modified, r.Header.Get("Last-Modified")))
}
