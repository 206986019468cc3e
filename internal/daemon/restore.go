package daemon

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
)

// restorePatience is the maximum time that a restore waits for requests in progress.
const restorePatience = time.Minute

// restore replaces the served data with a backup. It returns when the backup is committed.
// Then the daemon stops, but keeps its listener and the lock of the data folder, and another
// one starts on the restored data.
func (d *daemon) restore(ctx context.Context, r api.Restore) (api.Restored, error) {
	const op = "percached: restore"
	if !d.restoring.TryLock() {
		return api.Restored{}, fault.New(fault.Conflict, op, "another restore is running; try again when it has ended")
	}
	defer d.restoring.Unlock()
	if d.restored.Load() {
		return api.Restored{}, fault.New(fault.Conflict, op, "another restore has just ended; try again")
	}
	out, err := node.StageRestore(ctx, d.home, d.log, r.Archive, func(b backup.Header) error {
		there, err := node.CountContents(d.node.Knowledge)
		if err != nil {
			return err
		}
		there.Uploads = d.backend.Inbox.Waiting()
		return node.CheckReplace(d.config.Data, there, b, r.Force)
	})
	if err != nil {
		return api.Restored{}, err
	}
	// From here on no request may store data, because it would be replaced.
	d.stage.set(StageRestoring, 0)
	switch {
	case d.requests.awaitWrites(ctx, restorePatience):
		err = d.home.CommitRestore()
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fault.New(fault.Unavailable, op, "other requests that write did not end within %v; nothing was replaced; try again, or stop the daemon first", restorePatience)
	}
	if err != nil {
		d.stage.set(StageReady, 1)
		if left := d.home.DropRestore(); left != nil {
			d.log.Warn("cannot remove the unpacked backup", "error", left)
		}
		return api.Restored{}, fault.Wrap(op, err)
	}
	d.log.Info("restored a backup", "made", out.Made, "spaces", out.Spaces, "documents", out.Documents, "uploads", out.Uploads)
	d.restored.Store(true)
	d.listener.(*reusableListener).keepOpen()
	d.stop()
	return api.Restored(out), nil
}

// afterRestore makes the daemon that serves the restored data.
func (d *daemon) afterRestore() (*daemon, error) {
	if err := d.home.EndRestore(); err != nil {
		return nil, err
	}
	n := &daemon{
		mode: d.mode, conf: d.conf, config: d.conf.Now(), log: d.log, level: d.level, cert: d.cert, home: d.home, tokens: d.tokens, audit: d.audit, quotas: d.quotas, issuer: d.issuer, tracer: d.tracer,
		metrics: d.metrics, hub: &api.EventBus{}, started: time.Now(), listener: d.listener,
	}
	n.stage.log = n.log
	n.prepare()
	n.stage.set(StageOpening, 0)
	var err error
	if n.server, err = n.newServer(); err != nil {
		return nil, err
	}
	return n, n.listener.(*reusableListener).reopen()
}

// reusableListener is a listener that can stay open for the next server. New clients wait
// until that server accepts them.
type reusableListener struct {
	*net.TCPListener
	kept atomic.Bool
}

// keepOpen makes Close only interrupt Accept.
func (l *reusableListener) keepOpen() { l.kept.Store(true) }

// Close closes the listener, or only interrupts Accept after keepOpen.
func (l *reusableListener) Close() error {
	if l.kept.Load() {
		return l.SetDeadline(time.Unix(1, 0))
	}
	return l.TCPListener.Close()
}

// reopen makes the listener usable for the next server.
func (l *reusableListener) reopen() error {
	l.kept.Store(false)
	return l.SetDeadline(time.Time{})
}
