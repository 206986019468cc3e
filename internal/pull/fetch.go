package pull

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	opFetch      = "pull: fetch"
	maxRedirects = 10
	attempts     = 6        // in a row with less than progress
	progress     = 1 << 20  // bytes
	spare        = 64 << 20 // bytes that the disk keeps free
	magic        = "GGUF"   // the first bytes of every model
)

var (
	errStalled = errors.New("no data came for a while")
	hex64      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// temporary is an error that the next attempt may not meet.
type temporary struct {
	error
	nowhere bool // no server was reached
}

func (t temporary) Unwrap() error { return t.error }

func unavailable(format string, args ...any) error {
	return temporary{error: fault.New(fault.Unavailable, opFetch, format, args...)}
}

// fetch gets all of a file, in several attempts if needed.
func (p *Puller) fetch(ctx context.Context, s Source, want string, t *part, r *Result) error {
	pause, left, furthest := time.Second, attempts, t.at
	for first := true; !t.complete && !(t.at > 0 && t.at == t.Size); first = false {
		err := p.attempt(ctx, s, want, t, r)
		var gone temporary
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &gone):
			return err
		case gone.nowhere && first: // a wrong address stays wrong
			return gone.error
		}
		if t.at-furthest >= progress { // a server that starts over each time makes none
			pause, left = time.Second, attempts
		}
		furthest = max(furthest, t.at)
		if left--; left == 0 {
			return gone.error
		}
		p.o.Observer.Cut(gone.error, pause)
		if err := p.wait(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, 30*time.Second)
	}
	return nil
}

// attempt asks once and writes what comes.
func (p *Puller) attempt(ctx context.Context, s Source, want string, t *part, r *Result) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(p.stall, func() { cancel(errStalled) })
	defer stalled.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errStalled) {
			err = unavailable("%s: %w", s.url.Host, errStalled)
		}
	}()
	got, err := p.get(ctx, s, r.By == ByCaller, t.header())
	if err != nil {
		return err
	}
	defer got.Body.Close()
	host := got.Request.URL.Host
	switch got.StatusCode {
	case http.StatusOK:
		t.restart(p)
	case http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
		if got.StatusCode != http.StatusPartialContent || !t.continues(got) {
			t.restart(p)
			return unavailable("%s does not send the rest of the file", host)
		}
	default:
		return p.refused(got.Response)
	}
	if t.at == 0 {
		if err := t.learn(got); err != nil {
			return err
		}
	}
	if t.SHA256 != "" && want != "" && t.SHA256 != want {
		t.remove()
		return wrongHash(s.url.Host+" offers a file whose SHA-256", t.SHA256, want, r.By)
	}
	free, known := p.free(filepath.Dir(t.path))
	if need := t.Size - t.at; t.Size >= 0 && known && need+spare > free {
		return fault.New(fault.Unavailable, opFetch, "the disk has %d MB free and the file needs %d MB more: %w", free/1_000_000, (need+spare)/1_000_000, syscall.ENOSPC)
	}
	if err := t.begin(); err != nil {
		return writeFault(err)
	}
	from := t.at
	err = p.copy(got.Body, host, t, func() { stalled.Reset(p.stall) })
	r.Fetched += t.at - from
	return err
}

// copy writes a body as far as it comes, and calls heard with each piece.
func (p *Puller) copy(body io.Reader, host string, t *part, heard func()) error {
	p.o.Observer.Fetched(t.at, t.Size)
	buf, head := make([]byte, 1<<18), make([]byte, len(magic))
	for {
		n, err := body.Read(buf)
		if t.Size >= 0 && t.at+int64(n) > t.Size {
			t.remove()
			return fault.New(fault.Invalid, opFetch, "%s sends more than the %d bytes that it announced", host, t.Size)
		}
		if err := t.write(buf[:n]); err != nil {
			return writeFault(err)
		}
		whole := err == io.EOF && (t.Size < 0 || t.at == t.Size)
		have, _ := t.f.ReadAt(head, 0)
		if whole && have < len(magic) || !strings.HasPrefix(magic, string(head[:have])) {
			t.remove()
			return fault.New(fault.Invalid, opFetch, "%s sends no GGUF file: it begins with %q", host, head[:have])
		}
		if n > 0 {
			heard()
		}
		p.o.Observer.Fetched(t.at, t.Size)
		switch {
		case whole:
			t.complete = true
			return nil
		case err != nil && t.Size >= 0:
			return unavailable("the connection to %s ended at byte %d of %d: %w", host, t.at, t.Size, err)
		case err != nil:
			return unavailable("the connection to %s ended at byte %d: %w", host, t.at, err)
		}
	}
}

// reply is a response, with what the hub said of the file on the way.
type reply struct {
	*http.Response
	sha256 string // empty: nothing
	size   int64  // negative: nothing
}

// get asks for a source and follows redirects that are allowed. With hashed, the
// caller knows the file's hash.
func (p *Puller) get(ctx context.Context, s Source, hashed bool, header http.Header) (*reply, error) {
	if err := allowed(s.url, s.url, hashed); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, opFetch, "cannot ask %s", s.url.Host)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "percached")
	r := &reply{size: -1}
	prepare := func(req *http.Request) {
		req.Header.Del("Referer") // it may contain secrets
		req.Header.Del("Authorization")
		if s.hub && p.o.Token != "" && p.ofHub(req.URL) && (req.URL.Scheme == "https" || loopback(req.URL)) {
			req.Header.Set("Authorization", "Bearer "+p.o.Token)
		}
	}
	prepare(req)
	client := &http.Client{Transport: p.transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		from := via[len(via)-1].URL
		if s.hub && p.ofHub(from) {
			r.learn(next.Response.Header)
		}
		if len(via) >= maxRedirects {
			return fault.New(fault.Unavailable, opFetch, "%s redirects more than %d times", s.url.Host, maxRedirects)
		}
		prepare(next)
		return allowed(from, next.URL, hashed)
	}}
	if r.Response, err = client.Do(req); err != nil { //nolint:bodyclose // there is none
		return nil, requestFault(s.url.Host, err)
	}
	if s.hub && p.ofHub(r.Request.URL) {
		if r.sha256 == "" {
			r.sha256 = hashIn(r.Header.Get("ETag"))
		}
		r.learn(r.Header)
	}
	return r, nil
}

// learn reads what the hub says of a file, also while it redirects.
func (r *reply) learn(h http.Header) {
	if hash := hashIn(h.Get("X-Linked-Etag")); hash != "" {
		r.sha256 = hash
	}
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		r.size = n
	}
}

func hashIn(tag string) string {
	if tag = strings.ToLower(strings.Trim(tag, `"`)); hex64.MatchString(tag) {
		return tag
	}
	return ""
}

// allowed says why a request, or a redirect, to an address is refused.
func allowed(from, to *url.URL, hashed bool) error {
	refuse := func(why string) error {
		return fault.New(fault.Invalid, opFetch, "%s: refused %s", from.Host, why)
	}
	switch {
	case to.Scheme != "https" && to.Scheme != "http" || to.Host == "":
		return refuse("a redirect to something else than an https address")
	case from.Scheme == "https" && to.Scheme == "http":
		return refuse("a redirect from https to plain http, where anybody on the way can exchange the file")
	case loopback(to) && !loopback(from):
		return refuse("a redirect to this machine, whose services are not for others to ask")
	case to.Scheme == "http" && !loopback(to) && !hashed:
		return refuse("plain http, where anybody on the way can exchange the file: use https, or name the file's hash with --sha256")
	}
	return nil
}

// loopback: the address is this machine's own.
func loopback(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// requestFault names the host only: the address may contain secrets.
func requestFault(host string, err error) error {
	err = withoutURL(err)
	if _, ok := errors.AsType[*fault.Error](err); ok { // a redirect that is not allowed
		return err
	}
	shown := fault.New(fault.Unavailable, opFetch, "%s: %w", host, err)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return shown
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return temporary{error: shown, nowhere: ok && dial.Op == "dial"}
}

// refused explains a status that brings no file.
func (p *Puller) refused(r *http.Response) error {
	host := r.Request.URL.Host
	switch code := r.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		why := ""
		if p.ofHub(r.Request.URL) {
			why = ": it does not exist, or it needs a token in HF_TOKEN that has access (not sent over plain http)"
		}
		return fault.New(fault.Invalid, opFetch, "%s refuses (status %d)%s", host, code, why)
	case code == http.StatusNotFound || code == http.StatusGone:
		return fault.New(fault.NotFound, opFetch, "%s has no such file (status %d)", host, code)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return unavailable("%s cannot give the file now (status %d)", host, code)
	default:
		return fault.New(fault.Invalid, opFetch, "%s answers with status %d and no file", host, code)
	}
}
