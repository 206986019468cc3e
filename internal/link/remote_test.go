package link

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// A wrong address or token is refused before anything is sent.
func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		target Target
		says   string // empty: it may be used
	}{
		{Target{URL: "https://percached.example.org", Secret: "pc_x"}, ""},
		{Target{URL: "https://example.org:8443/percached/", Secret: "pc_x"}, ""},
		{Target{URL: "http://127.0.0.1:7337", Secret: "pc_x"}, ""},
		{Target{URL: "http://[::1]:7337", Secret: "pc_x"}, ""},
		{Target{URL: "http://localhost:7337", Secret: "pc_x"}, ""},
		{Target{URL: "http://nas:7337", Secret: "pc_x", PlainHTTP: true}, ""},
		{Target{URL: "http://nas:7337", Secret: "pc_x"}, "use https, or pass --insecure-http"},
		{Target{URL: "http://localhost.example.org", Secret: "pc_x"}, "use https"},
		{Target{URL: "nas:7337", Secret: "pc_x"}, "is not an address such as"},
		{Target{URL: "ftp://nas", Secret: "pc_x"}, "is not an address such as"},
		{Target{URL: "https://", Secret: "pc_x"}, "is not an address such as"},
		{Target{URL: "https://pc_x@nas", Secret: "pc_x"}, "pass the token with --token-file"},
		{Target{URL: "https://nas/#token=pc_x", Secret: "pc_x"}, "pass the token with --token-file"},
		{Target{URL: "https://nas"}, "needs a token"},
		{Target{URL: "https://nas", Secret: "pc_x\npc_y"}, "it is one word"},
	} {
		err := tc.target.Check()
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s %q: %v", tc.target.URL, tc.target.Secret, err)
		}
	}
}

// A daemon that cannot be reached, or refuses, is an error that says what to do.
func TestRemoteErrors(t *testing.T) {
	problem := func(status int, name string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"type":"urn:percached:problem:`+name+`","title":"No","status":`+map[int]string{401: "401", 403: "403", 409: "409"}[status]+`,"detail":"as it said"}`)
		}
	}
	moved := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example.org/", http.StatusMovedPermanently)
	}
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }
	secure := httptest.NewTLSServer(http.HandlerFunc(page))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	_, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		url     string
		roots   *x509.CertPool
		says    string
	}{
		{"wrong token", problem(401, "unauthorized"), "", nil, "does not know this token; percached token create"},
		{"small token", problem(403, "forbidden"), "", nil, "another space, or its role allows less"},
		{"wrong name", problem(403, "bad_host"), "", nil, "add it to the key hosts of the daemon"},
		{"another problem", problem(409, "conflict"), "", nil, "as it said"},
		{"moved", moved, "", nil, "redirects to https://elsewhere.example.org/; use that address in --url"},
		{"another program", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "what?", 404) }, "", nil, "is not percached (status 404)"},
		{"https to http", page, "https", nil, "does not speak https"},
		{"http to https", nil, "http://" + secure.Listener.Addr().String(), nil, "whether it needs https"},
		{"unknown authority", nil, secure.URL, nil, "does not trust its certificate"},
		{"wrong name of the certificate", nil, "https://localhost:" + port, roots, "its certificate is for another name (example.com, "},
		{"nobody", nil, "http://" + nobody, nil, "no program listens there"},
		{"no such host", nil, "https://nosuch.invalid", nil, "has no address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := tc.url
			if tc.handler != nil {
				s := httptest.NewServer(tc.handler)
				defer s.Close()
				if url == "" {
					url = s.URL
				} else {
					url = "https://" + s.Listener.Addr().String()
				}
			}
			l, err := Remote(Target{URL: url, Secret: "pc_secret"})
			if err != nil {
				t.Fatal(err)
			}
			l.raw.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: tc.roots, MinVersion: tls.VersionTLS12}
			defer l.Close()
			_, err = l.GetStatusWithResponse(t.Context())
			if err == nil || !strings.Contains(cmdline.Sentence(err), tc.says) || strings.Contains(err.Error(), "pc_secret") {
				t.Errorf("%v", err)
			}
			if fault.KindOf(err) == fault.Timeout {
				t.Error("it timed out")
			}
		})
	}
}
