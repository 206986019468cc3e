package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/node"
)

// finalGrace is the time that cancelled requests have to send their error.
const finalGrace = time.Second

// run serves until ctx ends or a part fails. The server starts at once, the other parts when
// the data folder is open.
func (d *daemon) run(ctx context.Context, stderr io.Writer) error {
	// Requests, and the inbox that they wait for, continue after ctx for the time of grace.
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
				return nil // interrupted while opening
			}
			return err
		}
		if d.daemon {
			g.Go(func() error {
				d.node.CleanUp(parts) // before idle work, which needs it
				return d.node.Scheduler.Run(parts)
			})
		}
		if d.daemon {
			g.Go(func() error {
				d.node.Library.KeepClean(parts, time.After)
				return nil
			})
		}
		g.Go(func() error { return in.Run(served) })
		if d.daemon {
			g.Go(func() error {
				again := time.NewTicker(node.ExpireInterval)
				defer again.Stop()
				d.node.ExpireOnTick(parts, again.C)
				return nil
			})
		}
		if d.daemon {
			g.Go(func() error {
				again := time.NewTicker(memoryInterval)
				defer again.Stop()
				limitMemory(parts, node.UploadMemory(machine.Memory()), again.C)
				return nil
			})
			g.Go(func() error {
				again := time.NewTicker(quotaInterval)
				defer again.Stop()
				d.saveQuotas(parts, again.C)
				return nil
			})
			g.Go(func() error {
				again := time.NewTicker(node.FollowInterval)
				defer again.Stop()
				d.node.FollowMachine(parts, again.C)
				return nil
			})
		}
		g.Go(func() error {
			counted := time.NewTicker(node.FlushInterval)
			defer counted.Stop()
			d.node.FlushOnTick(parts, counted.C)
			return nil
		})
		if remote := d.backend.Remote; remote != nil {
			g.Go(func() error {
				remote.Run(parts, time.After)
				return nil
			})
		}
		d.stage.set(StageReady, 1)
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
func (d *daemon) accept() error {
	if d.cert == nil {
		return d.server.Serve(d.connections)
	}
	return d.server.ServeTLS(d.connections, "", "")
}

// newServer makes the HTTP server, with limits on connections, headers and time.
func (d *daemon) newServer() (*http.Server, error) {
	c := &d.config.Serving
	d.connections = newConnections(d.listener, c.Connections, c.HeaderTimeout, d.metrics.ConnectionDropped)
	handler, err := api.New(d.backend.API(), d.options())
	if err != nil {
		return nil, err
	}
	d.requests.next = handler
	// HTTP/1 only: slow senders and streams extend their deadlines, and under HTTP/2 an expired
	// deadline cannot be extended.
	http1 := &http.Protocols{}
	http1.SetHTTP1(true)
	return &http.Server{
		ConnContext: withConnection, Handler: &d.requests, Protocols: http1, DisableGeneralOptionsHandler: true, TLSConfig: d.cert, ReadHeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout,
		MaxHeaderBytes: int(c.Header), ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}, nil
}

// shutDown stops the server. It refuses new connections, closes the event streams, and gives
// requests in progress the time of grace. Then it cancels them, and returns when all have
// ended.
func (d *daemon) shutDown(cut func()) {
	loaded := d.opened.Load() != nil
	grace := d.config.Serving.Grace
	if d.restored.Load() {
		grace = finalGrace // awaitWrites has waited for them
	} else {
		d.forgetAddress() // before another program can take the address and receive the token
		d.stage.set(StageClosing, 0)
	}
	d.hub.Close()
	if !d.drain(grace) {
		d.log.Warn("cancelling requests in progress", "after", grace)
		if loaded {
			d.node.Asker.Close() // sends questions their error
		}
		d.drain(finalGrace)
	}
	cut()
	d.drain(finalGrace)
	d.server.Close() // ends requests that wait for a slow client
	d.requests.close()
}

// drain refuses new connections, and says whether all requests ended within a time.
func (d *daemon) drain(long time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	return d.server.Shutdown(ctx) == nil
}

// requests counts the requests in progress, because http.Server.Close does not wait for
// them.
type requests struct {
	next    http.Handler
	mu      sync.RWMutex // every request holds it for reading
	closed  bool
	changes atomic.Int64 // requests in progress that may write
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		r.changes.Add(1)
		defer r.changes.Add(-1)
	}
	r.next.ServeHTTP(w, req)
}

// awaitWrites waits until the caller's own request is the only one that may write. It says
// whether that happened within a time.
func (r *requests) awaitWrites(ctx context.Context, long time.Duration) bool {
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

// close refuses new requests, and returns when none is in progress.
func (r *requests) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// memoryInterval is the time between two updates of the memory limit.
const memoryInterval = 10 * time.Second

// limitMemory sets a soft limit for the garbage collector until ctx ends. Without a limit,
// garbage of uploads would take as much memory as all live data. GOMEMLIMIT in the
// environment overrides it.
func limitMemory(ctx context.Context, uploads int64, when <-chan time.Time) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(live)
		debug.SetMemoryLimit(memoryLimit(uploads, int64(live[0].Value.Uint64())))
		select {
		case <-when:
		case <-ctx.Done():
			return
		}
	}
}

// memoryLimit is the memory limit for a live heap. It leaves half as much for garbage, so
// that the collector does not take all processor time.
func memoryLimit(uploads, live int64) int64 { return max(256<<20+uploads, live+live/2) }
