package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
)

// Every command that deletes has --yes, and changes nothing where nobody can be asked.
func TestConfirm(t *testing.T) {
	var errs strings.Builder
	if err := confirm(t.Context(), strings.NewReader("y\n"), &errs, false, "Delete %q?", "x"); !errors.As(err, new(cmdline.Misuse)) || errs.Len() > 0 {
		t.Errorf("without a terminal: %v, %q", err, errs.String())
	}
	if err := confirm(t.Context(), strings.NewReader(""), &errs, true, "Delete it?"); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	for _, path := range []string{"documents delete", "spaces delete", "facts delete", "qa delete", "conversations delete", "history clear", "cache clear", "token revoke"} {
		if help, _, _ := called(t.Context(), append(strings.Fields(path), "--help")...); !strings.Contains(help, "--yes") {
			t.Errorf("percached %s has no --yes", path)
		}
	}
}

// People read times in their own zone; a day without an hour is the same everywhere.
func TestTimes(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	time.Local = time.FixedZone("", -5*3600)
	late, day := time.Date(2026, 3, 4, 2, 30, 0, 0, time.UTC), time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	if got := timeText(late) + ", " + dateText(&late) + ", " + timeText(day) + ", " + dateText(&day); got != "2026-03-03 21:30:00, 2026-03-03, 2026-03-04, 2026-03-04" {
		t.Error(got)
	}
}

func TestVersionFlag(t *testing.T) {
	flag, _, status := called(t.Context(), "--version")
	command, _, _ := called(t.Context(), "version")
	if status != commands.ExitDone || flag != command || !strings.HasPrefix(flag, "percached ") {
		t.Errorf("%d, %q, %q", status, flag, command)
	}
}

// A question about a daemon elsewhere says where that is.
func TestConfirmNamesTheDaemon(t *testing.T) {
	for want, l := range map[string]*link.Link{
		"here: Delete mail?":           {Daemon: "http://127.0.0.1:7337", Data: "/data"},
		"At https://nas: Delete mail?": {Daemon: "https://nas"},
	} {
		c := &session{Link: l, in: strings.NewReader(""), stderr: io.Discard}
		if err := c.confirm(t.Context(), false, "Delete %s?", "mail"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
