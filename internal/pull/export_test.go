package pull

import (
	"context"
	"net"
	"net/url"
	"time"
)

// Impatient removes the waits between attempts.
func (p *Puller) Impatient() { p.wait = func(context.Context, time.Duration) error { return nil } }

// Free sets how much of the disk is free.
func (p *Puller) Free(bytes int64) { p.free = func(string) (int64, bool) { return bytes, true } }

// Through makes all connections with dial.
func (p *Puller) Through(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	p.transport.Proxy, p.transport.DialContext = nil, dial
}

// Allowed says why a redirect is not followed.
func Allowed(from, to *url.URL, hashed bool) error { return allowed(from, to, hashed) }
