package api

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxURI    = 8 << 10 // bytes of path and query
	maxSecret = 512     // bytes of a token
)

// enter checks what needs no route: who is called, from which page, by which
// path.
func (s *Server) enter(w *writer, r *http.Request) error {
	h := w.Header()
	h.Set("X-Request-Id", exchangeOf(r.Context()).id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	if !s.mayBeCalled(r.Host) {
		return refuse(problemBadHost, "")
	}
	if err := s.fromPage(w, r); err != nil {
		return err
	}
	return plainPath(r)
}

// mayBeCalled says whether a Host header names this daemon. A name that an
// attacker's server gave to 127.0.0.1 does not.
func (s *Server) mayBeCalled(host string) bool {
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

// fromPage checks the origin of the page that calls, where a page does, and
// tells the browser what that page may see.
func (s *Server) fromPage(w *writer, r *http.Request) error {
	origins := r.Header.Values("Origin")
	if len(s.Origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	switch {
	case len(origins) == 0:
		if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") && !opensPage(r) {
			return refuse(problemBadOrigin, "")
		}
		return nil
	case len(origins) > 1:
		return refuse(problemBadOrigin, "there is more than one Origin header")
	}
	origin := strings.ToLower(origins[0])
	if slices.ContainsFunc(s.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Location, Retry-After")
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

// preflight answers a browser that asks whether a page of an allowed origin may
// call. It may send any header: none says who calls but the token.
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

// plainPath refuses a path that could be read in two ways, so that what was
// checked is what is served.
func plainPath(r *http.Request) error {
	if len(r.RequestURI) > maxURI {
		return refuse(problemURITooLong, "%d bytes are the most", maxURI)
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
	r.URL.RawPath = "" // names are matched as they are meant, not as they are written
	return nil
}

// serve serves a route, if the caller may have it now.
func (s *Server) serve(rt route, w http.ResponseWriter, r *http.Request) error {
	x := exchangeOf(r.Context())
	x.route = rt
	if rt.need.reach != toAll {
		grant, err := s.grant(w, r)
		if err != nil {
			return err
		}
		x.grant = grant
		if !grant.meets(rt.need, r.PathValue("space")) {
			return refuse(problemForbidden, "")
		}
		if now := s.Ready(); !now.Ready {
			return refuse(problemStarting, "it is %s: %.0f %%", now.Stage, 100*now.Progress)
		}
	}
	give, err := s.takePlace(r.Context(), rt, x.grant)
	if err != nil {
		return err
	}
	defer give()
	if rt.method == http.MethodGet || rt.method == http.MethodDelete {
		if err := noBody(r); err != nil {
			return err
		}
	}
	return rt.serve(w, r)
}

// grant is what the request's token allows.
func (s *Server) grant(w http.ResponseWriter, r *http.Request) (Grant, error) {
	const challenge = `Bearer realm="percached"`
	secret, ok := bearer(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", challenge)
		return Grant{}, refuse(problemUnauthorized, "there is no Authorization header with a Bearer token")
	}
	g, ok := s.Authorize(secret)
	if !ok {
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		return Grant{}, refuse(problemUnauthorized, "the token is not known")
	}
	return g, nil
}

// bearer is the secret of the Authorization header.
func bearer(r *http.Request) (string, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	kind, secret, _ := strings.Cut(headers[0], " ")
	secret = strings.Trim(secret, " ")
	return secret, strings.EqualFold(kind, "Bearer") && secret != "" && len(secret) <= maxSecret
}
