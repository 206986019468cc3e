package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

// process is a percached serve that was started as a process of its own.
type process struct {
	cmd   *exec.Cmd
	url   string
	token string // for everything
}

// startProcess starts a percached on a data folder, at a free port, and waits until
// it is ready.
func startProcess(ctx context.Context, exe, data string, stderr io.Writer, args ...string) (*process, error) {
	const op = "percached: daemon"
	cmd := exec.CommandContext(ctx, exe, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Args[0], cmd.Stderr = "percached", stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	d := &process{cmd: cmd}
	lines := bufio.NewScanner(out)
	for d.url == "" && lines.Scan() {
		d.url, _ = strings.CutPrefix(lines.Text(), "listening on ")
	}
	if d.url == "" {
		return nil, fault.New(fault.Unavailable, op, "it did not begin to listen: %w", errors.Join(lines.Err(), cmd.Wait()))
	}
	go io.Copy(io.Discard, out) // ends with the process
	if err := d.ready(ctx); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	tokens, err := token.Open(data)
	if err == nil {
		d.token, _, err = tokens.Main()
	}
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// ready waits until it can answer questions.
func (d *process) ready(ctx context.Context) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		r, err := http.Get(d.url + "/readyz")
		if err != nil {
			return fault.New(fault.Unavailable, "percached: daemon", "%w", err)
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fault.Wrap("percached: daemon", ctx.Err())
		}
	}
}

func (d *process) pid() int { return d.cmd.Process.Pid }

// stop ends it in good order.
func (d *process) stop() error {
	d.cmd.Process.Signal(syscall.SIGTERM)
	return d.ended()
}

// kill ends it as a crash would.
func (d *process) kill() error {
	d.cmd.Process.Kill()
	return d.ended()
}

func (d *process) ended() error {
	if err := d.cmd.Wait(); err != nil {
		return fault.New(fault.Internal, "percached: daemon", "it ended: %w", err)
	}
	return nil
}
