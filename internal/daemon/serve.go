package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
)

// The stages of a daemon.
const (
	StageOpening = "opening"
	StageLoading = "loading"
	StageReady   = "ready"
	// StageRestoring: a backup replaces the stored data.
	StageRestoring = "restoring"
	StageClosing   = "closing"
)

// checkModels checks that the configured models are model files, before the daemon prints
// its address.
func (d *daemon) checkModels() error {
	for _, name := range []string{d.config.Model, d.config.EmbedModel} {
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
func Serve(ctx context.Context, conf *config.Loaded, g node.Dependencies, stdout, stderr io.Writer) error {
	d, err := newDaemon(conf, mode{daemon: true, model: true, Dependencies: g}, stderr)
	if err != nil {
		return err
	}
	now := &atomic.Pointer[daemon]{}
	now.Store(d)
	ended := make(chan error, 1)
	go func() { ended <- serveWithRestores(ctx, now, stdout, stderr) }()
	waits := func() bool { return now.Load().waitsForRoom() }
	return AwaitEnd(ctx, d.config.Serving.Grace+2*finalGrace, waits, ended)
}

// serveWithRestores runs the daemon. After each restore it runs another one on the restored
// data.
func serveWithRestores(ctx context.Context, now *atomic.Pointer[daemon], stdout, stderr io.Writer) error {
	d := now.Load()
	err := d.checkModels()
	if err == nil {
		err = d.listen(stdout)
	}
	if err == nil {
		defer d.listener.(*reusableListener).TCPListener.Close() //nolint:errcheck // usually closed already
		err = d.runUntilRestore(ctx, stderr)
	}
	for err == nil && d.restored.Load() && ctx.Err() == nil {
		if err = simplifyDiskFull(d.closeNode()); err != nil {
			break
		}
		var next *daemon
		if next, err = d.afterRestore(); err != nil {
			break
		}
		d = next
		now.Store(d)
		err = d.runUntilRestore(ctx, stderr)
	}
	if shut := d.close(); shut != nil {
		shut = simplifyDiskFull(shut)
		d.log.Error("the daemon did not end cleanly", "error", shut)
		if err == nil {
			return shut
		}
		err = errors.Join(err, shut)
	}
	return err
}

// runUntilRestore runs until ctx ends or a backup is restored.
func (d *daemon) runUntilRestore(ctx context.Context, stderr io.Writer) error {
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	return d.run(ctx, stderr)
}

// AwaitEnd waits until a daemon ends. It gives up if a database waits for disk space, which
// would block the daemon forever.
func AwaitEnd(ctx context.Context, grace time.Duration, waits func() bool, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for again := time.After(grace); ; again = time.After(finalGrace) {
		select {
		case err := <-ended:
			return err
		case <-again:
			if waits() {
				return errDiskFull()
			}
		}
	}
}

// waitsForRoom says whether a database waits for disk space.
func (d *daemon) waitsForRoom() bool {
	s := d.opened.Load()
	return s != nil && (s.Meta.WaitsForDisk() || s.Tensors.WaitsForDisk())
}

func errDiskFull() error {
	return fault.New(fault.Unavailable, "percached: serve",
		"the disk is full: confirmed writes are stored, counts of the last minute may be lost; %d MiB must be free before the next start: %w", node.MinFree>>20, syscall.ENOSPC)
}

// simplifyDiskFull replaces several errors of a full disk by one.
func simplifyDiskFull(err error) error {
	if err != nil && isDiskFull(err) {
		return errDiskFull()
	}
	return err
}

// isDiskFull says that every joined error is that of a full disk.
func isDiskFull(err error) bool {
	all, joined := err.(interface{ Unwrap() []error })
	if !joined {
		return errors.Is(err, syscall.ENOSPC)
	}
	return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !isDiskFull(err) })
}

// stage is the current stage of a daemon, and its progress.
type stage struct {
	log *slog.Logger

	mu  sync.Mutex
	now api.Ready
}

// set changes the stage. A ready daemon never loads again, and a closing daemon stays
// closing.
func (s *stage) set(name string, of1 float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loads := name == StageOpening || name == StageLoading
	if s.now.Stage == StageClosing || loads && (s.now.Ready || s.now.Stage == StageRestoring) {
		return
	}
	if s.now.Stage != name {
		s.log.Info(map[string]string{
			StageOpening: "opening the data folder", StageLoading: "loading the model", StageReady: "ready", StageRestoring: "restoring a backup", StageClosing: "closing",
		}[name])
	}
	s.now = api.Ready{Ready: name == StageReady, Stage: name, Progress: min(max(of1, 0), 1)}
}

func (s *stage) ready() api.Ready {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// CheckConfig reports the errors that the interface and the layers find in a configuration.
func CheckConfig(c config.Config) error {
	var errs []error
	if err := api.CheckHosts(c.Serving.Hosts); err != nil {
		errs = append(errs, &config.KeyError{Key: "hosts", Err: err})
	}
	if err := api.CheckOrigins(c.Serving.Origins); err != nil {
		errs = append(errs, &config.KeyError{Key: "origins", Err: err})
	}
	return errors.Join(append(errs, node.CheckConfig(c))...)
}
