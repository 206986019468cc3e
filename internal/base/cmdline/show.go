package cmdline

import (
	"encoding/json"
	"fmt"
	"io"
)

// Report is a result that can be printed as a table for a person.
type Report interface{ Table(w io.Writer) error }

// Show prints a report: as JSON for programs, or as a table.
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

// Say prints a line that tells a person how far a command is.
func Say(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
