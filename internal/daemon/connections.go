package daemon

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// safe is how long a new connection is not closed for others. Else a flood of them would
// close it before its request with a token is read, which takes some round trips, and
// longer on a busy machine. Where all are so new, the next client waits: beside a
// thousand that connect again and again, for about a second.
const safe = 250 * time.Millisecond

// connections bounds the connections that clients have open. A new connection is
// never refused; where there are too many, one that no request needs is closed. A
// connection is anonymous until a request with a token got a place on it. Anonymous
// connections and those of tokens are counted apart, so that clients without a token
// take none from clients with one. What is closed is the oldest connection of the
// address, or the token, that has most of them.
//
// Connections on which a request with a place is being served are never closed. The
// places bound their number (see api.Options).
type connections struct {
	net.Listener
	anonymous int           // how many may be open
	owned     int           // of tokens
	patience  time.Duration // how long an anonymous connection may be silent
	dropped   func()        // is told of each that was closed to make room
	left      chan struct{} // holds something when there is one anonymous connection less

	mu   sync.Mutex
	open map[*connection]struct{}
	seq  uint64 // of the latest that became spare
}

// connection is one of a client.
type connection struct {
	net.Conn
	of   *connections
	came time.Time

	// Guarded by of.mu.
	owned bool
	owner string // a token's id; of an anonymous one, its address
	busy  bool   // a request with a place is being served
	spare uint64 // since when no such request is served
}

// newConnections are at most so many: half of them may be anonymous.
func newConnections(l net.Listener, most int, patience time.Duration, dropped func()) *connections {
	return &connections{
		Listener: l, anonymous: most / 2, owned: most - most/2, patience: patience, dropped: dropped,
		left: make(chan struct{}, 1), open: map[*connection]struct{}{},
	}
}

// Accept waits for the next connection.
func (cs *connections) Accept() (net.Conn, error) {
	conn, err := cs.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, of: cs, came: time.Now(), owner: network(conn.RemoteAddr())}
	for wait := cs.enter(c); wait > 0; wait = cs.enter(c) {
		late := time.NewTimer(wait)
		select {
		case <-late.C:
		case <-cs.left:
		}
		late.Stop()
	}
	return c, nil
}

// enter makes a new connection one of those that are open, or says how long to wait
// until another may be closed for it.
func (cs *connections) enter(c *connection) (wait time.Duration) {
	cs.mu.Lock()
	cs.seq++
	c.spare = cs.seq
	cs.open[c] = struct{}{}
	extra := cs.extra(false)
	if extra != nil {
		if wait = safe - time.Since(extra.came); wait > 0 {
			delete(cs.open, c)
			extra = nil
		}
	}
	cs.mu.Unlock()
	cs.drop(extra)
	return wait
}

// working says that a request of a token has a place, on the connection of its
// context, until done is called.
func (cs *connections) working(ctx context.Context, token string) (done func()) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	cs.mu.Lock()
	if !c.owned {
		cs.leaves()
	}
	c.owned, c.owner, c.busy = true, token, true
	extra := cs.extra(true)
	cs.mu.Unlock()
	cs.drop(extra)
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.seq++
		c.busy, c.spare = false, cs.seq
	}
}

// extra is the connection to close, of tokens or of others; nil: there are not too
// many, or all of them are busy.
func (cs *connections) extra(owned bool) (worst *connection) {
	most := cs.anonymous
	if owned {
		most = cs.owned
	}
	all, has := 0, map[string]int{}
	for c := range cs.open {
		if c.owned == owned {
			all++
			has[c.owner]++
		}
	}
	if all <= most {
		return nil
	}
	for c := range cs.open {
		if c.owned != owned || c.busy {
			continue
		}
		if worst == nil || has[c.owner] > has[worst.owner] || has[c.owner] == has[worst.owner] && c.spare < worst.spare {
			worst = c
		}
	}
	return worst
}

// leaves says that there is one anonymous connection less.
func (cs *connections) leaves() {
	select {
	case cs.left <- struct{}{}:
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

// Close closes the connection, and forgets it.
func (c *connection) Close() error {
	c.of.mu.Lock()
	if delete(c.of.open, c); !c.owned {
		c.of.leaves()
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SetReadDeadline lets an anonymous client be silent for a short time only, whatever
// the server would wait.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.of.mu.Lock()
	owned := c.owned
	c.of.mu.Unlock()
	if soon := time.Now().Add(c.of.patience); !owned && t.After(soon) { // sockets go by the machine's clock
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}

type connectionKey struct{}

// withConnection is the context of the requests on a connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// network is what an address counts as: of IPv6, a client commonly has 64 bits of
// addresses for itself.
func network(a net.Addr) string {
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
