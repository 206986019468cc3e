package eval

import "fmt"

// Skip notes that something was not read, and why.
func (d *Data) Skip(where, format string, args ...any) {
	d.Skipped = append(d.Skipped, Skipped{Where: where, Reason: fmt.Sprintf(format, args...)})
}

// Hidden notes that something was passed over whose name begins with a dot.
func (d *Data) Hidden(where string) {
	d.Skipped = append(d.Skipped, Skipped{Where: where, Reason: "hidden", Usual: true})
}

// LastSkipped tells the last thing that was skipped, where that may be why nothing was
// found; empty if nothing was.
func (d *Data) LastSkipped() string {
	if len(d.Skipped) == 0 {
		return ""
	}
	last := d.Skipped[len(d.Skipped)-1]
	return fmt.Sprintf("of %d things skipped, the last is %s: %s", len(d.Skipped), last.Where, last.Reason)
}
