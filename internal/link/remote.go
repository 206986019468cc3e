package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// connectTimeout is how long a daemon at a named address may take to accept a connection.
const connectTimeout = 10 * time.Second

// Target is a daemon that the user named by its address.
type Target struct {
	URL    string
	Secret string
	// PlainHTTP allows http to another machine.
	PlainHTTP bool
}

// Check says what is wrong with the address or the token.
func (t *Target) Check() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return cmdline.Misusef("--url: %q is not an address such as https://percached.example.org or http://127.0.0.1:7337", cmdline.Plain(t.URL))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return cmdline.Misusef("--url: leave out everything but scheme, host, port and path; pass the token with --token-file or PERCACHED_TOKEN")
	case u.Scheme == "http" && !loopback(u.Hostname()) && !t.PlainHTTP:
		return cmdline.Misusef("--url: http to %s would send the token and your documents unencrypted; use https, or pass --insecure-http if the network is safe", u.Hostname())
	case t.Secret == "":
		return cmdline.Misusef("a daemon at %s needs a token: pass --token-file FILE, or set PERCACHED_TOKEN; percached token create makes one on its machine", u.Host)
	case strings.ContainsFunc(t.Secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return cmdline.Misusef("the token has spaces or other characters that no token has; it is one word, as percached token create prints it")
	}
	return nil
}

// loopback says whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// Remote is the link to the daemon at an address that the user named.
func Remote(t Target) (*Link, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	u, _ := url.Parse(t.URL) // Check has parsed it
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableCompression: true,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
	}
	address := strings.TrimRight(t.URL, "/")
	l, err := New(address, t.Secret, transport)
	if err != nil {
		return nil, err
	}
	l.Daemon, l.host = address, u.Host
	l.Close = func() error { transport.CloseIdleConnections(); return nil }
	return l, nil
}

// connectError says what to do about a failed connection to the daemon at a named host.
func connectError(host string, err error) error {
	why := func(format string, args ...any) error {
		return fault.New(fault.Unavailable, "link", "cannot reach %s: %w", host, fmt.Errorf(format, args...))
	}
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		dns     *net.DNSError
		dial    *net.OpError
	)
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return why("the server there does not speak https; check the port, or give the daemon a certificate (keys tls-cert and tls-key)")
	case errors.As(err, &unknown):
		return why("this machine does not trust its certificate; if the certificate is your own, copy it here and set SSL_CERT_FILE to its file")
	case errors.As(err, &name):
		return why("its certificate is for another name (%s); use that name in --url", strings.Join(certificateNames(name.Certificate), ", "))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return why("its certificate is not valid today; renew it there, and check the clock of both machines")
	case errors.As(err, &invalid):
		return why("its certificate cannot be used: %w", invalid)
	case errors.As(err, &dns):
		return why("this name has no address; check the spelling of --url, and the network")
	case errors.Is(err, syscall.ECONNREFUSED):
		return why("no program listens there; check the port in --url, and that percached serve runs with a listen address that other machines reach")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &dial) && dial.Timeout():
		return why("no response within %v; check the address, the network and the firewall", connectTimeout)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return why("there is no route to it; check the network")
	}
	return why("%w", err)
}

// certificateNames lists the names that a certificate is for.
func certificateNames(c *x509.Certificate) (all []string) {
	all = append(all, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	return all
}

// responseError says what to do about a response that a daemon at a named host gives to a
// wrong address or token.
func responseError(host string, status int, location string, err error) error {
	p, ok := errors.AsType[*client.ProblemError](err)
	switch {
	case !ok && status < http.StatusBadRequest && location != "":
		return fault.New(fault.Unavailable, "link", "%s redirects to %s; use that address in --url", host, cmdline.Plain(location))
	case !ok:
		return fault.New(fault.Unavailable, "link", "the program at %s is not percached (status %d); check host, port and path of --url, and whether it needs https", host, status)
	}
	advice := ""
	switch strings.TrimPrefix(string(p.Problem.Type), "urn:percached:problem:") {
	case "unauthorized":
		advice = "the daemon at " + host + " does not know this token; percached token create makes one on its machine"
	case "forbidden":
		advice = "the token may not do this: it is for another space, or its role allows less; percached token create makes another on the machine of the daemon"
	case "bad_host":
		advice = "the daemon does not answer to the name " + host + "; add it to the key hosts of the daemon"
	}
	if advice != "" {
		p.Problem.Detail = advice
	}
	return err
}
