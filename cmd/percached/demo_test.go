package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/demo"
)

// The demo meets its expectations on a real daemon, and deletes the mail completely.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("TestDemoInterrupted runs the demo with little prediction")
	}
	temp, data := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	var out, errs bytes.Buffer
	cmd := exec.Command(underTest(t), "demo", "--json", "--data", data)
	cmd.Args[0], cmd.Stdout, cmd.Stderr, cmd.Env = "percached", &out, &errs, append(os.Environ(), "TMPDIR="+temp)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, errs.String(), out.String())
	}
	var r demo.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for _, q := range r.Questions {
		outcomes[q.Step] = q.Outcome
		if q.Answer == "" || q.Ms <= 0 || (q.Prompt == 0) != (q.Outcome == "answer_hit") {
			t.Errorf("%+v", q)
		}
	}
	// These two have tensors of the instructions and of other chunks, or none: all that counts is that nothing stored was given.
	for _, step := range []string{"another name", "mail deleted"} {
		if got := outcomes[step]; got != "miss" && got != "tensor_hit" {
			t.Errorf("%s: %q", step, got)
		}
		delete(outcomes, step)
	}
	want := map[string]string{"first time": "miss", "other words": "answer_hit", "tensors alone": "tensor_hit"}
	if _, some := outcomes["predicted"]; some {
		want["predicted"] = "answer_hit"
	} else if r.Prediction.Complete {
		t.Error("no predicted question was asked")
	}
	if d := cmp.Diff(want, outcomes); d != "" {
		t.Error(d)
	}
	if len(r.Failures) > 0 || r.Documents != 65 || r.Receipt == nil || r.Receipt.Documents != 1 || r.Receipt.Entries == 0 || !r.Receipt.CleanedUp {
		t.Errorf("%+v", r)
	}
	empty(t, temp)
	out.Reset()
	if err := run(t.Context(), []string{"documents", "list", "--data", data}, nil, &out, &errs); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "Heron: you are leading it") || !strings.Contains(got, "Plumber for the bathroom") {
		t.Errorf("the folder that stayed behind has\n%s", got)
	}
	if err := run(t.Context(), []string{"demo", "--data", data}, nil, &out, &errs); !errors.As(err, new(cmdline.Misuse)) {
		t.Errorf("with that folder once more: %v", err)
	}
}

// An interrupted demo leaves neither a daemon nor a folder.
func TestDemoInterrupted(t *testing.T) {
	for _, at := range []string{"Starting", "Adding", "Running idle work", "Ctrl-C"} {
		t.Run(at, func(t *testing.T) {
			temp := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &trigger{at: at, pull: cancel}
			err := shownIn(ctx, temp, out)
			if (at == "Ctrl-C") != (err == nil) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%v\n%s", err, out.String())
			}
			out.gone(t)
			empty(t, temp)
		})
	}
}

// Failed expectations are reported.
func TestDemoFails(t *testing.T) {
	t.Setenv("PERCACHED_THRESHOLD", "0.99") // other words are not near enough
	temp := t.TempDir()
	out := &trigger{}
	err := shownIn(t.Context(), temp, out)
	if !errors.Is(err, cmdline.Unwell{}) || !strings.Contains(out.String(), "FAILED: ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.gone(t)
	empty(t, temp)
}

// If the daemon dies, the demo prints the end of its log.
func TestDemoDaemonDies(t *testing.T) {
	for _, at := range []string{"Running idle work", "Ctrl-C"} {
		t.Run(at, func(t *testing.T) {
			temp := t.TempDir()
			out := &trigger{at: at}
			out.pull = func() { out.process(t).Kill() }
			err := shownIn(t.Context(), temp, out)
			if err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(out.String(), "daemon's log:\n  ") {
				t.Errorf("%v\n%s", err, out.String())
			}
			out.gone(t)
			empty(t, temp)
		})
	}
}

// The questions of the demo are among those of the inbox.
func TestDemoQuestions(t *testing.T) {
	b, err := os.ReadFile("../../models/demo/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var q struct {
			Question string
			NearMiss struct{ Question string } `json:"near_miss"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if q.Question == demo.Question && q.NearMiss.Question == demo.OtherName {
			return
		}
	}
	t.Errorf("%q with %q is not there", demo.Question, demo.OtherName)
}

// shownIn runs the demo with little prediction, and temporary folders below temp.
func shownIn(ctx context.Context, temp string, out *trigger) error {
	o := demo.Demo{Temp: temp, PredictionTime: time.Millisecond}
	return o.Run(ctx, out, out)
}

// trigger keeps its output, and calls a function when a text appears in it.
type trigger struct {
	text bytes.Buffer // not embedded: its WriteString would go past Write
	at   string
	pull func()
}

func (g *trigger) String() string { return g.text.String() }

func (g *trigger) Write(p []byte) (int, error) {
	before := strings.Contains(g.String(), g.at)
	n, err := g.text.Write(p)
	if !before && strings.Contains(g.String(), g.at) {
		g.pull()
	}
	return n, err
}

// process finds the process of the daemon in the output.
func (g *trigger) process(t *testing.T) *os.Process {
	t.Helper()
	m := regexp.MustCompile(`Process (\d+) `).FindStringSubmatch(g.String())
	if m == nil {
		t.Fatalf("no process in\n%s", g.String())
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// gone fails the test if the daemon is running.
func (g *trigger) gone(t *testing.T) {
	t.Helper()
	if err := g.process(t).Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the daemon lives: %v", err)
	}
}

// empty fails the test if a folder is not empty.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
