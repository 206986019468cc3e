package reader

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/office"
)

// kind names a format.
type kind uint8

const (
	unknownKind kind = iota
	textKind
	markdownKind
	htmlKind
	mailKind
	mboxKind
	vttKind
	srtKind
	pdfKind
	linesKind // JSON lines
	jsonKind  // one JSON value over many lines
	gzipKind
	officeKind // of a word processor, a spreadsheet, a presentation; an e-book
	zipKind    // one of those in an archive, or an archive of any files
)

// format is one row of the table of formats: how a file is recognised, and what reads
// it. Exactly one of text, document and stream is set; without any of them the reader
// refuses the file.
type format struct {
	kind  kind
	match func(s *sample) bool
	// text reads a file of text that is one document: it fills in the source, and
	// returns the title that the text gives itself, or "".
	text func(f *file, ctx context.Context, s *knowledgebank.Source, text string) (title string)
	// document reads any other file that is one document.
	document func(f *file, ctx context.Context, data []byte) (*knowledgebank.Source, error)
	// stream reads a file of many documents.
	stream func(f *file, ctx context.Context, in *bufio.Reader) error
}

// formats is the table of all formats. The first row that matches wins, so what only
// one format has comes first, and what any text may have comes last.
func formats() []format {
	return []format{
		{kind: gzipKind, match: func(s *sample) bool { return gzipped(s.head) }},
		{kind: pdfKind, match: (*sample).pdf, document: (*file).pdfFile},
		{kind: zipKind, match: func(s *sample) bool { return bytes.HasPrefix(s.head, []byte("PK\x03\x04")) }, stream: (*file).zip},
		{kind: officeKind, match: func(s *sample) bool { return office.OLE(s.head) || s.rtf() }, document: (*file).officeFile},
		{kind: mboxKind, match: (*sample).mbox, stream: (*file).mbox},
		{kind: mailKind, match: (*sample).mail, document: (*file).mailFile},
		{kind: unknownKind, match: func(s *sample) bool { return !s.readable() }},
		{kind: unknownKind, match: func(s *sample) bool { return s.starts("%!PS") }},
		{kind: vttKind, match: func(s *sample) bool { return strings.HasPrefix(s.text(), "WEBVTT") }, text: (*file).transcript},
		{kind: srtKind, match: func(s *sample) bool { return srtStart.MatchString(s.start()) }, text: (*file).transcript},
		{kind: htmlKind, match: func(s *sample) bool { return htmlStart.MatchString(s.start()) }, text: (*file).html},
		{kind: linesKind, match: func(s *sample) bool { return s.json() == linesKind }, stream: (*file).jsonLines},
		{kind: jsonKind, match: func(s *sample) bool { return s.json() == jsonKind }, stream: (*file).jsonValue},
		{kind: markdownKind, match: (*sample).markdown, text: (*file).markdown},
		{kind: htmlKind, match: (*sample).htmlFragment, text: (*file).html},
		{kind: textKind, match: func(*sample) bool { return true }, text: (*file).plain},
	}
}

// formatOf returns the row of a kind.
func formatOf(k kind) format {
	for _, f := range formats() {
		if f.kind == k {
			return f
		}
	}
	return format{}
}

// sniff finds the format of a file from its name and its first bytes.
func sniff(name string, head []byte) format {
	s := &sample{ending: strings.ToLower(path.Ext(name)), head: head}
	for _, f := range formats() {
		if f.match(s) {
			return f
		}
	}
	return format{}
}

// window is how much of a file is looked at to find its format.
const window = 64 << 10

// sample is what sniff knows of a file.
type sample struct {
	ending  string // of its name, in small letters
	head    []byte // its first bytes
	decoded *string
}

// cut reports whether the file may continue behind the sample.
func (s *sample) cut() bool { return len(s.head) == window }

// text is the sample as text. Of a binary file it is garbage.
func (s *sample) text() string {
	if s.decoded == nil {
		head := s.whole()
		text := decode(head, metaCharset(head))
		s.decoded = &text
	}
	return *s.decoded
}

// whole is the sample without an incomplete character at its end.
func (s *sample) whole() []byte {
	if s.cut() {
		return untorn(s.head)
	}
	return s.head
}

// start is the text from its first word.
func (s *sample) start() string { return strings.TrimLeft(s.text(), " \t\n") }

func (s *sample) starts(with string) bool { return strings.HasPrefix(s.start(), with) }

func (s *sample) readable() bool { return readable(s.whole(), s.text()) }

func (s *sample) pdf() bool {
	at := bytes.Index(s.head[:min(len(s.head), 1024)], []byte("%PDF-"))
	return at == 0 || at > 0 && s.ending == ".pdf"
}

func (s *sample) rtf() bool {
	return bytes.HasPrefix(bytes.TrimLeft(s.head[:min(len(s.head), 64)], "\xef\xbb\xbf \t\r\n"), []byte(`{\rtf`))
}

// mbox and mail also match files that are not readable: mail may carry any bytes.
func (s *sample) mbox() bool { return mboxStart(s.text(), s.ending) }

func (s *sample) mail() bool { return mailStart(s.text(), s.ending) }

func (s *sample) markdown() bool {
	return s.start() != "" && (markdownEnding(s.ending) || frontKeys.MatchString(s.start()))
}

var (
	srtStart  = regexp.MustCompile(`^\s*(\d+\s*\n)?\s*\d{1,3}:\d\d:\d\d[,.]\d{1,3} +--> +\d`)
	frontKeys = regexp.MustCompile(`^---[ \t]*\n(?:[^\n]*\n){0,40}?(title|date|tags|author)[ \t]*:`)
	htmlStart = regexp.MustCompile(`(?i)^(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<(!doctype html|html|head|body)[\s>]`)
	htmlBlock = regexp.MustCompile(`(?i)<(article|section|main|header|footer|nav|aside|figure|blockquote|pre|dl)[\s>]`)
	htmlTag   = regexp.MustCompile(`(?i)</?(p|div|br|h[1-6]|table|tr|td|ul|ol|li|span|a|b|i|em|strong|meta|title|style|font|body|html)(\s[^<>]*)?/?>`)
)

// htmlFragment matches HTML that does not begin as a page does.
func (s *sample) htmlFragment() bool {
	start := s.start()
	return htmlEnding(s.ending) && (htmlTag.MatchString(start) || htmlBlock.MatchString(start)) ||
		strings.HasPrefix(start, "<") && len(htmlTag.FindAllStringIndex(start, 4)) == 4
}

func markdownEnding(e string) bool { return e == ".md" || e == ".markdown" || e == ".mdown" }

func textEnding(e string) bool { return e == ".txt" || e == ".text" || markdownEnding(e) }

func htmlEnding(e string) bool { return e == ".html" || e == ".htm" || e == ".xhtml" }

func gzipped(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

// carriage reports whether lines end in a lone carriage return.
func carriage(head []byte) bool {
	return bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 && !gzipped(head)
}

// untorn cuts off an incomplete character of UTF-8 at the end.
func untorn(head []byte) []byte {
	for i := len(head) - 1; i >= max(0, len(head)-utf8.UTFMax); i-- {
		if utf8.RuneStart(head[i]) {
			if !utf8.FullRune(head[i:]) {
				return head[:i]
			}
			break
		}
	}
	return head
}

// readable reports whether bytes are text: without NUL once decoded, and with few other
// control characters.
func readable(head []byte, text string) bool {
	odd := 0
	for i := range len(text) {
		if c := text[i]; c == 0 {
			return false
		} else if c < 32 && c != '\n' && c != '\t' && c != '\f' && c != '\b' && c != 27 {
			odd++
		}
	}
	switch {
	case utf16Of(head) != nil:
		return (odd+strange(text))*20 <= utf8.RuneCountInString(text)
	case !utf8.Valid(head):
		return (odd+stray(head))*10 <= len(head)
	}
	return odd*50 <= len(text)
}

// strange counts characters that UTF-16 yields for bytes that are not text: any two
// bytes make a character, but nobody writes many of these.
func strange(text string) (n int) {
	for _, r := range text {
		if r == utf8.RuneError || unicode.Is(unicode.Co, r) {
			n++
		}
	}
	return n
}

// stray counts bytes that belong to no character in UTF-8 and to no letter in any
// single-byte charset, as an image or an archive has them.
func stray(head []byte) (n int) {
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 && head[0] >= 0x80 && head[0] < 0xA0 {
			n++
		}
		head = head[size:]
	}
	return n
}

// mboxStart reports whether a text begins with the line that separates mails, and a
// header.
func mboxStart(text, ending string) bool {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return strings.HasPrefix(line, "From ") &&
		(separates([]byte(line), []byte(rest)) || ending == ".mbox" || ending == ".mbx")
}

// mailStart reports whether a text begins with the header of a mail.
func mailStart(text, ending string) bool {
	first := true
	sure, seen, lines := false, 0, 0
	for line := range strings.Lines(strings.TrimLeft(text, "\n")) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || lines > 200 {
			break
		}
		lines++
		if first && (strings.HasPrefix(line, "From ") || strings.HasPrefix(line, ">From ")) || line[0] == ' ' || line[0] == '\t' {
			first = false
			continue
		}
		first = false
		name, _, ok := headerLine(line)
		if !ok {
			if seen == 0 {
				return false // text that begins as text does
			}
			continue
		}
		switch strings.ToLower(name) {
		case "message-id", "received", "return-path", "mime-version", "delivered-to":
			sure = true
			seen++
		case "from", "to", "cc", "subject", "date", "reply-to", "sender", "content-type":
			seen++
		}
	}
	return seen >= 3 || sure && seen >= 2 || ending == ".eml" && seen > 0
}

// json distinguishes JSON lines, one JSON value and neither. A file is JSON lines if
// its first line is an object and the next one seems to be; it is one value if its
// name says so. Text that begins with an object is text.
func (s *sample) json() kind {
	start, ending := s.start(), s.ending
	first, rest, whole := strings.Cut(start, "\n")
	rest = strings.TrimLeft(rest, " \t\n")
	named := ending == ".json" || ending == ".jsonl" || ending == ".ndjson"
	switch {
	case start == "", textEnding(ending), !named && rest != "" && !objectStart(rest):
		return unknownKind
	case start[0] == '{' && json.Valid([]byte(first)):
		return linesKind
	case !whole && s.cut() && objectStart(start):
		return linesKind // a long line
	case named && ending != ".json":
		return linesKind
	case named && (start[0] == '{' || start[0] == '['):
		return jsonKind
	}
	return unknownKind
}

// objectStart reports whether a JSON object seems to begin.
func objectStart(s string) bool {
	s, ok := strings.CutPrefix(s, "{")
	s = strings.TrimLeft(s, " \t")
	return ok && (strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "}"))
}

// crToLF turns carriage returns into line ends.
type crToLF struct{ rd io.Reader }

func (c *crToLF) Read(p []byte) (int, error) {
	n, err := c.rd.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}
