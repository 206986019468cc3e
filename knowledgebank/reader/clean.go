package reader

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/knowledgebank"
)

// clean makes text fit for a document: valid UTF-8, composed, no control
// characters but \n, no characters of no width, every space a plain one. It
// leaves runs of spaces and blank lines alone.
func clean(s string) string {
	if plain(s) {
		return s
	}
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = terminal.ReplaceAllString(s, "")
	}
	s = norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(s))
	before := ' '
	for i, r := range s {
		out := r
		switch {
		case r == '\n':
		case r == '\u2028', r == '\u2029', r == '\u0085':
			out = '\n'
		case r == '\t':
			b.WriteString("   ") // and one more: so wide a gap is seen as one between columns
			out = ' '
		case r == '\f', r == '\v':
			out = '\n'
		case unicode.Is(unicode.Zs, r):
			out = ' '
		case r == '\u200c' || r == '\u200d':
			// Between letters of many scripts they shape the word.
			next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
			if !shaped(before) || !shaped(next) {
				continue
			}
		case unwritten(r):
			continue
		}
		b.WriteRune(out)
		before = out
	}
	// What stood between two characters is gone: they may now be one.
	return norm.NFC.String(b.String())
}

// terminal are the sequences that colour text on a screen.
var terminal = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// plain says that there is nothing to clean.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return true
}

// unwritten are characters that nobody sees.
func unwritten(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u00ad', r == '\u034f', r == '\u061c', r == '\u115f', r == '\u1160', r == '\u3164', r == '\u180e':
		return true
	case r >= '\u200b' && r <= '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f', r == '\ufeff':
		return true
	case r >= '\ufff0' && r <= '\ufffb', r&0xfffe == 0xfffe, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return r >= '\ufe00' && r <= '\ufe0f'
}

// shaped are characters that a joiner or non-joiner may stand between.
func shaped(r rune) bool {
	return r >= 0x600 && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r))
}

// line is one line of cleaned text with its spaces squeezed.
func line(s string) string {
	s = strings.Trim(s, " \t")
	if !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
}

// oneLine is text in one line, no longer than a title may be.
func oneLine(s string) string { return shorten(strings.Join(strings.Fields(clean(s)), " "), 200) }

// shorten cuts at a word if it can.
func shorten(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	cut := 0
	for i := range s {
		if runes--; runes < 0 {
			cut = i
			break
		}
	}
	if at := strings.LastIndexByte(s[:cut], ' '); at > cut/2 {
		cut = at
	}
	return norm.NFC.String(s[:cut]) + "…"
}

// wordless says that a line has neither letter nor digit nor a sign that means
// something by itself.
func wordless(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r) {
			return false
		}
	}
	return true
}

// paragraphs makes blocks of text whose paragraphs are parted by blank lines.
func paragraphs(ctx context.Context, text string) []knowledgebank.Block {
	var out []knowledgebank.Block
	var here []string
	flush := func() {
		if len(here) > 0 {
			out = append(out, knowledgebank.Block{Text: strings.Join(here, "\n")})
			here = here[:0]
		}
	}
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		if n++; ended(ctx, n) {
			break
		}
		if l = line(l); l == "" || rule(l) {
			flush()
		} else {
			here = append(here, l)
		}
	}
	flush()
	return out
}

// rule says that a line is drawn, not written: "-----", "* * *", "=_=_=".
func rule(s string) bool {
	n := 0
	for i := range len(s) {
		switch s[i] {
		case '-', '_', '=', '*', '~', '#', '+', '.', '|', '<', '>', '/', '\\':
			n++
		case ' ':
		default:
			return false
		}
	}
	return n >= 3
}
