package reader

import (
	"context"
	"regexp"
	"strings"

	"github.com/percached/percached/knowledgebank"
)

var (
	mdHeading  = regexp.MustCompile(`^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$`)
	mdFence    = regexp.MustCompile("^\\s{0,12}(`{3,}|~{3,})")
	mdItem     = regexp.MustCompile(`^\s*(?:[-*+]|(\d{1,9}[.)]))\s+(.*)$`)
	mdRef      = regexp.MustCompile(`^ {0,3}\[[^\]^]+\]:\s*(?:<[^<>]*>|[^\s@]*(?:[/#]|\.[A-Za-z])[^\s@]*)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$`)
	mdNoteText = regexp.MustCompile(`^\[\^[^\[\]]{1,50}\]: `)
	mdTable    = regexp.MustCompile(`^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	mdQuote    = regexp.MustCompile(`^\s{0,3}(>\s?)+`)
)

// markdown makes text of Markdown: its marks go, its words and its code stay. It
// gives the first heading too.
func markdown(ctx context.Context, text string) (blocks []knowledgebank.Block, heading string) {
	m := mdReader{}
	if text = clean(text); strings.Contains(text, commentOpens) {
		text = clean(uncommented(text)) // what a comment parted may now be one
	}
	m.defined = definitions(text)
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		if n++; ended(ctx, n) {
			break
		}
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
	defined labels
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
	if fence, info := beginsFence(l); fence != "" {
		m.flush()
		m.fence = fence
		if len(strings.Fields(info)) >= 3 && !strings.ContainsAny(info, "={") {
			m.code = append(m.code, info) // no name of a language: code that begins at once
		}
		return
	}
	if q := mdQuote.FindString(l); q != "" && !(strings.HasSuffix(q, ">") && strings.HasPrefix(l[len(q):], "= ")) { // ">= 5" is no quote
		l = l[len(q):]
		t = strings.TrimSpace(l)
	}
	if h := mdHeading.FindStringSubmatch(l); h != nil {
		m.flush()
		m.title(h[2])
		return
	}
	switch {
	case t == "", m.defined.link(l):
		m.flush()
	case mdNoteText.MatchString(t):
		m.flush()
		m.prose(mdNoteText.ReplaceAllString(t, ""))
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
			cells[i] = m.inline(strings.TrimSpace(c))
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
		m.lines = append(m.lines, []string{mark + m.inline(line(item[2]))})
	} else if text, n := m.inline(line(l)), len(m.lines); m.glue && n > 0 {
		m.lines[n-1] = append(m.lines[n-1], text)
	} else {
		m.lines = append(m.lines, []string{text})
	}
	m.glue = !hard
}

func (m *mdReader) title(text string) {
	text = m.inline(line(text))
	if m.heading == "" {
		m.heading = text
	}
	m.add(text)
}
