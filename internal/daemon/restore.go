package daemon

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
)

// restorePatience is how long a restore waits for requests that are under way.
const restorePatience = time.Minute

// restore replaces what the daemon serves by a backup. It returns when that is
// decided; then the daemon ends in good order, but for its listener and its hold on
// the data folder, and begins again on what was restored.
func (d *served) restore(ctx context.Context, r api.Restore) (api.Restored, error) {
	const op = "percached: restore"
	if !d.restoring.TryLock() {
		return api.Restored{}, fault.New(fault.Conflict, op, "another backup is being restored")
	}
	defer d.restoring.Unlock()
	if d.restored.Load() {
		return api.Restored{}, fault.New(fault.Conflict, op, "another backup was restored")
	}
	out, err := node.StageRestore(ctx, d.home, d.log, r.Archive, func(b backup.Header) error {
		there, err := node.ContentsOf(d.service.Knowledge)
		if err != nil {
			return err
		}
		there.Uploads = d.backend.Inbox.Waiting()
		return node.CheckReplace(d.setup.Data, there, b, r.Force)
	})
	if err != nil {
		return api.Restored{}, err
	}
	// From here on nobody is told that something was stored that goes.
	d.stage.at(StageRestoring, 0)
	switch {
	case d.requests.settle(ctx, restorePatience):
		err = d.home.CommitRestore()
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fault.New(fault.Unavailable, op, "requests that may change something did not end within %v: nothing was replaced; restore again, or stop the daemon first", restorePatience)
	}
	if err != nil {
		d.stage.at(StageReady, 1)
		if left := d.home.DropRestore(); left != nil {
			d.log.Warn("what was read of a backup could not be removed", "error", left)
		}
		return api.Restored{}, fault.Wrap(op, err)
	}
	d.log.Info("a backup is restored", "made", out.Made, "spaces", out.Spaces, "documents", out.Documents, "uploads", out.Uploads)
	d.restored.Store(true)
	d.listener.(*lasting).keep()
	d.stop()
	return api.Restored(out), nil
}

// again is the daemon that serves what was restored, in place of one that has ended
// for it.
func (d *served) again() (*served, error) {
	if err := d.home.EndRestore(); err != nil {
		return nil, err
	}
	n := &served{
		reach: d.reach, conf: d.conf, setup: d.conf.Now(), log: d.log, level: d.level, cert: d.cert, home: d.home, tokens: d.tokens,
		metrics: d.metrics, hub: &api.EventBus{}, begun: time.Now(), listener: d.listener,
	}
	n.stage.log = n.log
	n.prepare()
	n.stage.at(StageOpening, 0)
	var err error
	if n.server, err = n.newServer(); err != nil {
		return nil, err
	}
	return n, n.listener.(*lasting).reopen()
}

// lasting is a listener that may be kept for the next server: clients that come
// in between wait.
type lasting struct {
	*net.TCPListener
	kept atomic.Bool
}

// keep has Close only end who waits in Accept.
func (l *lasting) keep() { l.kept.Store(true) }

// Close closes the listener, unless it is kept.
func (l *lasting) Close() error {
	if l.kept.Load() {
		return l.SetDeadline(time.Unix(1, 0))
	}
	return l.TCPListener.Close()
}

// reopen is for the next server.
func (l *lasting) reopen() error {
	l.kept.Store(false)
	return l.SetDeadline(time.Time{})
}
