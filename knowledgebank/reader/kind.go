package reader

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"strings"
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
	text := decode(head, metaCharset(head))
	if cut && len(text) > 200 {
		text = text[:len(text)-4] // the last character may be torn
	}
	if !readable(head, text) {
		// A mail may carry bytes that are no text, and is still a mail.
		if mailStart(text, ending) {
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
	case htmlEnding(ending) && htmlTag.MatchString(start), start[0] == '<' && len(htmlTag.FindAllStringIndex(start, 4)) == 4:
		return htmlKind
	}
	return textKind
}

func markdownEnding(e string) bool { return e == ".md" || e == ".markdown" || e == ".mdown" }

func htmlEnding(e string) bool { return e == ".html" || e == ".htm" || e == ".xhtml" }

func gzipped(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

// carriage says that lines end in a lone carriage return.
func carriage(head []byte) bool {
	return bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 && !gzipped(head)
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
	// Bytes that no single-byte charset gives to a letter: an image, an archive.
	if !utf8.Valid(head) {
		for _, c := range head {
			if c >= 0x80 && c < 0xA0 {
				odd++
			}
		}
		return odd*10 <= len(head)
	}
	return odd*50 <= len(text)
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

// jsonStart: JSON lines if the first line is an object by itself; one JSON value
// if the name says so.
func jsonStart(start, ending string, cut bool) kind {
	first, _, whole := strings.Cut(start, "\n")
	if start[0] == '{' {
		if json.Valid([]byte(first)) {
			return linesKind
		}
		if !whole && cut && strings.HasPrefix(strings.TrimLeft(start[1:], " "), `"`) {
			return linesKind // a long line
		}
	}
	switch ending {
	case ".jsonl", ".ndjson":
		return linesKind
	case ".json":
		if start[0] == '{' || start[0] == '[' {
			return jsonKind
		}
	}
	return unknownKind
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
