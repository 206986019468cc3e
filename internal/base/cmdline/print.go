package cmdline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Printer writes text to a terminal until a write fails.
type Printer struct {
	W   io.Writer
	Err error
}

// Text writes a text without control characters.
func (p *Printer) Text(s string) {
	if p.Err == nil {
		_, p.Err = io.WriteString(p.W, Plain(s))
	}
}

// overrides says whether r changes the direction of the text after it.
func overrides(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// Plain removes control characters and direction overrides from a text. A document or a file
// name may contain them to manipulate the terminal.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || overrides(r) {
			return -1
		}
		return r
	}, s)
}

// Line writes a formatted line.
func (p *Printer) Line(format string, args ...any) { p.Text(fmt.Sprintf(format+"\n", args...)) }

// Report is a result that can be printed as a table.
type Report interface{ Table(w io.Writer) error }

// Show prints a report as JSON or as a table.
func Show(w io.Writer, asJSON bool, r Report) error {
	if asJSON {
		return WriteJSON(w, r)
	}
	return r.Table(w)
}

// WriteJSON prints a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Say prints one line of status.
func Say(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// Units returns the units of sizes, each 1024 times the one before.
func Units() []string { return []string{"", "KiB", "MiB", "GiB", "TiB"} }

// ParseSize parses a number of bytes with an optional unit.
func ParseSize(s string) (int64, error) {
	number, shift := s, 0
	for u, unit := range Units() {
		if n, ok := strings.CutSuffix(s, unit); ok && u > 0 {
			number, shift = strings.TrimRight(n, " "), 10*u
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (v > math.MaxInt64>>shift || v < math.MinInt64>>shift):
		return 0, errors.New("the value is too large")
	case err != nil:
		return 0, errors.New("the value is not a size such as 1048576 or 512MiB")
	}
	return v << shift, nil
}

// Size formats a number of bytes.
func Size(n int64) string {
	units := Units()
	units[0] = "B"
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// Progress returns a func that shows progress from 0 to 1: a bar on a terminal, otherwise a
// line for each 10 %. It shows nothing in the first second. At 1 it removes the bar.
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

// Terminal says whether w is an interactive terminal.
func Terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && isTerminal(f)
}
