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

// listen opens the socket, writes the address file and prints the address.
func (d *daemon) listen(stdout io.Writer) (err error) {
	const op = "percached: serve"
	c := &d.config.Serving
	network := "tcp"
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // 0.0.0.0 does not include [::]
	}
	l, err := net.Listen(network, c.Listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.Conflict, op, "cannot listen on %s: another program uses it; choose another address with --listen", c.Listen)
	case err != nil:
		return fault.New(fault.Unavailable, op, "cannot listen on %s: %w", c.Listen, err)
	}
	d.listener = &reusableListener{TCPListener: l.(*net.TCPListener)}
	defer func() {
		if err != nil {
			d.listener.Close() //nolint:errcheck // the first error counts
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
	if !at.IP.IsLoopback() && !c.Secure() && !c.Insecure { // the configuration may have a host name
		return cmdline.Misused(fault.New(fault.Invalid, op, "%s is %s, which other machines can reach: set tls-cert and tls-key, or insecure-listen to true", c.Listen, at.IP))
	}
	if !at.IP.IsLoopback() && !c.Secure() {
		d.log.Warn("traffic is not encrypted: set tls-cert and tls-key", "address", at)
	}
	if at.IP.IsUnspecified() && len(c.Hosts) == 0 {
		d.log.Warn("set the key hosts to the names or addresses that other machines use; until then they are refused", "address", at)
	}
	near := *at // the address for this machine
	if near.IP.IsUnspecified() {
		near.IP = net.IPv4(127, 0, 0, 1)
	}
	content := fmt.Sprintf("%s://%s\n", scheme, &near)
	if d.cert != nil {
		content += link.CertificateHash(d.cert.Certificates[0].Certificate[0]) + "\n"
	}
	err = durable.Write(d.home.Path(link.AddressFile), []byte(content))
	if err == nil {
		_, err = fmt.Fprintf(stdout, "listening on %s://%s\n", scheme, at)
		if err == nil && cmdline.Terminal(stdout) {
			_, err = fmt.Fprintln(stdout, "percached token page prints the address of the web page")
		}
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// forgetAddress removes the address file.
func (d *daemon) forgetAddress() {
	if err := os.Remove(d.home.Path(link.AddressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("cannot remove the address file", "error", err)
	}
}

// loadCertificate reads the certificate and its key. It is nil without TLS.
func loadCertificate(c *config.Serving) (*tls.Config, error) {
	if !c.Secure() {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, "percached: serve", "cannot use the certificate: %w", err))
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}
