package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
)

// called runs a command in this process.
func called(ctx context.Context, args ...string) (stdout, stderr string, status int) {
	var out, errs lockedBuffer
	err := run(ctx, args, strings.NewReader(""), &out, &errs)
	status = commands.Finish(ctx, err, &errs)
	return out.String(), errs.String(), status
}

// reports counts the reports that a command writes, and calls a function at one of them.
type reports struct {
	all  bytes.Buffer
	part string // that each has once
	at   int
	then func()
}

func (r *reports) Write(p []byte) (int, error) {
	n, err := r.all.Write(p)
	if r.then != nil && strings.Count(r.all.String(), r.part) >= r.at {
		r.then()
		r.then = nil
	}
	return n, err
}

// status --watch prints one report after the other until it is interrupted, with status 0.
// Without a daemon it keeps the folder locked, and a second command names its process.
func TestStatusWatches(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if out, errs, status := called(patiently(t), "spaces", "create", "mail", "--data", data); status != commands.ExitDone {
		t.Fatal(out, errs)
	}
	for _, tc := range []struct {
		name, part string
		args       []string
		daemon     bool
	}{
		{"people", "waiting    0 questions, 0 uploads\n", nil, false},
		{"programs", `"waiting":{`, []string{"--json"}, false},
		{"daemon", "waiting    0 questions, 0 uploads\n", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, says := commands.ExitNotNow, "percached: process "+strconv.Itoa(os.Getpid())+" uses "+data+": wait until it ends, end it, or name another folder with --data\n"
			if tc.daemon {
				a := startServe(t, data)
				a.ready()
				defer a.end()
				want, says = commands.ExitDone, ""
			}
			ctx, interrupt := context.WithCancel(patiently(t))
			out := &reports{part: tc.part, at: 3, then: func() {
				if _, errs, status := called(patiently(t), "spaces", "list", "--data", data); status != want || errs != says {
					t.Errorf("the second command: status %d, says %q", status, errs)
				}
				interrupt()
			}}
			var errs lockedBuffer
			args := append([]string{"status", "--watch", "--every", "50ms", "--data", data}, tc.args...)
			err := run(ctx, args, strings.NewReader(""), out, &errs)
			if status := commands.Finish(ctx, err, &errs); status != commands.ExitDone || errs.String() != "" {
				t.Errorf("status %d, says %q", status, errs.String())
			}
			if n := strings.Count(out.all.String(), tc.part); n < 3 || n > 4 {
				t.Errorf("%d reports", n)
			}
		})
	}
	// It lets go of the folder.
	if h, err := home.Open(data, encryption.Source{}); err != nil {
		t.Error(err)
	} else if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// An interrupted command prints only that, with and without a daemon.
func TestCommandsInterrupted(t *testing.T) {
	data, note := dataOf(t)
	gone, cancel := context.WithCancel(patiently(t))
	cancel()
	all := func(name string) {
		for _, args := range [][]string{{"spaces", "list"}, {"ask", "Why?"}, {"add", note}, {"idle", "run"}, {"status"}} {
			out, errs, status := called(gone, append(args, "--data", data)...)
			if status != commands.ExitInterrupted || errs != "percached: interrupted\n" || out != "" {
				t.Errorf("%s, %v: status %d, %q, %q", name, args, status, out, errs)
			}
		}
	}
	all("alone")
	a := startServe(t, data)
	a.ready()
	all("with a daemon")
	a.end()
}
