package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/pull"
)

// pullBar tells how far a file is: in one line that changes on a terminal, else in
// a line now and then.
type pullBar struct {
	w     io.Writer
	live  bool
	every time.Duration
	now   func() time.Time
	name  string

	began, told time.Time
	from        int64 // bytes that were there when it began
	drawn       bool  // a line is to be wiped
}

func newPullBar(w io.Writer, now func() time.Time) *pullBar {
	b := &pullBar{w: w, now: now, live: cmdline.Terminal(w), every: 5 * time.Second}
	if b.live {
		b.every = 200 * time.Millisecond
	}
	return b
}

func (b *pullBar) observer() pull.Observer {
	return pull.Observer{
		Fetched: b.fetched,
		Checked: b.checked,
		Cut: func(cause error, after time.Duration) {
			b.end()
			cmdline.Say(b.w, "%s; trying again in %v", cmdline.Sentence(cause), after)
		},
		Anew: func() {
			b.end()
			cmdline.Say(b.w, "the rest of what came before is not to be had: it is fetched from its beginning")
		},
	}
}

func (b *pullBar) fetched(done, total int64) {
	if b.began.IsZero() {
		b.began, b.told, b.from = b.now(), b.now(), done
		if done > 0 {
			cmdline.Say(b.w, "going on behind %s", megabytes(done))
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
	b.tell(line, done, total)
}

func (b *pullBar) checked(done, total int64) {
	b.tell(fmt.Sprintf("checking, %d %%", 100*done/max(total, 1)), done, total)
}

func (b *pullBar) tell(line string, done, total int64) {
	now := b.now()
	if b.told.IsZero() { // what is quick needs no line
		b.told = now
	}
	if now.Sub(b.told) < b.every {
		return
	}
	b.told = now
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
	b.drawn = true
}

// end wipes the line; what comes next begins anew.
func (b *pullBar) end() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\033[K")
	}
	b.drawn, b.began = false, time.Time{}
}

// megabytes are those of disks and networks: a million bytes each.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
