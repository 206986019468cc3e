package reader

import (
	"html"
	"regexp"
	"strings"

	"github.com/percached/percached/knowledgebank"
)

var (
	mdHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$`)
	mdFence   = regexp.MustCompile("^\\s{0,12}(`{3,}|~{3,})")
	mdItem    = regexp.MustCompile(`^\s*(?:[-*+]|(\d{1,9}[.)]))\s+(.*)$`)
	mdRef     = regexp.MustCompile(`^ {0,3}\[[^\]^]+\]:\s*(?:<[^<>]*>|[^\s@]*(?:[/#]|\.[A-Za-z])[^\s@]*)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$`)
	mdTable   = regexp.MustCompile(`^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	mdQuote   = regexp.MustCompile(`^\s{0,3}(>\s?)+`)

	mdImage    = regexp.MustCompile(`!\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+"[^"]*")?\)`)
	mdLink     = regexp.MustCompile(`\[([^\[\]]+)\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+"[^"]*")?\)|\[[^\[\]]*\])`)
	mdWiki     = regexp.MustCompile(`\[\[(?:[^\[\]|]+\|)?([^\[\]|]+)\]\]`)
	mdNote     = regexp.MustCompile(`\[\^[^\[\]\s]{1,50}\]`)
	mdAuto     = regexp.MustCompile(`<((?:https?|mailto|ftp):[^<>\s]+)>`)
	mdTag      = regexp.MustCompile(`(?i)</?(?:a|b|i|u|em|strong|br|p|div|span|sub|sup|kbd|img|details|summary|center|font|hr|small|del|ins|mark|table|tr|td|th)(?:\s[^<>]*)?/?>`)
	mdStrong   = regexp.MustCompile(`(\*\*\*|\*\*|~~)([^\s*~](?:[^*~]*?[^\s*~])?)(\*\*\*|\*\*|~~)`)
	mdUnder    = regexp.MustCompile(`(^|[^\p{L}\p{N}_])(___|__|_)([^\s_](?:[^_]*?[^\s_])?)(___|__|_)($|[^\p{L}\p{N}_])`)
	mdEmphasis = regexp.MustCompile(`\*([^\s*](?:[^*]*?[^\s*])?)\*`)
	mdCode     = regexp.MustCompile("(`+)([^`]+)(`+)")
	mdEscape   = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
)

// markdown makes text of Markdown: its marks go, its words and its code stay. It
// gives the first heading too.
func markdown(text string) (blocks []knowledgebank.Block, heading string) {
	m := mdReader{}
	if text = clean(text); strings.Contains(text, commentOpens) {
		text = clean(uncommented(text)) // what a comment parted may now be one
	}
	for l := range strings.SplitSeq(text, "\n") {
		m.line(l)
	}
	m.flush()
	m.endCode()
	return m.blocks, m.heading
}

type mdReader struct {
	blocks  []knowledgebank.Block
	heading string
	lines   [][]string // of the paragraph that is open, each with those that go on in it
	glue    bool       // the next line goes on in the last one
	code    []string
	fence   string // of the code that is open
}

func (m *mdReader) add(text string) {
	if strings.TrimSpace(text) != "" {
		m.blocks = append(m.blocks, knowledgebank.Block{Text: text})
	}
}

func (m *mdReader) flush() {
	var lines []string
	for _, parts := range m.lines {
		lines = append(lines, strings.Join(parts, " "))
	}
	m.add(strings.Join(lines, "\n"))
	m.lines, m.glue = nil, false
}

func (m *mdReader) endCode() {
	m.add(strings.Trim(strings.Join(m.code, "\n"), "\n"))
	m.code, m.fence = nil, ""
}

func (m *mdReader) line(l string) {
	t := strings.TrimSpace(l)
	if m.fence != "" {
		if endsFence(l, m.fence) {
			m.endCode()
		} else {
			if n := len(m.code); t != "" || n > 0 && m.code[n-1] != "" {
				m.code = append(m.code, strings.TrimRight(l, " "))
			}
		}
		return
	}
	if f := mdFence.FindStringSubmatch(l); f != nil {
		m.flush()
		m.fence = f[1]
		return
	}
	if mdQuote.MatchString(l) {
		l = l[len(mdQuote.FindString(l)):]
		t = strings.TrimSpace(l)
	}
	if h := mdHeading.FindStringSubmatch(l); h != nil {
		m.flush()
		m.title(h[2])
		return
	}
	switch {
	case t == "", mdRef.MatchString(l):
		m.flush()
	case strings.HasPrefix(t, "[^") && strings.Contains(t, "]: "):
		m.flush()
		_, note, _ := strings.Cut(t, "]: ")
		m.prose(note)
	case len(m.lines) > 0 && (strings.Trim(t, "=") == "" || strings.Trim(t, "-") == "") && len(m.lines) == 1:
		text := strings.Join(m.lines[0], " ")
		m.lines = nil
		m.title(text)
	case rule(t):
		m.flush()
	case mdTable.MatchString(l) && strings.Contains(l, "|"):
	case strings.HasPrefix(t, "|"), strings.Count(t, " | ") > 0 && !m.glue:
		cells := strings.Split(strings.Trim(t, "|"), "|")
		for i, c := range cells {
			cells[i] = inline(strings.TrimSpace(c))
		}
		m.lines, m.glue = append(m.lines, []string{strings.Join(cells, " | ")}), false
	default:
		m.prose(l)
	}
}

// prose takes an item of a list, or a line of a paragraph.
func (m *mdReader) prose(l string) {
	hard := strings.HasSuffix(l, "  ") || strings.HasSuffix(l, `\`)
	l = strings.TrimSuffix(l, `\`)
	if item := mdItem.FindStringSubmatch(l); item != nil {
		mark := "- "
		if item[1] != "" {
			mark = item[1] + " "
		}
		m.lines = append(m.lines, []string{mark + inline(line(item[2]))})
	} else if text, n := inline(line(l)), len(m.lines); m.glue && n > 0 {
		m.lines[n-1] = append(m.lines[n-1], text)
	} else {
		m.lines = append(m.lines, []string{text})
	}
	m.glue = !hard
}

func (m *mdReader) title(text string) {
	text = inline(line(text))
	if m.heading == "" {
		m.heading = text
	}
	m.add(text)
}

// inline takes the marks out of one line. Code is left as it stands.
func inline(l string) string {
	const longest = 64 << 10 // what is longer nobody wrote by hand
	if len(l) > longest || !strings.ContainsAny(l, "*_`[<&\\~!") {
		return l
	}
	var b strings.Builder
	for l != "" {
		at := mdCode.FindStringSubmatchIndex(l)
		if at == nil {
			b.WriteString(unmarked(l))
			break
		}
		b.WriteString(unmarked(l[:at[0]]))
		b.WriteString(strings.TrimSpace(l[at[4]:at[5]]))
		l = l[at[1]:]
	}
	return line(clean(b.String()))
}

func unmarked(s string) string {
	s = mdImage.ReplaceAllString(s, "$1")
	s = mdWiki.ReplaceAllString(s, "$1")
	s = mdLink.ReplaceAllString(s, "$1")
	s = mdNote.ReplaceAllString(s, "")
	s = mdAuto.ReplaceAllString(s, "$1")
	s = mdTag.ReplaceAllStringFunc(s, func(tag string) string {
		switch name := strings.ToLower(strings.Trim(tag, "</> ")); {
		case strings.HasPrefix(name, "br"), strings.HasPrefix(name, "p"), strings.HasPrefix(name, "div"), strings.HasPrefix(name, "t"):
			return " "
		}
		return ""
	})
	// What is escaped must not be taken for a mark.
	s = mdEscape.ReplaceAllStringFunc(s, func(e string) string { return string(rune(0xE000) + rune(e[1])) })
	s = mdStrong.ReplaceAllString(s, "$2")
	s = mdEmphasis.ReplaceAllString(s, "$1")
	s = mdUnder.ReplaceAllString(s, "$1$3$5")
	s = strings.Map(func(r rune) rune {
		if r > 0xE000 && r < 0xE080 {
			return r - 0xE000
		}
		return r
	}, s)
	return html.UnescapeString(s)
}
