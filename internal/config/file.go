package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// fileWidth is the maximum width of comments in the file.
const fileWidth = 88

const fileHead = `Configuration of percached. percached serve reads this file when it starts.

Each key is a comment that shows its default. To set a key, remove the "# " before it
and change the value. Environment variables (PERCACHED_MAX_TOKENS for max-tokens)
override this file; flags override both.

Sizes are bytes, or have a unit: KiB, MiB, GiB, TiB. Durations look like 500ms, 90s or
1h30m. A comment begins with # at the beginning of a line or after a space. Keys marked
"live" can also change while the daemon runs: PATCH /v1/config.

percached config check   checks this file
percached config show    shows each value and where it was set`

// FileText is a configuration file with every key as a comment. The file in the data
// folder does not set the data folder.
func FileText(inFolder bool) string {
	var b strings.Builder
	comment := func(text string) { b.WriteString(strings.TrimRight("# "+text, " ") + "\n") }
	for line := range strings.SplitSeq(fileHead, "\n") {
		comment(line)
	}
	usual := DaemonDefault()
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n\n# ---- %s ----\n", g.Heading)
		for _, k := range g.Keys {
			b.WriteString("\n")
			if inFolder && k.Name == "data" {
				comment("data: the folder of this file. Use --data, PERCACHED_DATA or --config with a")
				comment("file elsewhere to name another folder.")
				continue
			}
			f := k.Of(&usual)
			for _, line := range folded(k.words(f.Kind), fileWidth) {
				comment(line)
			}
			comment(k.Name + " = " + f.Get())
		}
	}
	return b.String()
}

// words describe a key and its values.
func (k Key) words(kind string) string {
	var notes []string
	if form := writtenAs(kind); form != "" {
		notes = append(notes, form)
	}
	if k.Usual != "" {
		notes = append(notes, "default: "+k.Usual)
	}
	if k.Live {
		notes = append(notes, "live")
	}
	if notes == nil {
		return k.About
	}
	return fmt.Sprintf("%s (%s)", k.About, strings.Join(notes, "; "))
}

// writtenAs is how values of a kind are written.
func writtenAs(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "int":
		return "whole number"
	case "float64":
		return "number"
	case "size":
		return "size"
	case "duration":
		return "duration"
	case "list":
		return "separated by commas"
	}
	return ""
}

// folded breaks a text into lines.
func folded(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// WriteFile writes a new configuration file with every key as a comment. It makes the
// data folder if the file is to lie there.
func WriteFile(file, data string) error {
	const op = "percached: config init"
	inFolder := SameFile(file, filepath.Join(data, FileName))
	if inFolder {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fault.New(fault.Invalid, op, "%w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fault.New(fault.Conflict, op, "%s exists; percached config init - prints a new one", file)
	case err != nil:
		return fault.New(fault.Invalid, op, "%w", err)
	}
	_, err = f.WriteString(FileText(inFolder))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(file) // a partial file would be in the way
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// SameFile says that two paths name the same file, links aside.
func SameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
