package cmdline_test

import (
	"os"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/cmdline"
)

// A terminal is one at which a person may sit, and not whatever is no file.
func TestTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for name, want := range map[string]bool{os.DevNull: false, "/dev/ptmx": true, "terminal_test.go": false} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Log(err) // it is not everywhere
			continue
		}
		if cmdline.Terminal(f) != want {
			t.Errorf("%s: not %v", name, want)
		}
		f.Close()
	}
	if cmdline.Terminal(&strings.Builder{}) {
		t.Error("a text is a terminal")
	}
}

// What a person is shown cannot steer their terminal; letters and lines stay.
func TestPrinterIsPlain(t *testing.T) {
	var out strings.Builder
	p := &cmdline.Printer{W: &out}
	p.Line("%s", "a\x1b]0;owned\a\rb\x9b2J\u009b\u202ec\td\né 🐦")
	if got, want := out.String(), "a]0;ownedb\ufffd2Jc\td\né 🐦\n"; got != want || p.Err != nil {
		t.Errorf("%q, want %q", got, want)
	}
}
