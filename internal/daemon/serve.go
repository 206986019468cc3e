package daemon

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
)

// The stages of a daemon.
const (
	StageOpening = "opening"
	StageLoading = "loading"
	StageReady   = "ready"
	// what is stored is being replaced by a backup
	StageRestoring = "restoring"
	StageClosing   = "closing"
)

// hasModels looks whether the models that are named are files of models, before
// anybody is told that there is a daemon.
func (d *served) hasModels() error {
	for _, name := range []string{d.setup.Model, d.setup.EmbedModel} {
		path, err := node.ModelFile(d.home.Path("models"), name)
		if err == nil {
			_, err = node.Architecture(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Serve runs a daemon until ctx ends.
func Serve(ctx context.Context, conf *config.Loaded, g node.Parts, stdout, stderr io.Writer) error {
	d, err := newServed(conf, reach{daemon: true, model: true, Parts: g}, stderr)
	if err != nil {
		return err
	}
	now := &atomic.Pointer[served]{}
	now.Store(d)
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, now, stdout, stderr) }()
	waits := func() bool { return now.Load().waitsForRoom() }
	return UnlessStuck(ctx, d.setup.Serving.Grace+2*last, waits, ended)
}

// serveOn serves with the daemon that is prepared now, and with another behind each
// restore.
func serveOn(ctx context.Context, now *atomic.Pointer[served], stdout, stderr io.Writer) error {
	d := now.Load()
	err := d.hasModels()
	if err == nil {
		err = d.listen(stdout)
	}
	if err == nil {
		defer d.listener.(*lasting).TCPListener.Close() //nolint:errcheck // it is closed, unless what was restored is not served
		err = d.runHere(ctx, stderr)
	}
	for err == nil && d.restored.Load() && ctx.Err() == nil {
		if err = whenFull(d.closeService()); err != nil {
			break
		}
		var next *served
		if next, err = d.again(); err != nil {
			break
		}
		d = next
		now.Store(d)
		err = d.runHere(ctx, stderr)
	}
	if shut := d.close(); shut != nil {
		shut = whenFull(shut)
		d.log.Error("the daemon did not end cleanly", "error", shut)
		if err == nil {
			return shut
		}
		err = errors.Join(err, shut)
	}
	return err
}

// runHere runs until ctx ends or a backup was restored.
func (d *served) runHere(ctx context.Context, stderr io.Writer) error {
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	return d.run(ctx, stderr)
}

// UnlessStuck waits for the end of a daemon, but not for one that cannot come: on
// a full disk a database may wait for room, and what uses it waits with it.
func UnlessStuck(ctx context.Context, grace time.Duration, waits func() bool, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for again := time.After(grace); ; again = time.After(last) {
		select {
		case err := <-ended:
			return err
		case <-again:
			if waits() {
				return errFullAtEnd()
			}
		}
	}
}

// waitsForRoom says whether a database does.
func (d *served) waitsForRoom() bool {
	s := d.opened.Load()
	return s != nil && (s.Meta.Waits() || s.Tensors.Waits())
}

func errFullAtEnd() error {
	return fault.New(fault.Unavailable, "percached: serve",
		"the disk is full: what was acknowledged is stored, counts of the last minute may be lost; make room before the next start: %w", syscall.ENOSPC)
}

// whenFull says once what parts that found no room say each by itself.
func whenFull(err error) error {
	if err != nil && onlyFull(err) {
		return errFullAtEnd()
	}
	return err
}

// onlyFull says whether all that is joined in err is that the disk is full.
func onlyFull(err error) bool {
	all, joined := err.(interface{ Unwrap() []error })
	if !joined {
		return errors.Is(err, syscall.ENOSPC)
	}
	return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !onlyFull(err) })
}
