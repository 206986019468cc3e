package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/percached/percached/internal/child"
)

// Commands behave the same with and without a daemon. With -short each script runs in one of the
// two ways: with a daemon if it opens models again and again.
func TestCommands(t *testing.T) {
	t.Setenv("PERCACHED_THREADS", "1")
	t.Setenv("PERCACHED_PAY_TRIAL", payTrial)
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0") // idle work is done when it is asked for
	scripts, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	cheap := []string{"backup_prompts", "completion", "config", "gate", "history", "status", "token"} // without a daemon
	for _, daemon := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "daemon"}[daemon]
		var files []string
		for _, script := range scripts {
			if !testing.Short() || slices.Contains(cheap, strings.TrimSuffix(filepath.Base(script), ".txt")) != daemon {
				files = append(files, script)
			}
		}
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: files,
				Setup: func(e *testscript.Env) error {
					share := filepath.Join(e.WorkDir, "share")
					e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
					e.Setenv("XDG_DATA_HOME", share)
					e.Setenv("PERCACHED_THREADS", "1")
					e.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
					e.Setenv("PERCACHED_PAY_TRIAL", payTrial)
					if err := tested(e); err != nil || !daemon {
						return err
					}
					var log lockedBuffer
					d, err := child.Start(context.Background(), underTest(t), filepath.Join(share, "percached"), &log)
					if err != nil {
						return err
					}
					e.Defer(func() {
						if err := d.Stop(); err != nil {
							t.Errorf("%v\n%s", err, log.String())
						}
					})
					return nil
				},
				Cmds: scriptCommands,
				Condition: func(cond string) (bool, error) {
					switch cond {
					case "daemon":
						return daemon, nil
					case "root": // who may read everything
						return os.Geteuid() == 0, nil
					}
					return false, errors.New("there is no such condition")
				},
			})
		})
	}
}

// tested makes scripts run the percached under test, if one is named.
func tested(e *testscript.Env) error {
	exe := os.Getenv("TEST_PERCACHED")
	if exe == "" {
		return nil // testscript.Main has put this one there
	}
	dir := filepath.Join(e.WorkDir, ".bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	e.Setenv("PATH", dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
	return os.Symlink(exe, filepath.Join(dir, "percached"))
}

// scriptCommands are the commands of scripts beside testscript's own.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "many": many, "keep": keep}

// exits STATUS COMMAND... requires an exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = ended.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("the exit status is %d, not %d", got, want)
	}
}

// keep NAME PATTERN stores the group of a match in the last output in a variable.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// many FOLDER COUNT writes a number of small notes to a folder.
func many(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: many FOLDER COUNT")
	}
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	for i := range count {
		n := strconv.Itoa(i)
		ts.Check(os.WriteFile(filepath.Join(dir, "note-"+n+".txt"), []byte("Locker "+n+" is painted in shade "+n+".\n"), 0o600))
	}
}
