package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands do the same whether a daemon uses the data folder or none.
func TestCommands(t *testing.T) {
	t.Setenv("PERCACHED_THREADS", "1")
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0") // idle work is done when it is asked for
	for _, daemon := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "daemon"}[daemon]
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: "testdata/commands",
				Setup: func(e *testscript.Env) error {
					share := filepath.Join(e.WorkDir, "share")
					e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
					e.Setenv("XDG_DATA_HOME", share)
					e.Setenv("PERCACHED_THREADS", "1")
					e.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
					if !daemon {
						return nil
					}
					var log lockedBuffer
					d, err := startProcess(context.Background(), underTest(t), filepath.Join(share, "percached"), &log)
					if err != nil {
						return err
					}
					e.Defer(func() {
						if err := d.stop(); err != nil {
							t.Errorf("%v\n%s", err, log.String())
						}
					})
					return nil
				},
				Condition: func(cond string) (bool, error) { return cond == "daemon" && daemon, nil },
			})
		})
	}
}
