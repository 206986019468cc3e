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

	"github.com/percached/percached/internal/child"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
)

// ownDaemon is a daemon whose end is noticed.
type ownDaemon struct {
	*child.Process
	log  string        // file
	gone chan struct{} // closed when it has ended
	how  error         // it ended; to be read when it is gone
}

// startOwnDaemon starts a daemon with this language model, or the built-in one, whose
// log goes to a file.
// The context that it gives lives as long as both ctx and the daemon.
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
		if model == "" { // it is small: where others compute, too, threads that wait for each other are slower than one
			args = append(args, "--threads=1")
		}
		// When ctx ends it is told to end, and not killed.
		return child.Start(context.WithoutCancel(ctx), exe, data, f, args...)
	}
	const free = "127.0.0.1:0"
	at := config.Default().Serving.Listen
	if taken(at) {
		at = free
	}
	p, err := start(at)
	if err != nil && at != free && ctx.Err() == nil { // perhaps somebody was faster
		p, err = start(free)
	}
	if err != nil {
		if ctx.Err() == nil {
			child.ShowLog(log, stderr)
		}
		return nil, nil, err
	}
	d := &ownDaemon{Process: p, log: log, gone: make(chan struct{})}
	alive, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		d.how = d.Wait()
		close(d.gone)
	}()
	return d, alive, nil
}

// taken says that nobody else can listen at an address.
func taken(at string) bool {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// end ends it in good order, if it still lives.
func (d *ownDaemon) end() error {
	select {
	case <-d.gone:
		return nil
	default:
	}
	d.Cmd.Process.Signal(syscall.SIGTERM)
	<-d.gone
	return d.how
}

// explained is why something did not work: if it was because the daemon died, that
// is told, with its last words.
func (d *ownDaemon) explained(err error, stderr io.Writer) error {
	var unanswered *url.Error
	if !errors.As(err, &unanswered) {
		return err
	}
	select {
	case <-d.gone:
	case <-time.After(10 * time.Second): // a connection ends before its process
		return err
	}
	return d.died(stderr)
}

// died tells that it is gone although nobody told it to go.
func (d *ownDaemon) died(stderr io.Writer) error {
	child.ShowLog(d.log, stderr)
	if d.how != nil {
		return d.how
	}
	return fault.New(fault.Internal, "percached: demo", "the daemon ended by itself")
}
