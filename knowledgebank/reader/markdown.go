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

// markdown reads a file of Markdown.
func (f *file) markdown(ctx context.Context, s *knowledgebank.Source, text string) (title string) {
	s.Format = "markdown"
	front, text := frontMatter(text)
	var heading string
	s.Blocks, heading = markdownBlocks(ctx, text)
	s.Date = date(front.date, f.o.Location)
	return or(front.title, heading)
}

// markdownBlocks converts Markdown to text: it drops the marks and keeps words and
// code. It returns the first heading, too.
func markdownBlocks(ctx context.Context, text string) (blocks []knowledgebank.Block, heading string) {
	m := mdReader{}
	if text = clean(text); strings.Contains(text, commentOpens) {
		text = clean(uncommented(text)) // the text on both sides of a comment may now be one line
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
	lines   [][]string // of the open paragraph, each with the lines that continue it
	glue    bool       // the next line continues the last one
	code    []string
	fence   string // of the open code
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
			m.code = append(m.code, info) // not the name of a language: the code begins at once
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
	case isRule(t):
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

// prose adds an item of a list, or a line of a paragraph.
func (m *mdReader) prose(l string) {
	hard := strings.HasSuffix(l, "  ") || strings.HasSuffix(l, `\`)
	l = strings.TrimSuffix(l, `\`)
	if item := mdItem.FindStringSubmatch(l); item != nil {
		mark := "- "
		if item[1] != "" {
			mark = item[1] + " "
		}
		m.lines = append(m.lines, []string{mark + m.inline(squeezeLine(item[2]))})
	} else if text, n := m.inline(squeezeLine(l)), len(m.lines); m.glue && n > 0 {
		m.lines[n-1] = append(m.lines[n-1], text)
	} else {
		m.lines = append(m.lines, []string{text})
	}
	m.glue = !hard
}

func (m *mdReader) title(text string) {
	text = m.inline(squeezeLine(text))
	if m.heading == "" {
		m.heading = text
	}
	m.add(text)
}

// front is what a note says about itself before its text.
type front struct{ title, date string }

// A key is a word, or two as some programs write.
const frontName = `["']?([\pL\d_][\pL\d_.-]*(?: [\pL\d_.-]+)?)["']?[ \t]*`

var (
	yamlKey = regexp.MustCompile(`^` + frontName + `:(?:\s+(.*))?$`)
	tomlKey = regexp.MustCompile(`^` + frontName + `=(.*)$|^\[+[\w. "'-]+\]+\s*$`) // or the name of a table
	// Lines that may stand below a key: more of its value, a list, the end of brackets.
	frontMore = regexp.MustCompile(`^(?:\s.*|-(?:\s.*)?|[\]}]+\s*)$`)
)

// frontMatter reads the lines between "---" or "+++" at the start. If they hold
// anything but keys and values, they are text between drawn lines.
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

const (
	commentOpens  = "<!--"
	commentCloses = "-->"
)

// uncommented removes comments from Markdown. A comment does not begin in code, and one
// without an end is text.
func uncommented(text string) string {
	var b strings.Builder
	last := strings.LastIndex(text, commentCloses)
	fence := "" // of the code that is open
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		l := text[at:end]
		opens, _ := beginsFence(l)
		switch {
		case fence != "":
			if endsFence(l, fence) {
				fence = ""
			}
		case opens != "":
			fence = opens
		default:
			at = uncommentedLine(&b, text, at, last)
			continue
		}
		b.WriteString(l)
		at = end
	}
	return b.String()
}

// uncommentedLine copies one line without the comments that begin in it, and returns
// where the next line begins. No comment ends behind last.
func uncommentedLine(b *strings.Builder, text string, at, last int) int {
	from := at
	for {
		n := strings.IndexAny(text[at:], "`<\n")
		if n < 0 {
			b.WriteString(text[from:])
			return len(text)
		}
		switch at += n; {
		case text[at] == '\n':
			b.WriteString(text[from : at+1])
			return at + 1
		case text[at] == '`':
			at += codeSize(text[at:])
		case strings.HasPrefix(text[at:], commentOpens) && at+2 <= last:
			b.WriteString(text[from:at])
			at += 2 // the shortest of all is "<!-->"
			at += strings.Index(text[at:], commentCloses) + len(commentCloses)
			from = at
		default:
			at++
		}
	}
}

// endsFence reports whether a line ends the code that a fence began.
func endsFence(l, fence string) bool {
	t := strings.TrimSpace(l)
	return strings.HasPrefix(t, fence) && strings.Trim(t, fence[:1]) == ""
}
