package eval

import (
	"fmt"
	"io"
)

// Data is a data set: a Set for each user.
type Data struct {
	Sets    []Set
	Skipped []Skipped
	// PassedOver counts the fields that are not used, by name.
	PassedOver map[string]int
}

// Set is the documents of one user and the questions about them.
type Set struct {
	User      string // as the data names the user
	Kind      string // of the documents, as spaces have it
	Ordered   bool   // questions are in order of time
	Files     []File
	Questions []Question
}

// File is a file to add to percached.
type File struct {
	Name string // with slashes; unique in the set
	Size int64
	Open func() (io.ReadCloser, error) // each call reads from the start
}

// Question is one question and its right answers.
type Question struct {
	Number      int // unique in the set
	Text        string
	Gold        []string // right answers; empty: unknown
	Paraphrases []string
	Document    string // end of the name of the file with the answer; empty: unknown
}

// Skipped is something that was not read.
type Skipped struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
	Usual  bool   `json:"usual,omitempty"` // percached add skips it too
}

// Skip records that something was not read, and why.
func (d *Data) Skip(where, format string, args ...any) {
	d.Skipped = append(d.Skipped, Skipped{Where: where, Reason: fmt.Sprintf(format, args...)})
}

// Hidden records a skipped file whose name starts with a dot.
func (d *Data) Hidden(where string) {
	d.Skipped = append(d.Skipped, Skipped{Where: where, Reason: "hidden", Usual: true})
}

// Askable is an error if the data of a path has no question to ask. It names the last thing
// that was skipped, which may explain that.
func (d *Data) Askable(path string) error {
	if len(d.Sets) > 0 {
		return nil
	}
	err := fmt.Errorf("%s holds no question to ask", path)
	if last := d.LastSkipped(); last != "" {
		err = fmt.Errorf("%w; %s", err, last)
	}
	return err
}

// LastSkipped describes the last thing that was skipped. It may explain why nothing was
// found. It is empty if nothing was skipped.
func (d *Data) LastSkipped() string {
	if len(d.Skipped) == 0 {
		return ""
	}
	last := d.Skipped[len(d.Skipped)-1]
	return fmt.Sprintf("skipped items: %d, the last is %s: %s", len(d.Skipped), last.Where, last.Reason)
}
