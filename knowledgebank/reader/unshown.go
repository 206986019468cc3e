package reader

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// unshown says that a browser, or a mail program, shows nothing of an element's
// text, or a list of choices.
func (w *webReader) unshown(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Svg:
		return true
	case atom.Noscript:
		return !w.mail && !w.all // mail programs run no scripts
	case atom.Object, atom.Select, atom.Canvas, atom.Audio, atom.Video, atom.Datalist, atom.Iframe, atom.Noframes:
		return !w.all
	}
	return false
}

// closesUnfinished ends a list of choices or a drawing that was not ended: a
// paragraph is never in them, but for one case.
func (w *webReader) closesUnfinished() {
	if w.hidden == 0 || w.count[hash(atom.Select)]+w.count[hash(atom.Svg)] == 0 || w.count[hash(atom.Foreignobject)] > 0 {
		return
	}
	for i, e := range w.open {
		if e.atom == atom.Select || e.atom == atom.Svg {
			w.closeTo(i)
			return
		}
	}
}

// lessThan writes "&lt;" for a "<" that begins no tag: one with words behind it
// and then another "<", and that of "<ana@example.com>" or "<https://...>".
func lessThan(s string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			break
		}
		at += i + 1
		n := strings.IndexAny(s[at:], "<>\"'=")
		if n < 0 {
			break
		}
		if c := s[at] | 0x20; c < 'a' || c > 'z' {
			continue
		}
		inner := s[at : at+n]
		if s[at+n] == '<' && severed(inner) || address(inner) {
			b.WriteString(s[done:at-1] + "&lt;")
			done = at
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// severed says that what stands between two "<" is no tag that lacks its end.
func severed(inner string) bool {
	name, rest, _ := strings.Cut(inner, " ")
	return atom.Lookup([]byte(strings.ToLower(strings.TrimSpace(name)))) == 0 || len(strings.Fields(rest)) > 1
}

// address says that what stands in angles is no tag but an address.
func address(inner string) bool {
	if strings.ContainsAny(inner, " \t\n") {
		return false
	}
	at := strings.IndexByte(inner, '@')
	return at > 0 && strings.IndexByte(inner[at:], '.') > 1 || strings.HasPrefix(inner, "http://") || strings.HasPrefix(inner, "https://")
}
