package cmdline

import (
	"strings"
	"testing"
	"time"
)

// Nothing is shown before the time, and nothing of it stays on a terminal.
func TestWaiting(t *testing.T) {
	for _, tt := range []struct {
		terminal, long bool
		want           string
	}{
		{false, false, ""},
		{true, false, ""},
		{false, true, "reading ...\n"},
		{true, true, "\r\033[Kreading ... 0 s\r\033[K"},
	} {
		var out strings.Builder
		begin := make(chan time.Time)
		end := waiting(&out, "reading", tt.terminal, begin, nil)
		if tt.long {
			begin <- time.Time{}
		}
		end()
		end()
		if out.String() != tt.want {
			t.Errorf("terminal %v, long %v: %q", tt.terminal, tt.long, out.String())
		}
	}
}
