package cmdline

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Printer writes lines for a person until a write fails.
type Printer struct {
	W   io.Writer
	Err error
}

// Text writes a text, without what a terminal would obey.
func (p *Printer) Text(s string) {
	if p.Err == nil {
		_, p.Err = io.WriteString(p.W, Plain(s))
	}
}

// overrides: r turns letters round from here on, whatever they are.
func overrides(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// Plain takes out of a text what is no text but moves the cursor, turns the order
// of letters round or does worse: an app, a file's name or a document may bring it.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || overrides(r) {
			return -1
		}
		return r
	}, s)
}

// Line writes a line.
func (p *Printer) Line(format string, args ...any) { p.Text(fmt.Sprintf(format+"\n", args...)) }
