package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"

	"github.com/percached/percached/internal/config"
)

// Inside opens a data folder for one command, and serves it the interface of the
// daemon without a socket.
func Inside(ctx context.Context, conf *config.Loaded, model bool, g node.Parts, stderr io.Writer) (*link.Link, error) {
	d, err := newServed(conf, reach{model: model, Parts: g}, stderr)
	if err != nil {
		return nil, err
	}
	secret, _, err := d.tokens.Main()
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	pipes := newPipes()
	d.listener = pipes
	if d.server, err = d.newServer(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	// The command's requests end with ctx; the rest ends in good order behind them.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- d.run(running, stderr) }()
	way := &http.Transport{DialContext: pipes.dial, DisableCompression: true}
	shut := sync.OnceValue(func() error {
		way.CloseIdleConnections()
		stop()
		err := <-ended
		if shut := d.close(); err == nil {
			err = shut
		}
		return err
	})
	l, err := link.New("http://localhost", secret, way)
	if err == nil {
		l.Close = shut
		err = l.Ready(ctx, stderr)
	}
	if err != nil {
		// What kept it from being ready says more.
		if failed := shut(); failed != nil {
			err = failed
		}
		return nil, err
	}
	return l, nil
}

// pipes is a listener that this process alone reaches.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes {
	return &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.dialled <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "percached", Net: "pipe"} }
