package pull

import (
	"context"
	"net"
	"net/url"
	"time"
)

// Impatient lets attempts follow each other at once.
func (p *Puller) Impatient() { p.wait = func(context.Context, time.Duration) error { return nil } }

// Room says how much room there is on the disk.
func (p *Puller) Room(bytes int64) { p.room = func(string) int64 { return bytes } }

// Through sends all requests to what dial gives.
func (p *Puller) Through(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	p.transport.Proxy, p.transport.DialContext = nil, dial
}

// Allowed says why a redirect is not followed.
func Allowed(from, to *url.URL, hashed bool) error { return allowed(from, to, hashed) }
