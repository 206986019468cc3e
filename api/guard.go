package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

const (
	maxURI    = 8 << 10 // bytes of path and query
	maxSecret = 8 << 10 // bytes of a token; one of an issuer is long
)

// checkRequest sets the common headers and checks Host, Origin and path.
func (s *Server) checkRequest(w *writer, r *http.Request) error {
	h := w.Header()
	h.Set("X-Request-Id", exchangeOf(r.Context()).id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	if !s.isKnownHost(r.Host) {
		return refuse(problemBadHost, "")
	}
	if err := s.checkOrigin(w, r); err != nil {
		return err
	}
	return checkPath(r)
}

// isKnownHost says whether the Host header names this daemon. This stops DNS rebinding, where
// an attacker's name resolves to 127.0.0.1.
func (s *Server) isKnownHost(host string) bool {
	host = strings.ToLower(host)
	name, port := host, ""
	if !strings.HasSuffix(host, "]") && strings.Contains(host, ":") {
		var err error
		if name, port, err = net.SplitHostPort(host); err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
			return false
		}
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return strings.HasPrefix(host, "[") == strings.Contains(name, ":")
	}
	return slices.ContainsFunc(s.Hosts, func(own string) bool {
		own = strings.ToLower(own)
		return own == host || own == name && name != "" || own == "["+name+"]"
	})
}

// checkOrigin checks the Origin of a browser's request, and sets the CORS headers of an allowed
// one.
func (s *Server) checkOrigin(w *writer, r *http.Request) error {
	origins := r.Header.Values("Origin")
	if len(s.Origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	switch {
	case len(origins) == 0:
		if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") && !isPageNavigation(r) {
			return refuse(problemBadOrigin, "")
		}
		return nil
	case len(origins) > 1:
		return refuse(problemBadOrigin, "the request has more than one Origin header")
	}
	origin := strings.ToLower(origins[0])
	if slices.ContainsFunc(s.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Location, Retry-After, "+answerHeader)
		return nil
	}
	if origin == scheme(r.TLS)+strings.ToLower(r.Host) {
		return nil
	}
	return refuse(problemBadOrigin, "")
}

func scheme(secure *tls.ConnectionState) string {
	if secure != nil {
		return "https://"
	}
	return "http://"
}

// preflight answers a CORS preflight of an allowed origin. It allows all headers: only the
// token authenticates.
func (s *Server) preflight(w *writer, r *http.Request) bool {
	h := w.Header()
	if r.Method != http.MethodOptions || h.Get("Access-Control-Allow-Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PATCH, DELETE")
	h["Access-Control-Allow-Headers"] = r.Header["Access-Control-Request-Headers"]
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// checkPath refuses an ambiguous path, so that the checked path is the served path.
func checkPath(r *http.Request) error {
	if len(r.RequestURI) > maxURI {
		return refuse(problemURITooLong, "path and query are longer than %d bytes", maxURI)
	}
	path := r.URL.Path
	if !strings.HasPrefix(path, "/") || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) ||
		strings.Contains(path, `\`) || strings.Count(r.URL.EscapedPath(), "/") != strings.Count(path, "/") {
		return refuse(problemBadPath, "")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return refuse(problemBadPath, "")
		}
	}
	r.URL.RawPath = "" // match decoded names
	return nil
}

// serve serves a route if the caller may use it now.
func (s *Server) serve(rt route, w http.ResponseWriter, r *http.Request) error {
	x := exchangeOf(r.Context())
	x.route, x.routed = rt, r
	if rt.need.scope != scopeNone {
		grant, err := s.grant(w, r)
		if err != nil {
			return err
		}
		x.grant = grant
		if err := s.takeQuota(x, UseRequest, 1); err != nil { // before a refusal, which is recorded, too
			return err
		}
		if !grant.permits(rt.need, r.PathValue("space")) {
			return refuse(problemForbidden, "")
		}
		if now := s.Ready(); !now.Ready {
			return refuse(problemStarting, "percached is %s: %.0f %%", now.Stage, 100*now.Progress)
		}
	}
	if err := s.auditReady(rt, x); err != nil {
		return err
	}
	if err := s.takeUse(rt, x, r); err != nil {
		return err
	}
	defer s.returnQuota(x)
	give, err := s.acquireSlot(r.Context(), rt, x.grant)
	if err != nil {
		return err
	}
	defer give()
	if rt.method == http.MethodGet || rt.method == http.MethodDelete || rt.method == "*" && r.Method == http.MethodGet {
		if err := noBody(r); err != nil {
			return err
		}
	}
	return rt.serve(w, r)
}

// grant returns the rights of the request's token.
func (s *Server) grant(w http.ResponseWriter, r *http.Request) (Grant, error) {
	const challenge = `Bearer realm="percached"`
	secret, ok := bearer(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", challenge)
		return Grant{}, refuse(problemUnauthorized, "the request has no Authorization header with a Bearer token")
	}
	g, err := s.Authorize(r.Context(), secret)
	switch fault.KindOf(err) {
	case 0:
		return g, nil
	case fault.Unavailable:
		return Grant{}, err
	}
	w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
	return Grant{}, refuse(problemUnauthorized, "%s", cmp.Or(publicDetail(err), "the token is unknown"))
}

// bearer returns the token of the Authorization header.
func bearer(r *http.Request) (string, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	kind, secret, _ := strings.Cut(headers[0], " ")
	secret = strings.Trim(secret, " ")
	return secret, strings.EqualFold(kind, "Bearer") && secret != "" && len(secret) <= maxSecret
}

// Role is what a token may do. Each role includes those before it.
type Role uint8

// The roles.
const (
	RoleAsk   Role = iota + 1 // ask, and read documents and stored answers
	RoleWrite                 // add and delete documents, correct stored answers
	RoleAdmin                 // change settings, limits, spaces and configuration
)

// access is the grant that an operation requires.
type access struct {
	role  Role
	scope scope
}

// scope is where an operation requires the role.
type scope uint8

const (
	scopeNone  scope = iota // no token required
	scopeAny                // in any space: the operation shows only the caller's space
	scopeSpace              // in the space named in the path
	scopeAll                // in all spaces
)

func noToken() access          { return access{} }
func anywhere(r Role) access   { return access{r, scopeAny} }
func inSpace(r Role) access    { return access{r, scopeSpace} }
func everywhere(r Role) access { return access{r, scopeAll} }

// Durations and preemptions depend on the activity in all spaces. So a token for one space sees only
// what it could measure itself: the total time of its own questions, and other durations in coarse
// steps.

// roundDown rounds seconds down to a power of two, and values below one to zero.
func roundDown(seconds float64) float64 {
	if !(seconds >= 1) {
		return 0
	}
	return math.Exp2(math.Floor(math.Log2(seconds)))
}

// redactListener removes stages from the listener of a scoped grant: they show how long the
// question waited for other spaces.
func (g Grant) redactListener(l Listener) Listener {
	if g.isScoped() {
		l.Stage = nil
	}
	return l
}

func (g Grant) redactAnswer(a Answer) Answer {
	if g.isScoped() {
		a.Times = maps.Clone(a.Times)
		maps.DeleteFunc(a.Times, func(name string, _ float64) bool { return name != "total_ms" })
		a.Joules = nil // less if other questions ran meanwhile
	}
	return a
}

func (g Grant) redactRecords(r Records) Records {
	if g.isScoped() {
		r.Questions = slices.Clone(r.Questions)
		for i := range r.Questions {
			r.Questions[i].TookMS = 1000 * roundDown(r.Questions[i].TookMS/1000)
		}
	}
	return r
}

func (g Grant) redactDrained(d Drained) Drained {
	if !g.isScoped() {
		return d
	}
	work := func(w *Work) { w.Preempted, w.Seconds = 0, roundDown(w.Seconds) }
	work(&d.Work)
	d.Kinds = slices.Clone(d.Kinds)
	for i := range d.Kinds {
		work(&d.Kinds[i].Work)
	}
	d.Reasons = slices.DeleteFunc(slices.Clone(d.Reasons), func(r Reason) bool { return r.Code == "foreground" || r.Code == "recent_request" })
	return d
}

// redactEvent returns the event as a grant may see it, and false if it may not. The caller has
// checked that the grant sees the space.
func (g Grant) redactEvent(e Event) (Event, bool) {
	switch {
	case !g.isScoped():
		return e, true
	case e.Type == EventEvicted, e.Type == EventJob && fmt.Sprint(e.Data["end"]) == "preempted":
		return e, false
	}
	e.Data = maps.Clone(e.Data)
	if ms, ok := e.Data["ms"].(float64); ok {
		e.Data["ms"] = 1000 * roundDown(ms/1000)
	}
	if s, ok := e.Data["seconds"].(float64); ok {
		e.Data["seconds"] = roundDown(s)
	}
	return e, true
}

func (s *Server) history(ctx context.Context, in Page) (Records, error) {
	r, err := s.backend.History(ctx, in)
	return grantOf(ctx).redactRecords(r), err
}

func (s *Server) predict(ctx context.Context, in InSpace) (Drained, error) {
	d, err := s.backend.Predict(ctx, in)
	return grantOf(ctx).redactDrained(d), err
}
