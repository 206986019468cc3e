package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
)

// InProcess opens a data folder for one command, and serves the daemon's interface to it
// without a socket.
func InProcess(ctx context.Context, conf *config.Loaded, model bool, deps node.Dependencies, stderr io.Writer) (*link.Link, error) {
	d, err := newDaemon(conf, mode{model: model, Dependencies: deps}, stderr)
	if err != nil {
		return nil, err
	}
	secret, _, err := d.tokens.Main()
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	listener := newPipeListener()
	d.listener = listener
	if d.server, err = d.newServer(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	// The command's requests end with ctx. The daemon ends after them.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- d.run(running, stderr) }()
	transport := &http.Transport{DialContext: listener.dial, DisableCompression: true}
	shut := sync.OnceValue(func() error {
		transport.CloseIdleConnections()
		if d.opened.Load() != nil {
			d.node.CleanUp(ctx) // no later process may come soon
		}
		stop()
		err := <-ended
		if shut := d.close(); err == nil {
			err = shut
		}
		return err
	})
	l, err := link.New("http://localhost", secret, transport)
	if err == nil {
		l.Close, l.Data = shut, conf.Now().Data
		l.SyncFiles = func() (*home.SyncFiles, error) { return d.opened.Load().Home.SyncFiles(), nil }
		err = l.Ready(ctx, stderr)
	}
	if err != nil {
		// The error of the daemon says more than that of the request.
		if failed := shut(); failed != nil {
			err = failed
		}
		return nil, err
	}
	return l, nil
}

// pipeListener is a listener within this process.
type pipeListener struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "percached", Net: "pipe"} }
