package account

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"github.com/percached/percached/internal/base/fault"
)

// silence is how long a server may send nothing while a command runs.
const silence = 2 * time.Minute

// Account is a connection to a mail account. It is used by one goroutine, but for elsewhere.
type Account struct {
	client  *imapclient.Client
	conn    *patient
	host    string
	changed chan struct{}  // the open folder changed
	seen    map[string]box // folders as they were when they were compared
	detach  func() bool
	// elsewhere: a folder that another connection listens to changed. Nil: there is none.
	elsewhere chan struct{}
}

// box is what a server says of a folder that it opens.
type box struct {
	validity uint32
	next     imap.UID
	mails    uint32
}

// Dial connects to an account. The connection ends with ctx.
func Dial(ctx context.Context, s Source, password string) (*Account, error) {
	const op = "account.Dial"
	host, _, _ := net.SplitHostPort(s.Address) // Validate has checked it
	config, err := tlsConfig(host)
	if err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{Timeout: silence / 4}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "cannot connect to %s: %w", s.Address, err)
	}
	a := &Account{conn: &patient{Conn: raw}, host: s.Address, changed: make(chan struct{}, 1), seen: map[string]box{}}
	a.detach = context.AfterFunc(ctx, func() { raw.Close() }) //nolint:errcheck // whoever waits gets the error
	if err = a.open(ctx, s, config); err == nil {
		err = a.logIn(s.User, password)
	}
	if err != nil {
		a.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fault.Wrap(op, err)
	}
	return a, nil
}

// tlsConfig trusts what the system trusts, and the certificates in the file SSL_CERT_FILE.
func tlsConfig(host string) (*tls.Config, error) {
	const variable = "SSL_CERT_FILE"
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if path := os.Getenv(variable); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.New(fault.Invalid, "account.Dial", "%s: %w", variable, err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		c.RootCAs.AppendCertsFromPEM(b)
	}
	return c, nil
}

// open begins the protocol.
func (a *Account) open(ctx context.Context, s Source, config *tls.Config) (err error) {
	hear := func() {
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
	o := &imapclient.Options{TLSConfig: config, UnilateralDataHandler: &imapclient.UnilateralDataHandler{
		Expunge: func(uint32) { hear() },
		Mailbox: func(*imapclient.UnilateralDataMailbox) { hear() },
	}}
	return a.do(func() error {
		switch s.Security {
		case StartTLS:
			a.client, err = imapclient.NewStartTLS(a.conn, o)
		case Plain:
			a.client = imapclient.New(a.conn, o)
		default:
			encrypted := tls.Client(a.conn, config)
			if err = encrypted.HandshakeContext(ctx); err == nil {
				a.client = imapclient.New(encrypted, o)
			}
		}
		if err != nil {
			return err
		}
		return a.client.WaitGreeting()
	})
}

func (a *Account) logIn(user, password string) error {
	err := a.do(func() error {
		if a.client.Caps().Has(imap.AuthCap(sasl.Plain)) {
			return a.client.Authenticate(sasl.NewPlainClient("", user, password))
		}
		return a.client.Login(user, password).Wait()
	})
	if refused, ok := errors.AsType[*imap.Error](err); ok {
		if mayPass(refused) {
			return fault.New(fault.Unavailable, "account.Dial", "%s refuses the login for now: %s", a.host, refused.Text)
		}
		return fault.New(fault.Invalid, "account.Dial", "%s refused the user name or the password: %s", a.host, refused.Text)
	}
	return err
}

// mayPass says that a server may answer otherwise later.
func mayPass(e *imap.Error) bool {
	switch e.Code {
	case imap.ResponseCodeUnavailable, imap.ResponseCodeInUse, imap.ResponseCodeLimit, imap.ResponseCodeServerBug:
		return true
	}
	return e.Type == imap.StatusResponseTypeBye
}

// do runs commands, within which the server must not fall silent. It returns a refusal as
// imap.Error, and any other error as a lost connection.
func (a *Account) do(commands func() error) error {
	a.conn.expect(true)
	defer a.conn.expect(false)
	err := commands()
	refused, ok := errors.AsType[*imap.Error](err)
	switch {
	case err == nil, ok && refused.Type != imap.StatusResponseTypeBye, errors.As(err, new(*fault.Error)):
		return err
	case untrusted(err):
		return fault.New(fault.Invalid, "account.do", "the certificate of %s is not trusted: %w; if it is your own server, set SSL_CERT_FILE to the file with its certificate", a.host, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%s did not answer for %v", a.host, silence)
	default:
		err = fmt.Errorf("lost the connection to %s: %w", a.host, err)
	}
	return fault.New(fault.Unavailable, "account.do", "%w", &lost{err})
}

// lost is an error of a connection that worked before.
type lost struct{ error }

func (l *lost) Unwrap() error { return l.error }

// untrusted says that a certificate did not pass.
func untrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(x509.HostnameError))
}

// Close ends the connection.
func (a *Account) Close() {
	a.detach()
	if a.client == nil {
		a.conn.Close() //nolint:errcheck // it was only read
		return
	}
	a.client.Close() //nolint:errcheck // it was only read
}

// patient is a connection whose deadline begins anew whenever something arrives. It ignores
// the fixed deadlines of the library, which a large mail over a slow line would exceed.
type patient struct {
	net.Conn
	expecting atomic.Bool
}

// expect says whether something must arrive.
func (p *patient) expect(now bool) {
	p.expecting.Store(now)
	p.renew()
}

func (p *patient) renew() {
	deadline := time.Time{}
	if p.expecting.Load() {
		deadline = time.Now().Add(silence)
	}
	p.Conn.SetReadDeadline(deadline) //nolint:errcheck // a closed connection is noticed by Read
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if p.expecting.Load() {
		p.renew()
	}
	return n, err
}

// SetReadDeadline does nothing.
func (p *patient) SetReadDeadline(time.Time) error { return nil }

// SetDeadline does nothing.
func (p *patient) SetDeadline(time.Time) error { return nil }
