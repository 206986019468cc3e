package pull

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	opGet        = "pull: get"
	maxRedirects = 10
	mostWait     = time.Minute // that a server can ask for
)

var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// reply is what came in the end, and what the hub said of the file on the way.
type reply struct {
	*http.Response
	sha256 string // empty: nothing
	size   int64  // negative: nothing
}

// fleeting is a fault that may be gone at the next attempt.
type fleeting struct {
	error
	after     time.Duration // not before
	unreached bool          // nobody was there
}

func (f fleeting) Unwrap() error { return f.error }

// get asks for a source and follows redirects, as far as they are allowed. With
// hashed the caller knows what hash the file must have.
func (p *Puller) get(ctx context.Context, s Source, hashed bool, header http.Header) (*reply, error) {
	r := &reply{size: -1}
	at := s.url
	if at.Scheme == "http" && !hashed && !loopback(at) {
		return nil, fault.New(fault.Invalid, opGet, "%s is asked over plain http, where anybody on the way can exchange the file: use https, or name the file's hash with --sha256", at.Host)
	}
	for range maxRedirects {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, fault.New(fault.Invalid, opGet, "%s cannot be asked", at.Host)
		}
		for k, v := range header {
			req.Header[k] = v
		}
		req.Header.Set("User-Agent", "percached")
		req.Header.Set("Accept-Encoding", "identity")
		ofHub := s.hub && p.ofHub(at)
		if ofHub && p.token != "" && (at.Scheme == "https" || loopback(at)) {
			req.Header.Set("Authorization", "Bearer "+p.token)
		}
		got, err := p.transport.RoundTrip(req)
		if err != nil {
			return nil, transportFault(at, err)
		}
		r.Response = got
		next := redirect(got)
		if ofHub {
			r.hear(got.Header, next)
		}
		if !next {
			return r, nil
		}
		got.Body.Close()
		to, err := got.Location()
		if err != nil {
			return nil, fault.New(fault.Unavailable, opGet, "%s redirects to nowhere", at.Host)
		}
		if err := allowed(at, to, hashed); err != nil {
			return nil, err
		}
		at = to
	}
	return nil, fault.New(fault.Unavailable, opGet, "%s redirects more than %d times", s.url.Host, maxRedirects)
}

// hear takes what the hub says of a file. It says it while it redirects; an ETag
// is about the file only where the file comes.
func (r *reply) hear(h http.Header, redirects bool) {
	tag := h.Get("X-Linked-Etag")
	if tag == "" && !redirects {
		tag = h.Get("ETag")
	}
	if tag = strings.ToLower(strings.Trim(tag, `"`)); hex64.MatchString(tag) {
		r.sha256 = tag
	}
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		r.size = n
	}
}

func redirect(r *http.Response) bool {
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// allowed says why a redirect is not followed.
func allowed(from, to *url.URL, hashed bool) error {
	switch {
	case to.Scheme != "https" && to.Scheme != "http" || to.Host == "":
		return fault.New(fault.Invalid, opGet, "%s redirects to what is no https address", from.Host)
	case from.Scheme == "https" && to.Scheme == "http":
		return fault.New(fault.Invalid, opGet, "%s redirects from https to plain http: that is not followed, as anybody on the way could exchange the file", from.Host)
	case loopback(to) && !loopback(from):
		return fault.New(fault.Invalid, opGet, "%s redirects to this machine: that is not followed, as what listens here is not for others to ask", from.Host)
	case to.Scheme == "http" && !loopback(to) && !hashed:
		return fault.New(fault.Invalid, opGet, "%s redirects to plain http on another machine, where anybody on the way can exchange the file: name the file's hash with --sha256", from.Host)
	}
	return nil
}

// loopback: the address is this machine's own, by what it says.
func loopback(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// transportFault tells of the host alone: the address may hold secrets.
func transportFault(at *url.URL, err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	told := fault.New(fault.Unavailable, opGet, "%s: %w", at.Host, err)
	var strange *tls.CertificateVerificationError
	if errors.As(err, &strange) {
		return told
	}
	var dial *net.OpError
	return fleeting{error: told, unreached: errors.As(err, &dial) && dial.Op == "dial"}
}

// refused says what a status means that is neither a file nor a redirect.
func (p *Puller) refused(r *http.Response) error {
	host := r.Request.URL.Host
	switch code := r.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		why := ""
		if p.ofHub(r.Request.URL) {
			why = ": there is no such thing, or it is for those who agreed to its terms; then put a token of yours into HF_TOKEN"
			if p.token != "" {
				why = ": there is no such thing, or the token in HF_TOKEN does not open it"
			}
			if p.token != "" && r.Request.Header.Get("Authorization") == "" {
				why = ": HF_TOKEN is not sent over plain http"
			}
		}
		return fault.New(fault.Invalid, opGet, "%s refuses (status %d)%s", host, code, why)
	case code == http.StatusNotFound || code == http.StatusGone:
		return fault.New(fault.NotFound, opGet, "%s has no such file (status %d)", host, code)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		after := min(time.Duration(max(seconds, 0))*time.Second, mostWait)
		return fleeting{error: fault.New(fault.Unavailable, opGet, "%s cannot give the file now (status %d)", host, code), after: after}
	default:
		return fault.New(fault.Invalid, opGet, "%s answers with status %d and no file", host, code)
	}
}
