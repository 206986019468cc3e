package cmdline

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress tells how far something long is: as a bar on a terminal, else in a line
// at every tenth. What is quick is not told of. At 1 the bar is wiped away.
func Progress(w io.Writer, what string) func(of1 float64) {
	const quick = time.Second
	began, last, bar := time.Now(), 0, Terminal(w)
	return func(of1 float64) {
		const parts = 100
		now := int(of1 * parts)
		switch {
		case bar && of1 >= 1:
			if last > 0 {
				fmt.Fprint(w, "\r\033[K")
			}
			last = 0
		case bar:
			if now != last && time.Since(began) > quick {
				last = max(now, 1)
				const width = 30
				full := min(max(int(of1*width), 0), width)
				fmt.Fprintf(w, "\r\033[K%s%s %3d %% %s", strings.Repeat("█", full), strings.Repeat("░", width-full), now, what)
			}
		case now/10 > last && of1 < 1 && time.Since(began) > quick:
			last = now / 10
			fmt.Fprintf(w, "%s: %d %%\n", what, last*10)
		}
	}
}

// Terminal says whether a person sees at once what is written, or writes what is
// read.
func Terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && isTerminal(f)
}
