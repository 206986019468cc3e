package lint

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

const maxLines = 400

// length: a source file has at most maxLines lines.
func length(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Go == nil && !native(f.Path) || f.Generated() {
			continue
		}
		if n := bytes.Count(f.Data, []byte("\n")); n > maxLines {
			report(f.Path, 0, "the file has %d lines, the maximum is %d", n, maxLines)
		}
	}
}

// names: no vague names such as util.
func names(t *Tree, report Report) {
	vague := func(name string) bool {
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-.", r) }) {
			switch word {
			case "util", "utils", "common", "helper", "helpers", "manager", "managers":
				return true
			}
		}
		return false
	}
	for _, f := range t.Files {
		for _, part := range strings.Split(f.Path, "/") {
			if vague(part) {
				report(f.Path, 0, "the name %s does not say what it contains", part)
			}
		}
		if f.Go != nil && vague(f.Go.Name.Name) {
			report(f.Path, t.line(f.Go.Name), "the package name %s does not say what it contains", f.Go.Name.Name)
		}
	}
}

// packageDoc: every package has a doc.go that says its purpose.
func packageDoc(t *Tree, report Report) {
	const minWords = 15
	seen := map[string]bool{}
	t.code(func(f *File) {
		dir := f.Folder()
		if seen[dir] {
			return
		}
		seen[dir] = true
		doc := t.file(path.Join(dir, "doc.go"))
		if doc == nil || doc.Go == nil {
			report(dir, 0, "the package has no doc.go")
			return
		}
		start := "Package " + doc.Go.Name.Name + " "
		if doc.Go.Name.Name == "main" {
			start = "Command " + path.Base(dir) + " "
		}
		text := doc.Go.Doc.Text()
		if !strings.HasPrefix(text, start) {
			report(doc.Path, 1, "the package comment does not start with %q", start)
		} else if n := len(strings.Fields(text)); n < minWords {
			report(doc.Path, 1, "the package comment is too short: %d words", n)
		}
	})
}

// machinePath: no file contains a path of a developer's machine.
func machinePath(t *Tree, report Report) {
	// A path does not follow a word, dot or tilde, so "https://host/work/" contains none.
	home := regexp.MustCompile(`(^|[^\w.~-])/(root|home|work|Users)/`)
	for _, f := range t.Files {
		n := 0
		for line := range bytes.Lines(f.Data) {
			n++
			if m := home.Find(line); m != nil {
				report(f.Path, n, "the line contains a path of one machine: %s", bytes.TrimSpace(line))
			}
		}
	}
}

// makeTargets: CONTRIBUTING.md mentions each documented target of the Makefile, as `make
// target`.
func makeTargets(t *Tree, report Report) {
	mk, told := t.file("Makefile"), t.file("CONTRIBUTING.md")
	if mk == nil || told == nil {
		report(".", 0, "Makefile or CONTRIBUTING.md is missing")
		return
	}
	target := regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):.*## `)
	for _, m := range target.FindAllSubmatch(mk.Data, -1) {
		if call := "`make " + string(m[1]) + "`"; !bytes.Contains(told.Data, []byte(call)) {
			report("CONTRIBUTING.md", 0, "%s is not mentioned", call)
		}
	}
}
