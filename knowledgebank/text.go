package knowledgebank

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached"
)

const (
	// maxLine is the longest title or source, in characters.
	maxLine = 120
	// standInWords is how many words of the text replace a missing title.
	standInWords = 8
)

// line makes one clean line that is not too long.
func line(s string) string { return bounded(squeeze(clean(s)), maxLine) }

// squeeze puts single spaces between words.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// bounded cuts a text between two characters, at a word if one ends nearby.
func bounded(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	end, n, word := 0, 0, 0
	for i, r := range s {
		if n == most {
			end = i
			break
		}
		if r == ' ' && n > most*2/3 {
			word = i
		}
		n++
	}
	if word > 0 {
		end = word
	}
	return strings.TrimSpace(s[:end])
}

// clean makes text safe to show in one piece: valid UTF-8, without control or invisible
// characters except line ends.
func clean(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case r == '\r' || r == utf8.RuneError:
			return ' '
		case r == '\u200c' || r == '\u200d': // they shape the letters of some scripts, and emoji
			return r
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(s, " "), "\r\n", "\n"))
}

// hasWords reports whether a text has a letter, a digit or a symbol like an emoji.
func hasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r)
	})
}

// title is a source's title, or a replacement for a missing one.
func title(s *Source) string {
	if t := line(s.Title); hasWords(t) {
		return t
	}
	if s.Format == "mail" { // a mailbox's file name says nothing about a mail
		return "No subject"
	}
	if s.Path != "" {
		if t := line(path.Base(strings.ReplaceAll(s.Path, `\`, "/"))); hasWords(t) {
			return t
		}
	}
	for _, b := range s.Blocks {
		words := strings.Fields(clean(b.Text))
		if t := line(strings.Join(words[:min(standInWords, len(words))], " ")); hasWords(t) {
			return t
		}
	}
	return "Untitled"
}

// about is what chunks name as their source.
func about(s *Source) string {
	if a := line(s.Source); a != "" {
		return a
	}
	switch s.Format {
	case "mail":
		return "mail"
	case "transcript":
		return "meeting"
	}
	return "note"
}

// head is the first line of a chunk. place is the part of the document, and the minute of a
// transcript; it may be empty.
func head(d *percached.Document, place string) string {
	var parts []string
	for _, p := range []string{d.Source, place, date(d)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "### " + d.Title
	}
	return "### " + d.Title + " (" + strings.Join(parts, ", ") + ")"
}

func date(d *percached.Document) string {
	if d.Date.IsZero() {
		return ""
	}
	return d.Date.Format("Mon 2 January 2006")
}

// minute says in words where in a recording "00:12:31" is. It is empty for other text.
func minute(at string) string {
	parts := strings.Split(strings.TrimSpace(at), ":")
	if len(parts) < 2 || len(parts) > 3 {
		return ""
	}
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	h, err1 := strconv.ParseUint(parts[0], 10, 16)
	m, err2 := strconv.ParseUint(parts[1], 10, 16)
	if err1 != nil || err2 != nil {
		return ""
	}
	return "minute " + strconv.FormatUint(h*60+m, 10)
}
