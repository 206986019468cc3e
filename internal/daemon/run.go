package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/node"

	"golang.org/x/sync/errgroup"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/machine"
)

// last is how long requests that were told to end have for saying so.
const last = time.Second

// run serves until ctx ends or a part fails: the server at once, all else when it
// is loaded.
func (d *served) run(ctx context.Context, stderr io.Writer) error {
	// Requests, and what they wait for, outlive ctx by the time of grace.
	served, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	d.server.BaseContext = func(net.Listener) context.Context { return served }
	g, parts := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := d.accept()
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
	g.Go(func() error {
		in, err := d.open(parts, stderr)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil // it was told to end before it had begun
			}
			return err
		}
		if d.daemon {
			g.Go(func() error {
				d.service.CleanUp(parts) // idle work would wait for it
				return d.service.Scheduler.Run(parts)
			})
		}
		g.Go(func() error { return in.Run(served) })
		if d.daemon {
			g.Go(func() error {
				again := time.NewTicker(memoryEvery)
				defer again.Stop()
				limitMemory(parts, node.UploadMemory(machine.Memory()), again.C)
				return nil
			})
		}
		g.Go(func() error {
			counted := time.NewTicker(node.FlushInterval)
			defer counted.Stop()
			d.service.FlushOn(parts, counted.C)
			return nil
		})
		d.stage.at(StageReady, 1)
		return nil
	})
	g.Go(func() error {
		<-parts.Done()
		d.shutDown(cut)
		return nil
	})
	return g.Wait()
}

// accept serves connections, a bounded number at a time.
func (d *served) accept() error {
	if d.cert == nil {
		return d.server.Serve(d.connections)
	}
	return d.server.ServeTLS(d.connections, "", "")
}

// newServer serves HTTP at the listener, with bounds on what a client may take
// before the interface sees it.
func (d *served) newServer() (*http.Server, error) {
	c := &d.setup.Serving
	d.connections = newConnections(d.listener, c.Connections, c.HeaderTimeout, d.metrics.ConnectionDropped)
	front, err := api.New(d.backend.API(), d.options())
	if err != nil {
		return nil, err
	}
	d.requests.next = front
	// Under HTTP/2 a deadline that has passed cannot be moved any more, and those of
	// slow senders and of streams move.
	one := &http.Protocols{}
	one.SetHTTP1(true)
	return &http.Server{
		ConnContext: withConnection, Handler: &d.requests, Protocols: one, DisableGeneralOptionsHandler: true, TLSConfig: d.cert, ReadHeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout,
		MaxHeaderBytes: int(c.Header), ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}, nil
}

// shutDown ends the server: nobody new is let in, who listens to events is told
// that this is the end, and answers that are under way may end within the time of
// grace. What is left then is cut short. It returns when no request is under way
// any more.
func (d *served) shutDown(cut func()) {
	loaded := d.opened.Load() != nil
	grace := d.setup.Serving.Grace
	if d.restored.Load() {
		grace = last // they had theirs
	} else {
		d.forgetAddress() // before another program can listen there: commands would tell it the token
		d.stage.at(StageClosing, 0)
	}
	d.hub.Close()
	if !d.quietWithin(grace) {
		d.log.Warn("requests that did not end are cut short", "after", grace)
		if loaded {
			d.service.Asker.Close() // who asked is told why there is no answer
		}
		d.quietWithin(last)
	}
	cut()
	d.quietWithin(last)
	d.server.Close() // who waits for a client waits no longer
	d.requests.end()
}

// quietWithin lets nobody in, and says whether all requests ended and were
// answered within a time.
func (d *served) quietWithin(long time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	return d.server.Shutdown(ctx) == nil
}

// requests counts those that are under way: net/http does not wait for them when
// it closes.
type requests struct {
	next    http.Handler
	mu      sync.RWMutex // shared by requests
	over    bool
	changes atomic.Int64 // requests that may change something
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.over {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		r.changes.Add(1)
		defer r.changes.Add(-1)
	}
	r.next.ServeHTTP(w, req)
}

// settle waits until no request may change something but the caller's own, and says
// whether that was so within a time.
func (r *requests) settle(ctx context.Context, long time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for r.changes.Load() > 1 {
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// end lets no more in, and returns when none is under way.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
