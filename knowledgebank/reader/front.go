package reader

import (
	"regexp"
	"strings"
)

// front is what a note says of itself before its text.
type front struct{ title, date string }

// A key is a word, or two as some programs write them.
const frontName = `["']?([\pL\d_][\pL\d_.-]*(?: [\pL\d_.-]+)?)["']?[ \t]*`

var (
	yamlKey = regexp.MustCompile(`^` + frontName + `:(?:\s+(.*))?$`)
	tomlKey = regexp.MustCompile(`^` + frontName + `=(.*)$|^\[+[\w. "'-]+\]+\s*$`) // or the name of a table
	// What may stand below a key: more of its value, a list, the end of brackets.
	frontMore = regexp.MustCompile(`^(?:\s.*|-(?:\s.*)?|[\]}]+\s*)$`)
)

// frontMatter reads the lines between "---" or "+++" at the start. Where they hold
// anything but keys with their values, they are text between drawn lines.
func frontMatter(text string) (front, string) {
	var f front
	text = strings.TrimLeft(text, "\n ")
	fence := text[:min(3, len(text))]
	if fence != "---" && fence != "+++" {
		return f, text
	}
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimSpace(first) != fence {
		return f, text
	}
	pattern := yamlKey
	if fence == "+++" {
		pattern = tomlKey
	}
	whole, keys, blank := rest, false, true
	for n := 0; rest != "" && n < 200; n++ {
		l, more, _ := strings.Cut(rest, "\n")
		t := strings.TrimSpace(l)
		if (t == fence || t == "...") && (keys || blank) {
			return f, more
		}
		key := pattern.FindStringSubmatch(l)
		switch {
		case key != nil:
			keys = true
			f.set(key[1], key[2])
		case t == "", t[0] == '#':
		case !keys || !frontMore.MatchString(l):
			return front{}, whole
		}
		blank = blank && t == ""
		rest = more
	}
	return front{}, whole
}

func (f *front) set(key, value string) {
	value = strings.Trim(value, ` "'`)
	switch strings.ToLower(key) {
	case "title":
		f.title = value
	case "date":
		f.date = value
	}
}
