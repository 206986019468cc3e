package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

// Process is a running percached serve.
type Process struct {
	Cmd   *exec.Cmd
	URL   string
	Token string // the main token
}

// Start starts a daemon on a data folder at a free port, and waits until it is ready.
func Start(ctx context.Context, exe, data string, stderr io.Writer, args ...string) (*Process, error) {
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
	d := &Process{Cmd: cmd}
	lines := bufio.NewScanner(out)
	for d.URL == "" && lines.Scan() {
		d.URL, _ = strings.CutPrefix(lines.Text(), "listening on ")
	}
	if d.URL == "" {
		return nil, fault.New(fault.Unavailable, op, "the daemon did not start to listen: %w", errors.Join(lines.Err(), cmd.Wait()))
	}
	go io.Copy(io.Discard, out) // ends with the process
	if err := d.Ready(ctx); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	tokens, err := token.Open(data)
	if err == nil {
		d.Token, _, err = tokens.Main()
	}
	if err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

// Ready waits until the daemon can answer questions.
func (d *Process) Ready(ctx context.Context) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		r, err := http.Get(d.URL + "/readyz")
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

// PID is the process ID.
func (d *Process) PID() int { return d.Cmd.Process.Pid }

// Stop sends SIGTERM and waits until the process ends.
func (d *Process) Stop() error {
	d.Cmd.Process.Signal(syscall.SIGTERM)
	return d.Wait()
}

// Kill kills the process, as a crash would.
func (d *Process) Kill() error {
	d.Cmd.Process.Kill()
	return d.Wait()
}

// Wait waits until the process ends.
func (d *Process) Wait() error {
	if err := d.Cmd.Wait(); err != nil {
		return fault.New(fault.Internal, "percached: daemon", "the daemon ended: %w", err)
	}
	return nil
}

// ShowLog prints the last lines of a log.
func ShowLog(log string, stderr io.Writer) {
	const most = 12
	b, err := os.ReadFile(log)
	if err != nil || len(b) == 0 {
		return
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	cmdline.Say(stderr, "Last lines of the daemon's log:")
	for _, l := range lines[max(0, len(lines)-most):] {
		cmdline.Say(stderr, "  %s", l)
	}
}

// Failure returns the error of a request, or its status as an error.
func Failure(err error, got interface{ StatusCode() int }) error {
	if err != nil {
		return err
	}
	return errors.New("status " + strconv.Itoa(got.StatusCode()))
}
