package eval

import (
	"fmt"
	"io"
)

// Data is what a data set holds: a Set for each user.
type Data struct {
	Sets    []Set
	Skipped []Skipped
	// PassedOver counts by name the fields that mean nothing here.
	PassedOver map[string]int
}

// Set is the documents of one user, and the questions about them.
type Set struct {
	User      string // as the data calls them
	Kind      string // what the documents are, as spaces have it
	Ordered   bool   // the questions lean on each other's order, as in a conversation
	Files     []File
	Questions []Question
}

// File is a file that percached is to take in.
type File struct {
	Name string // what it goes by, with slashes; no two of a set have the same
	Size int64
	Open func() (io.ReadCloser, error) // each time from its beginning
}

// Question is one question, and what is known of it.
type Question struct {
	Number      int // what it goes by within its set
	Text        string
	Gold        []string // answers that are right; none: not known
	Paraphrases []string
	Document    string // what the name of the file with the answer ends with; empty: not known
}

// Skipped is something that was not read.
type Skipped struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
	Usual  bool   `json:"usual,omitempty"` // percached add does not look at it either
}

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
