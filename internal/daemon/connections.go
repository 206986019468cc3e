package daemon

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// protectedAge is the age below which a connection is not closed for another one. Otherwise a
// flood of connections would close it before the server reads its token. If all connections
// are that new, the next client waits.
const protectedAge = 250 * time.Millisecond

// connections limits the open connections. It never refuses a new connection; if there are
// too many, it closes an idle one. A connection is anonymous until a request with a token is
// admitted on it. Anonymous connections and those with a token have separate limits, so
// that clients without a token cannot displace clients with one. It closes the oldest
// connection of the address, or the token, that has the most.
//
// Connections with an admitted request are never closed. Admission limits their number (see
// api.Options).
type connections struct {
	net.Listener
	anonymous int           // maximum number without a token
	withToken int           // maximum number with a token
	silence   time.Duration // read timeout of an anonymous connection
	dropped   func()        // called for each connection closed for another one
	room      chan struct{} // signals that an anonymous connection has gone

	mu   sync.Mutex
	open map[*connection]struct{}
	seq  uint64 // of the latest connection that became idle
}

// connection is a connection of a client.
type connection struct {
	net.Conn
	pool     *connections
	accepted time.Time

	// Guarded by pool.mu.
	hasToken  bool
	owner     string // the token's ID, or the address of an anonymous client
	busy      bool   // an admitted request is in progress
	idleSince uint64 // sequence number of the time when it became idle
}

// newConnections limits connections to most; half of them may be anonymous.
func newConnections(l net.Listener, most int, patience time.Duration, dropped func()) *connections {
	return &connections{
		Listener: l, anonymous: most / 2, withToken: most - most/2, silence: patience, dropped: dropped,
		room: make(chan struct{}, 1), open: map[*connection]struct{}{},
	}
}

// Accept waits for the next connection.
func (cs *connections) Accept() (net.Conn, error) {
	conn, err := cs.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, pool: cs, accepted: time.Now(), owner: clientNetwork(conn.RemoteAddr())}
	for wait := cs.admit(c); wait > 0; wait = cs.admit(c) {
		late := time.NewTimer(wait)
		select {
		case <-late.C:
		case <-cs.room:
		}
		late.Stop()
	}
	return c, nil
}

// admit adds a new connection, or returns how long to wait until another one may be closed.
func (cs *connections) admit(c *connection) (wait time.Duration) {
	cs.mu.Lock()
	cs.seq++
	c.idleSince = cs.seq
	cs.open[c] = struct{}{}
	extra := cs.surplus(false)
	if extra != nil {
		if wait = protectedAge - time.Since(extra.accepted); wait > 0 {
			delete(cs.open, c)
			extra = nil
		}
	}
	cs.mu.Unlock()
	cs.drop(extra)
	return wait
}

// beginRequest marks the connection of a context as busy with an admitted request of a
// token, until done is called.
func (cs *connections) beginRequest(ctx context.Context, token string) (done func()) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	cs.mu.Lock()
	if !c.hasToken {
		cs.signalRoom()
	}
	c.hasToken, c.owner, c.busy = true, token, true
	extra := cs.surplus(true)
	cs.mu.Unlock()
	cs.drop(extra)
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.seq++
		c.busy, c.idleSince = false, cs.seq
	}
}

// surplus returns the connection to close, of those with or without a token. It is nil if
// there are not too many, or all are busy.
func (cs *connections) surplus(owned bool) (worst *connection) {
	most := cs.anonymous
	if owned {
		most = cs.withToken
	}
	all, has := 0, map[string]int{}
	for c := range cs.open {
		if c.hasToken == owned {
			all++
			has[c.owner]++
		}
	}
	if all <= most {
		return nil
	}
	for c := range cs.open {
		if c.hasToken != owned || c.busy {
			continue
		}
		if worst == nil || has[c.owner] > has[worst.owner] || has[c.owner] == has[worst.owner] && c.idleSince < worst.idleSince {
			worst = c
		}
	}
	return worst
}

// signalRoom signals that an anonymous connection has gone.
func (cs *connections) signalRoom() {
	select {
	case cs.room <- struct{}{}:
	default:
	}
}

func (cs *connections) drop(c *connection) {
	if c == nil {
		return
	}
	c.Close()
	cs.dropped()
}

// Close closes the connection and removes it from the pool.
func (c *connection) Close() error {
	c.pool.mu.Lock()
	if delete(c.pool.open, c); !c.hasToken {
		c.pool.signalRoom()
	}
	c.pool.mu.Unlock()
	return c.Conn.Close()
}

// SetReadDeadline shortens the deadline of an anonymous connection.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.pool.mu.Lock()
	owned := c.hasToken
	c.pool.mu.Unlock()
	if soon := time.Now().Add(c.pool.silence); !owned && t.After(soon) { // sockets use the machine's clock
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}

type connectionKey struct{}

// withConnection stores the connection in the context of its requests.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// clientNetwork is the address of a client, or its /64 network for IPv6, because a client
// usually has a whole /64.
func clientNetwork(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.Is6() {
		return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
	}
	return ip.String()
}
