package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// configWidth is how long comments of the file get, about.
const configWidth = 88

// configHead begins a file that config init writes.
const configHead = `How percached is set. percached serve reads this when it begins.

One key and its value on a line. Each key stands below with its default: take away the
"# " before it, and write what you want. Variables of the environment beat this file
(PERCACHED_MAX_TOKENS for max-tokens), flags beat both.

Sizes are bytes, or have a unit: KiB, MiB, GiB, TiB. Durations are as 500ms, 90s, 1h30m.
An empty value is a value, and zero means zero. A comment begins with # at the beginning
of a line or behind a space. What is "live" can be changed while the daemon runs, too,
with PATCH /v1/config.

percached config check   tells what is wrong with this file
percached config show    tells what holds, and who said it`

// configText is a file with every key as a comment. The one in the data folder
// itself cannot say which folder that is.
func configText(inFolder bool) string {
	var b strings.Builder
	comment := func(text string) { b.WriteString(strings.TrimRight("# "+text, " ") + "\n") }
	for line := range strings.SplitSeq(configHead, "\n") {
		comment(line)
	}
	usual := defaultConfig().now
	for _, g := range keyGroups() {
		fmt.Fprintf(&b, "\n\n# ---- %s ----\n", g.heading)
		for _, k := range g.keys {
			b.WriteString("\n")
			if inFolder && k.name == "data" {
				comment("data: the folder that this file lies in. --data, PERCACHED_DATA, or a file")
				comment("elsewhere that --config names, can say another.")
				continue
			}
			f := k.of(&usual)
			for _, line := range folded(k.words(f.kind), configWidth) {
				comment(line)
			}
			comment(k.name + " = " + f.get())
		}
	}
	return b.String()
}

// words are what a file says of a key: what it is, what it may be.
func (k key) words(kind string) string {
	var notes []string
	if form := writtenAs(kind); form != "" {
		notes = append(notes, form)
	}
	if k.usual != "" {
		notes = append(notes, "by default "+k.usual)
	}
	if k.live {
		notes = append(notes, "live")
	}
	if notes == nil {
		return k.about
	}
	return fmt.Sprintf("%s (%s)", k.about, strings.Join(notes, "; "))
}

// writtenAs says how a value of a kind is written, where what the key is does not.
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
		return "list with commas"
	case "zone":
		return "as Europe/Berlin; Local is this machine's"
	}
	return ""
}

// folded breaks a text into lines between words.
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

// initConfig writes a file with every key as a comment, where there is none yet;
// and the data folder, if the file goes there.
func initConfig(file, data string) error {
	const op = "percached: config init"
	inFolder := sameFile(file, filepath.Join(data, configFile))
	if inFolder {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fault.New(fault.Invalid, op, "%w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fault.New(fault.Conflict, op, "%s is there already, and stays as it is: percached config init - prints what would be written", file)
	case err != nil:
		return fault.New(fault.Invalid, op, "%w", err)
	}
	_, err = f.WriteString(configText(inFolder))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(file) // a part of it is worth nothing, and would be in the way
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// sameFile: two paths mean the same place, as far as their words tell.
func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
