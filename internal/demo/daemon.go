package demo

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/config"
)

// ownDaemon is the daemon of the demo.
type ownDaemon struct {
	*child.Process
	log     string        // file
	exited  chan struct{} // closed when the process has exited
	exitErr error         // error of the process; valid when exited is closed
}

// startOwnDaemon starts a daemon with a language model, or the built-in one. The returned
// context ends when ctx ends or the daemon exits.
func startOwnDaemon(ctx context.Context, data, log, model string, stderr io.Writer) (*ownDaemon, context.Context, error) {
	const op = "percached: demo"
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	f, err := os.Create(log)
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	defer f.Close() // the daemon has it open, too
	start := func(at string) (*child.Process, error) {
		args := []string{"--listen", at, "--model=" + model, "--embed-model="}
		if model == "" { // with a tiny model, several threads on a busy machine are slower than one
			args = append(args, "--threads=1")
		}
		// When ctx ends, the daemon gets SIGTERM and is not killed.
		return child.Start(context.WithoutCancel(ctx), exe, data, f, args...)
	}
	const free = "127.0.0.1:0"
	at := config.Default().Serving.Listen
	if taken(at) {
		at = free
	}
	p, err := start(at)
	if err != nil && at != free && ctx.Err() == nil { // another program may have taken the port
		p, err = start(free)
	}
	if err != nil {
		if ctx.Err() == nil {
			child.ShowLog(log, stderr)
		}
		return nil, nil, err
	}
	d := &ownDaemon{Process: p, log: log, exited: make(chan struct{})}
	alive, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		d.exitErr = d.Wait()
		close(d.exited)
	}()
	return d, alive, nil
}

// taken says that an address is in use.
func taken(at string) bool {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// end stops the daemon if it is running.
func (d *ownDaemon) end() error {
	select {
	case <-d.exited:
		return nil
	default:
	}
	d.Cmd.Process.Signal(syscall.SIGTERM)
	<-d.exited
	return d.exitErr
}

// explain replaces the error of a request with that of the daemon if it has exited.
func (d *ownDaemon) explain(err error, stderr io.Writer) error {
	var unanswered *url.Error
	if !errors.As(err, &unanswered) {
		return err
	}
	select {
	case <-d.exited:
	case <-time.After(10 * time.Second): // a connection closes before its process exits
		return err
	}
	return d.exitError(stderr)
}

// exitError is the error of a daemon that exited unexpectedly. It also prints its log.
func (d *ownDaemon) exitError(stderr io.Writer) error {
	child.ShowLog(d.log, stderr)
	if d.exitErr != nil {
		return d.exitErr
	}
	return fault.New(fault.Internal, "percached: demo", "the daemon stopped unexpectedly")
}
