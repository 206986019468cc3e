package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// table is a table of connections without clients.
type table struct {
	*connections
	t       *testing.T
	pending chan net.Conn
	closed  []string
	dropped int
}

// blank is a connection that records its closing.
type blank struct {
	net.Conn
	from net.Addr
	shut func()
}

func (b *blank) RemoteAddr() net.Addr { return b.from }
func (b *blank) Close() error         { b.shut(); return nil }

func (t *table) Accept() (net.Conn, error) {
	c, ok := <-t.pending
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (t *table) Close() error {
	close(t.pending)
	return nil
}

func (t *table) Addr() net.Addr { return &net.TCPAddr{} }

func newTable(t *testing.T, most int) *table {
	tb := &table{t: t, pending: make(chan net.Conn, 1)}
	tb.connections = newConnections(tb, most, time.Second, func() { tb.dropped++ })
	return tb
}

// dial opens a connection from an address.
func (t *table) dial(name, from string) net.Conn {
	t.t.Helper()
	t.pending <- &blank{from: &net.TCPAddr{IP: net.ParseIP(from)}, shut: func() { t.closed = append(t.closed, name) }}
	c, err := t.connections.Accept()
	if err != nil {
		t.t.Fatal(err)
	}
	return c
}

// begin starts a request of a token.
func (t *table) begin(c net.Conn, token string) (done func()) {
	return t.beginRequest(withConnection(context.Background(), c), token)
}

// gone checks which connections were closed since the last check.
func (t *table) gone(want ...string) {
	t.t.Helper()
	if diff := cmp.Diff(want, t.closed); diff != "" {
		t.t.Errorf("closed (-want +got):\n%s", diff)
	}
	t.closed = nil
}

// If there are too many connections without a token, the oldest of the address with the most
// is closed for the next one, once it had time to send a request.
func TestAnonymousConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, 8) // 4 of them without a token
		began := time.Now()
		tb.dial("a1", "10.0.0.1")
		tb.dial("b1", "10.0.0.2")
		tb.dial("a2", "10.0.0.1")
		left := tb.dial("c1", "10.0.0.3")
		tb.gone()
		tb.dial("d1", "10.0.0.4")
		tb.gone("a1")
		if waited := time.Since(began); waited != protectedAge {
			t.Errorf("closed after %v", waited)
		}
		tb.dial("b2", "10.0.0.2")
		tb.gone("b1")
		if waited := time.Since(began); waited != protectedAge {
			t.Errorf("an old one is closed after %v", waited)
		}
		left.Close()
		tb.gone("c1")
		tb.dial("e1", "2001:db8::1:1")
		tb.gone()
		tb.dial("e2", "2001:db8::2:2") // counts as the same network
		tb.gone("e1")
		if tb.dropped != 3 {
			t.Errorf("%d were told", tb.dropped)
		}
	})
}

// A waiting client gets a place as soon as one is free.
func TestWaitForConnection(t *testing.T) {
	for name, free := range map[string]func(*table, net.Conn){
		"closed":       func(_ *table, c net.Conn) { c.Close() },
		"with a token": func(tb *table, c net.Conn) { tb.begin(c, "a") },
	} {
		synctest.Test(t, func(t *testing.T) {
			tb := newTable(t, 2)
			first, began := tb.dial("1", "127.0.0.1"), time.Now()
			next := make(chan struct{})
			go func() {
				defer close(next)
				tb.dial("2", "127.0.0.1")
			}()
			synctest.Wait()
			free(tb, first)
			<-next
			if waited := time.Since(began); waited > 0 || tb.dropped > 0 {
				t.Errorf("%s: after %v, %d dropped", name, waited, tb.dropped)
			}
		})
	}
}

// Connections of tokens are counted separately. If there are too many, the oldest idle one of
// the token with the most is closed. A busy one is never closed.
func TestOwnedConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, 6) // 3 without a token, 3 with one
		done := tb.begin(tb.dial("f1", "127.0.0.1"), "flood")
		for _, name := range []string{"f2", "f3"} {
			tb.begin(tb.dial(name, "127.0.0.1"), "flood")()
		}
		for _, name := range []string{"x1", "x2", "x3", "x4", "x5"} {
			tb.dial(name, "127.0.0.1")
		}
		tb.gone("x1", "x2") // none of the token's
		tb.begin(tb.dial("o1", "127.0.0.1"), "other")
		tb.gone("x3", "f2")
		tb.begin(tb.dial("o2", "127.0.0.1"), "other")
		tb.gone("f3") // the other token has as many, but they are busy
		tb.begin(tb.dial("f4", "127.0.0.1"), "flood")
		tb.gone() // all are busy; admission limits them
		done()
		tb.begin(tb.dial("o3", "127.0.0.1"), "other")
		tb.gone("f1")
		tb.beginRequest(context.Background(), "somebody")() // without a connection
	})
}

// The connection that was used last is closed last.
func TestOldestIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, 6)
		first := tb.dial("1", "127.0.0.1")
		tb.begin(first, "a")()
		tb.begin(tb.dial("2", "127.0.0.1"), "a")()
		tb.begin(first, "a")()
		tb.begin(tb.dial("3", "127.0.0.1"), "a")()
		tb.begin(tls.Server(tb.dial("4", "127.0.0.1"), nil), "a")() // also under TLS
		tb.gone("2")
	})
}

// A client without a token may be silent for a short time, one with a token as long as the
// server allows.
func TestSilentConnections(t *testing.T) {
	const short, long = 10 * time.Second, 2 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, 8)
		tb.silence = short
		srv := &http.Server{
			ConnContext: withConnection, ReadHeaderTimeout: short, IdleTimeout: long,
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if token := r.Header.Get("Authorization"); token != "" {
					tb.beginRequest(r.Context(), token)()
				}
			}),
		}
		ended := make(chan error)
		go func() { ended <- srv.Serve(tb.connections) }()
		for _, tt := range []struct {
			name, sent string
			want       time.Duration
		}{
			{"nothing", "", short},
			{"half a header", "GET / HTTP/1.1\r\nHost: a\r\n", short},
			{"a request without a token", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", short},
			{"a request with one", "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\n\r\n", long},
		} {
			near, far := net.Pipe()
			began := time.Now()
			tb.pending <- far
			if _, err := io.WriteString(near, tt.sent); err != nil {
				t.Fatal(err)
			}
			_, err := io.Copy(io.Discard, near)
			if took := time.Since(began); err != nil || took != tt.want {
				t.Errorf("%s: closed after %v, want %v: %v", tt.name, took, tt.want, err)
			}
			near.Close()
		}
		if len(tb.open) > 0 {
			t.Errorf("%d are still known", len(tb.open))
		}
		srv.Close()
		<-ended
	})
}
