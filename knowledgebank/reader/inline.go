package reader

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	mdImage    = regexp.MustCompile(`!\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+"[^"]*")?\)`)
	mdLink     = regexp.MustCompile(`\[([^\[\]]+)\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+"[^"]*")?\)|\[([^\[\]]*)\])`)
	mdWiki     = regexp.MustCompile(`\[\[(?:[^\[\]|]+\|)?([^\[\]|]+)\]\]`)
	mdNote     = regexp.MustCompile(`\[\^[^\[\]\s]{1,50}\]`)
	mdAuto     = regexp.MustCompile(`<((?:https?|mailto|ftp):[^<>\s]+)>`)
	mdTag      = regexp.MustCompile(`(?i)</?(?:a|b|i|u|em|strong|br|p|div|span|sub|sup|kbd|img|details|summary|center|font|hr|small|del|ins|mark|table|tr|td|th)(?:\s[^<>]*)?/?>`)
	mdStrong   = regexp.MustCompile(`(\*\*\*|\*\*|~~)([^\s*~](?:[^*~]*?[^\s*~])?)(\*\*\*|\*\*|~~)`)
	mdUnder    = regexp.MustCompile(`(^|[^\p{L}\p{N}_])(___|__|_)([^\s_](?:[^_]*?[^\s_])?)(___|__|_)($|[^\p{L}\p{N}_])`)
	mdEmphasis = regexp.MustCompile(`\*([^\s*](?:[^*]*?[^\s*])?)\*`)
	mdEscape   = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")

	mdAlt  = regexp.MustCompile(`(?i)\salt\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	mdFlag = regexp.MustCompile(`(?i)^</?[a-z0-9]+(?:\s+(?:open|hidden|border|noshade|nowrap|compact|inert|ismap|clear))*\s*/?>$`)
)

// inline removes the marks from one line. It leaves code unchanged.
func (m *mdReader) inline(l string) string {
	const longest = 64 << 10 // nobody writes longer lines by hand
	if len(l) > longest || !strings.ContainsAny(l, "*_`[<&\\~!") {
		return l
	}
	var b strings.Builder
	for l != "" {
		c, ok := firstCode(l)
		if !ok {
			b.WriteString(m.unmarked(l))
			break
		}
		b.WriteString(m.unmarked(l[:c.begin]))
		b.WriteString(strings.TrimSpace(l[c.from:c.to]))
		l = l[c.end:]
	}
	return squeezeLine(clean(b.String()))
}

func (m *mdReader) unmarked(s string) string {
	s = mdImage.ReplaceAllString(s, "$1")
	s = mdWiki.ReplaceAllString(s, "$1")
	s = mdLink.ReplaceAllStringFunc(s, m.defined.shown)
	s = mdNote.ReplaceAllStringFunc(s, func(note string) string {
		if number(note[2:len(note)-1]) || m.defined[note[1:len(note)-1]] {
			return ""
		}
		return note // "[^aeiou]"
	})
	s = mdAuto.ReplaceAllString(s, "$1")
	s = mdTag.ReplaceAllStringFunc(s, untagged)
	// An escaped character is not a mark.
	s = mdEscape.ReplaceAllStringFunc(s, func(e string) string { return string(rune(0xE000) + rune(e[1])) })
	s = unstarred(s, mdStrong, 2)
	s = unstarred(s, mdEmphasis, 1)
	s = mdUnder.ReplaceAllString(s, "$1$3$5")
	s = strings.Map(func(r rune) rune {
		if r > 0xE000 && r < 0xE080 {
			return r - 0xE000
		}
		return r
	}, s)
	return html.UnescapeString(s)
}

// untagged returns what a tag leaves: nothing, a space, or the words of a picture. It
// returns text that is not a tag unchanged: "a <b and c> d".
func untagged(tag string) string {
	if !strings.Contains(tag, "=") && !mdFlag.MatchString(tag) {
		return tag
	}
	switch name := strings.ToLower(strings.Trim(tag, "</> ")); {
	case strings.HasPrefix(name, "img"):
		if alt := mdAlt.FindStringSubmatch(tag); alt != nil {
			return " " + alt[1] + alt[2] + " "
		}
	case strings.HasPrefix(name, "br"), strings.HasPrefix(name, "p"), strings.HasPrefix(name, "div"), strings.HasPrefix(name, "t"):
		return " "
	}
	return ""
}

// unstarred removes marks except between digits: "2*3*4".
func unstarred(s string, marks *regexp.Regexp, group int) string {
	all := marks.FindAllStringSubmatchIndex(s, -1)
	if all == nil {
		return s
	}
	var b strings.Builder
	last := 0
	for _, m := range all {
		from, to := m[2*group], m[2*group+1]
		b.WriteString(s[last:m[0]])
		last = m[1]
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		first, _ := utf8.DecodeRuneInString(s[from:])
		if s[m[0]] == '*' && unicode.IsDigit(before) && unicode.IsDigit(first) {
			b.WriteString(strings.ReplaceAll(s[m[0]:m[1]], "*", string(rune(0xE000+'*')))) // as if escaped
			continue
		}
		b.WriteString(s[from:to])
	}
	b.WriteString(s[last:])
	return b.String()
}

func number(s string) bool { return strings.Trim(s, "0123456789") == "" }

// codeSpan is the place of code in a line: begin and end include its marks.
type codeSpan struct{ begin, from, to, end int }

// firstCode finds the first code in a line. It ends with as many marks as it began
// with.
func firstCode(l string) (codeSpan, bool) {
	for i := 0; i < len(l); {
		if l[i] != '`' {
			i++
			continue
		}
		n := marks(l[i:])
		if size := codeSize(l[i:]); size > n {
			return codeSpan{i, i + n, i + size - n, i + size}, true
		}
		i += n
	}
	return codeSpan{}, false
}

// codeSize is the length of the code at the start of s. Without an end in its line, it
// is the length of the marks.
func codeSize(s string) int {
	n := marks(s)
	for i := n; i < len(s) && s[i] != '\n'; {
		if s[i] != '`' {
			i++
			continue
		}
		end := marks(s[i:])
		if i += end; end == n {
			return i
		}
	}
	return n
}

// marks counts the marks at the start.
func marks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// beginsFence returns the fence that begins code, and what stands behind it. "```like
// this```" is code in a line.
func beginsFence(l string) (fence, info string) {
	m := mdFence.FindStringSubmatchIndex(l)
	if m == nil {
		return "", ""
	}
	fence, info = l[m[2]:m[3]], strings.TrimSpace(l[m[3]:])
	if fence[0] == '`' && strings.Contains(info, "`") {
		return "", ""
	}
	return fence, info
}

var (
	mdLabel   = regexp.MustCompile(`\[([^\[\]]+)\](:?)`)
	mdAddress = regexp.MustCompile(`^(?:<|#[A-Za-z]|\.{0,2}/|[A-Za-z][A-Za-z0-9+.-]+:|.*\.[A-Za-z])`)
)

// labels are the names that references in Markdown may use: links, and "^1" for notes.
// An uncertain link is false until another place uses its name.
type labels map[string]bool

// definitions finds the labels that a text defines.
func definitions(text string) labels {
	all := labels{}
	doubt := false
	for l := range strings.SplitSeq(text, "\n") {
		t := strings.TrimSpace(l)
		if !strings.HasPrefix(t, "[") {
			continue
		}
		label, rest, ok := strings.Cut(t[1:], "]:")
		switch {
		case !ok:
		case label != "" && label[0] == '^':
			all[label] = true
		case mdRef.MatchString(l):
			name := strings.ToLower(label)
			all[name] = all[name] || mdAddress.MatchString(strings.TrimSpace(rest))
			doubt = doubt || !all[name]
		}
	}
	if doubt {
		for _, m := range mdLabel.FindAllStringSubmatch(text, -1) {
			if _, there := all[strings.ToLower(m[1])]; there && m[2] == "" {
				all[strings.ToLower(m[1])] = true
			}
		}
	}
	return all
}

// link reports whether a line only defines a link. "[Ana]: yes/no" is something that
// somebody said.
func (d labels) link(l string) bool {
	if !mdRef.MatchString(l) {
		return false
	}
	label, _, _ := strings.Cut(strings.TrimSpace(l)[1:], "]:")
	return d[strings.ToLower(label)]
}

// shown returns the words of a link. It leaves text that only looks like one unchanged:
// "[PUMP-12][PUMP-13]".
func (d labels) shown(link string) string {
	m := mdLink.FindStringSubmatch(link)
	if label := strings.ToLower(m[2]); label != "" && label != strings.ToLower(m[1]) && !d[label] {
		return link
	}
	return m[1]
}
