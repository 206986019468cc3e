package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/link"
)

// listen takes the address and says so.
func (d *served) listen(stdout io.Writer) (err error) {
	const op = "percached: serve"
	c := &d.setup.Serving
	network := "tcp"
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // who says 0.0.0.0 does not mean [::]
	}
	l, err := net.Listen(network, c.Listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.Conflict, op, "%s is in use by another program: name another address with --listen", c.Listen)
	case err != nil:
		return fault.New(fault.Unavailable, op, "%s cannot be listened at: %w", c.Listen, err)
	}
	d.listener = &lasting{TCPListener: l.(*net.TCPListener)}
	defer func() {
		if err != nil {
			d.listener.Close() //nolint:errcheck // why it fails is known
		}
	}()
	if d.server, err = d.newServer(); err != nil {
		return err
	}
	scheme := "http"
	if c.Secure() {
		scheme = "https"
	}
	at := d.listener.Addr().(*net.TCPAddr)
	if !at.IP.IsLoopback() && !c.Secure() && !c.Insecure { // a name may mean what it says elsewhere
		return cmdline.Misused(fault.New(fault.Invalid, op, "%s is %s, which other machines can reach: set tls-cert and tls-key, or insecure-listen to true", c.Listen, at.IP))
	}
	if !at.IP.IsLoopback() && !c.Secure() {
		d.log.Warn("tokens, questions and documents cross the network in clear text: set tls-cert and tls-key", "address", at)
	}
	if at.IP.IsUnspecified() && len(c.Hosts) == 0 {
		d.log.Warn("other machines are refused until the setting hosts says by which names or addresses they call this one", "address", at)
	}
	near := *at // where this machine reaches it
	if near.IP.IsUnspecified() {
		near.IP = net.IPv4(127, 0, 0, 1)
	}
	told := fmt.Sprintf("%s://%s\n", scheme, &near)
	if d.cert != nil {
		told += link.CertificateHash(d.cert.Certificates[0].Certificate[0]) + "\n"
	}
	err = durable.Write(d.home.Path(link.AddressFile), []byte(told))
	if err == nil {
		_, err = fmt.Fprintf(stdout, "listening on %s://%s\n", scheme, at)
		if err == nil && cmdline.Terminal(stdout) {
			_, err = fmt.Fprintln(stdout, "percached token page prints the page's address with the token that opens it")
		}
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// forgetAddress says that nobody listens any more.
func (d *served) forgetAddress() {
	if err := os.Remove(d.home.Path(link.AddressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("the address of this daemon could not be removed", "error", err)
	}
}

// certificate reads the certificate and its key. It is nil without TLS.
func certificate(c *config.Serving) (*tls.Config, error) {
	if !c.Secure() {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, "percached: serve", "cannot use the certificate: %w", err))
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}
