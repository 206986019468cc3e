package cmdline

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Waiting shows that a command is at work, if it takes longer than two seconds: on a terminal
// a line that counts the seconds, elsewhere one line. The func that it returns ends this and
// removes the line. It may be called again.
func Waiting(w io.Writer, what string) (end func()) {
	const quick = 2 * time.Second
	return waiting(w, what, Terminal(w), time.NewTimer(quick).C, time.Tick(time.Second))
}

func waiting(w io.Writer, what string, terminal bool, begin, again <-chan time.Time) (end func()) {
	began, done, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-begin:
		case <-done:
			return
		}
		if !terminal {
			fmt.Fprintf(w, "%s ...\n", what)
			return
		}
		defer fmt.Fprint(w, "\r\033[K")
		for {
			fmt.Fprintf(w, "\r\033[K%s ... %.0f s", what, time.Since(began).Seconds())
			select {
			case <-again:
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-gone
	})
}
