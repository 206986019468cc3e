package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/pull"
)

// pullProgress shows the progress of a download: in one changing line on a terminal,
// elsewhere in a line every few seconds.
type pullProgress struct {
	w     io.Writer
	live  bool
	every time.Duration
	now   func() time.Time
	name  string

	began, shown time.Time
	from         int64 // bytes of an earlier download
	lineShown    bool  // the terminal shows a line
}

func newPullProgress(w io.Writer, now func() time.Time) *pullProgress {
	b := &pullProgress{w: w, now: now, live: cmdline.Terminal(w), every: 5 * time.Second}
	if b.live {
		b.every = 200 * time.Millisecond
	}
	return b
}

func (b *pullProgress) observer() pull.Observer {
	return pull.Observer{
		Fetched: b.fetched,
		Checked: b.checked,
		Cut: func(cause error, after time.Duration) {
			b.clearLine()
			cmdline.Say(b.w, "%s; trying again in %v", cmdline.Sentence(cause), after)
		},
		Anew: func() {
			b.clearLine()
			cmdline.Say(b.w, "cannot continue the earlier download; starting again")
		},
	}
}

func (b *pullProgress) fetched(done, total int64) {
	if b.began.IsZero() {
		b.began, b.shown, b.from = b.now(), b.now(), done
		if done > 0 {
			cmdline.Say(b.w, "continuing after %s", megabytes(done))
		}
	}
	rate := float64(done-b.from) / max(b.now().Sub(b.began).Seconds(), 1e-3)
	line := megabytes(done)
	if total >= 0 {
		line = fmt.Sprintf("%.1f of %s, %d %%", float64(done)/1e6, megabytes(total), 100*done/max(total, 1))
	}
	line += fmt.Sprintf(", %.1f MB/s", rate/1e6)
	if left := float64(total-done) / rate; total > done && rate > 0 && left < 100*3600 {
		line += fmt.Sprintf(", %v left", time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	b.show(line, done, total)
}

func (b *pullProgress) checked(done, total int64) {
	b.show(fmt.Sprintf("checking, %d %%", 100*done/max(total, 1)), done, total)
}

func (b *pullProgress) show(line string, done, total int64) {
	now := b.now()
	if b.shown.IsZero() { // a short download shows nothing
		b.shown = now
	}
	if now.Sub(b.shown) < b.every {
		return
	}
	b.shown = now
	if !b.live {
		cmdline.Say(b.w, "%s: %s", b.name, line)
		return
	}
	const width = 24
	bar := ""
	if total > 0 {
		full := int(min(max(width*done/total, 0), width))
		bar = strings.Repeat("█", full) + strings.Repeat("░", width-full) + " "
	}
	fmt.Fprintf(b.w, "\r\033[K%s%s: %s", bar, b.name, line)
	b.lineShown = true
}

// clearLine clears the line. The next download starts a new one.
func (b *pullProgress) clearLine() {
	if b.lineShown {
		fmt.Fprint(b.w, "\r\033[K")
	}
	b.lineShown, b.began = false, time.Time{}
}

// megabytes prints decimal megabytes, as disks and networks use them.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
