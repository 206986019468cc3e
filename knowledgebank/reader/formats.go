package reader

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// window is how much of a file is looked at to tell its kind.
const window = 64 << 10

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
	linesKind
	jsonKind // one JSON value over many lines
	gzipKind
)

var (
	srtStart  = regexp.MustCompile(`^\s*(\d+\s*\n)?\s*\d{1,3}:\d\d:\d\d[,.]\d{1,3} +--> +\d`)
	frontKeys = regexp.MustCompile(`^---[ \t]*\n(?:[^\n]*\n){0,40}?(title|date|tags|author)[ \t]*:`)
	htmlStart = regexp.MustCompile(`(?i)^(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<(!doctype html|html|head|body)[\s>]`)
	htmlBlock = regexp.MustCompile(`(?i)<(article|section|main|header|footer|nav|aside|figure|blockquote|pre|dl)[\s>]`)
	htmlTag   = regexp.MustCompile(`(?i)</?(p|div|br|h[1-6]|table|tr|td|ul|ol|li|span|a|b|i|em|strong|meta|title|style|font|body|html)(\s[^<>]*)?/?>`)
)

// sniff tells the kind of a file from its name and its first bytes.
func sniff(name string, head []byte) kind {
	if gzipped(head) {
		return gzipKind
	}
	ending := strings.ToLower(path.Ext(name))
	if at := bytes.Index(head[:min(len(head), 1024)], []byte("%PDF-")); at == 0 || at > 0 && ending == ".pdf" {
		return pdfKind
	}
	cut := len(head) == window
	if cut {
		head = untorn(head)
	}
	text := decode(head, metaCharset(head))
	if !readable(head, text) {
		// Mail may carry bytes that are no text, and is still mail.
		switch {
		case mboxStart(text, ending):
			return mboxKind
		case mailStart(text, ending):
			return mailKind
		}
		return unknownKind
	}
	start := strings.TrimLeft(text, " \t\n")
	switch {
	case start == "":
		return textKind // of which nothing will be left
	case strings.HasPrefix(start, `{\rtf`), strings.HasPrefix(start, "%!PS"):
		return unknownKind
	case strings.HasPrefix(text, "WEBVTT"):
		return vttKind
	case mboxStart(text, ending):
		return mboxKind
	case mailStart(text, ending):
		return mailKind
	case srtStart.MatchString(start):
		return srtKind
	case htmlStart.MatchString(start):
		return htmlKind
	}
	if k := jsonStart(start, ending, cut); k != unknownKind {
		return k
	}
	switch {
	case markdownEnding(ending), frontKeys.MatchString(start):
		return markdownKind
	case htmlEnding(ending) && (htmlTag.MatchString(start) || htmlBlock.MatchString(start)), start[0] == '<' && len(htmlTag.FindAllStringIndex(start, 4)) == 4:
		return htmlKind
	}
	return textKind
}

func markdownEnding(e string) bool { return e == ".md" || e == ".markdown" || e == ".mdown" }

func textEnding(e string) bool { return e == ".txt" || e == ".text" || markdownEnding(e) }

func htmlEnding(e string) bool { return e == ".html" || e == ".htm" || e == ".xhtml" }

func gzipped(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

// carriage says that lines end in a lone carriage return.
func carriage(head []byte) bool {
	return bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 && !gzipped(head)
}

// untorn leaves out a character of UTF-8 at the end that is not all there.
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

// readable says whether bytes are text: no NUL once decoded, and few other
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
	case wide(head) != nil:
		return (odd+strange(text))*20 <= utf8.RuneCountInString(text)
	case !utf8.Valid(head):
		return (odd+stray(head))*10 <= len(head)
	}
	return odd*50 <= len(text)
}

// strange counts what UTF-16 gives for bytes that are no text: any two make a
// character, but many of those nobody writes.
func strange(text string) (n int) {
	for _, r := range text {
		if r == utf8.RuneError || unicode.Is(unicode.Co, r) {
			n++
		}
	}
	return n
}

// stray counts bytes that are of no character in UTF-8, and that no single-byte
// charset gives to a letter: those of an image, an archive.
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

// mboxStart: the line that separates mails, then a header.
func mboxStart(text, ending string) bool {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return strings.HasPrefix(line, "From ") &&
		(separates([]byte(line), []byte(rest)) || ending == ".mbox" || ending == ".mbx")
}

// mailStart: lines that only the header of a mail has.
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
				return false // text that begins as text
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

// jsonStart: JSON lines if the first line is an object by itself, and the next as
// it seems; one JSON value if the name says so. Text that begins with an object is
// text.
func jsonStart(start, ending string, cut bool) kind {
	first, rest, whole := strings.Cut(start, "\n")
	rest = strings.TrimLeft(rest, " \t\n")
	named := ending == ".json" || ending == ".jsonl" || ending == ".ndjson"
	switch {
	case textEnding(ending), !named && rest != "" && !objectStart(rest):
		return unknownKind
	case start[0] == '{' && json.Valid([]byte(first)):
		return linesKind
	case !whole && cut && objectStart(start):
		return linesKind // a long line
	case named && ending != ".json":
		return linesKind
	case named && (start[0] == '{' || start[0] == '['):
		return jsonKind
	}
	return unknownKind
}

// objectStart says that a JSON object seems to begin.
func objectStart(s string) bool {
	s, ok := strings.CutPrefix(s, "{")
	s = strings.TrimLeft(s, " \t")
	return ok && (strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "}"))
}

// crToLF makes lines of a text whose lines end in a carriage return.
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
