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

// clean makes text fit for a document: valid UTF-8, composed, without control
// characters except
//
//	and without characters of no width. Every space becomes a plain one. Runs of spaces
//
// and blank lines stay.
func clean(s string) string {
	if isClean(s) {
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
			b.WriteString("   ") // and one more: unwrap takes such a gap for one between columns
			out = ' '
		case r == '\f', r == '\v':
			out = '\n'
		case unicode.Is(unicode.Zs, r):
			out = ' '
		case r == '\u200c' || r == '\u200d':
			// Between letters of many scripts these characters shape the word.
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
	// The characters on both sides of a removed one may now compose.
	return norm.NFC.String(b.String())
}

// terminal matches the sequences that colour text on a screen.
var terminal = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// isClean reports whether there is nothing to clean.
func isClean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return true
}

// unwritten reports whether nobody can see a character.
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

// shaped reports whether a joiner or non-joiner may stand beside a character.
func shaped(r rune) bool {
	return r >= 0x600 && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r))
}

// squeezeLine squeezes the spaces in a squeezeLine of cleaned text.
func squeezeLine(s string) string {
	s = strings.Trim(s, " \t")
	if !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
}

// oneLine puts text into one line, no longer than a title may be.
func oneLine(s string) string { return shorten(strings.Join(strings.Fields(clean(s)), " "), 200) }

// shorten cuts a text, between words if it can.
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

// wordless reports whether a line has no letter, no digit and no sign with a meaning of
// its own.
func wordless(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r) {
			return false
		}
	}
	return true
}

// paragraphs makes blocks of text whose paragraphs are separated by blank lines.
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
		if l = squeezeLine(l); l == "" || isRule(l) {
			flush()
		} else {
			here = append(here, l)
		}
	}
	flush()
	return out
}

// isRule reports whether a line is drawn, not written: "-----", "* * *", "=_=_=".
func isRule(s string) bool {
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

var (
	listItem = regexp.MustCompile(`^\s*([-*•·+o▪►>]\s|[-*•·]\S|\(?\d{1,3}[.)](\s|$)|\(?[a-zA-Z][.)]\s|\(?[ivxIVX]{1,4}[.)]\s|#\d|\[[ xX\d]{1,3}\])`)
	labelled = regexp.MustCompile(`^\s*\p{Lu}[\p{L} /&()-]{0,24}:(\s|$)`)
	columns  = regexp.MustCompile(`\S( {3,}|\t)\S`)
)

// unwrap joins lines that a mail program broke at a fixed width. It leaves other lines
// alone: lists, tables, addresses, verse.
func unwrap(ctx context.Context, lines []string) string {
	width := wrapWidth(lines)
	var b strings.Builder
	for i, l := range lines {
		if ended(ctx, i) {
			break
		}
		if i > 0 {
			b.WriteString(joint(lines, i-1, width))
		}
		b.WriteString(strings.TrimSpace(l))
	}
	return b.String()
}

// joint returns what separates a line from the next: nothing or a space if the line was
// broken only for its length, else a line end.
func joint(lines []string, i, width int) string {
	l, next := strings.TrimRight(lines[i], " "), lines[i+1]
	if !joinable(l, next) {
		return "\n"
	}
	n := columnsOf(l)
	full := n <= width+4 && n > width-25 && n+1+columnsOf(firstWord(next)) > width
	switch {
	case n < 45:
		return "\n"
	case goesOn(l, next):
	case !full, labelled.MatchString(next), closing(lines, i):
		return "\n"
	}
	last, _ := utf8.DecodeLastRuneInString(l)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, " "))
	if ideograph(last) && ideograph(first) {
		return ""
	}
	if last == '-' && unicode.IsLetter(first) && len(l) > 1 && l[len(l)-2] != ' ' && l[len(l)-2] != '-' {
		return ""
	}
	return " "
}

// joinable rules out lines that never form one paragraph.
func joinable(l, next string) bool {
	trimmed := strings.TrimSpace(next)
	if strings.TrimSpace(l) == "" || trimmed == "" || strings.HasSuffix(l, ":") {
		return false
	}
	if !strings.Contains(strings.TrimSpace(l), " ") && l[0] < utf8.RuneSelf {
		return false // a link alone on its line
	}
	return !wordless(trimmed) && !wordless(l) && !listItem.MatchString(next) && !table(l) && !table(next)
}

// table reports whether a line is set in columns.
func table(l string) bool {
	l = strings.TrimSpace(l)
	return strings.Contains(l, "   ") && columns.MatchString(l) || strings.Contains(l, "\t") || strings.Count(l, "|") > 1
}

// goesOn reports whether a sentence plainly continues in the next line.
func goesOn(l, next string) bool {
	next = strings.TrimLeft(next, " \"'(“‘«")
	first, _ := utf8.DecodeRuneInString(next)
	last, _ := utf8.DecodeLastRuneInString(l)
	if strings.ContainsRune("。！？؟।", last) {
		return false
	}
	if unicode.IsLetter(first) && !unicode.IsUpper(first) && !unicode.IsTitle(first) {
		return true
	}
	return last == ',' || unfinished(l)
}

// unfinished reports whether a line ends in a word that never ends a sentence.
func unfinished(l string) bool {
	switch l[strings.LastIndexByte(l, ' ')+1:] {
	case "a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "by", "for", "from", "with", "our", "your", "their", "my", "his",
		"as", "than", "that", "which", "der", "die", "das", "und", "oder", "von", "mit", "für", "den", "dem", "ein", "eine",
		"le", "la", "les", "des", "du", "et", "ou", "de", "un", "une", "avec", "pour", "el", "los", "las", "y", "con", "para":
		return true
	}
	return false
}

// closing reports whether the next line is a name or a greeting below the last
// sentence.
func closing(lines []string, i int) bool {
	if i+2 < len(lines) && strings.TrimSpace(lines[i+2]) != "" {
		return false
	}
	l, next := strings.TrimSpace(lines[i]), strings.TrimSpace(lines[i+1])
	return strings.ContainsAny(l[len(l)-1:], ".!?)") && !strings.ContainsAny(next[len(next)-1:], ".!?") && len(strings.Fields(next)) <= 3
}

// wrapWidth is the width at which lines were broken: the longest line whose sentence
// continues in the next one. It is 0 if there is none.
func wrapWidth(lines []string) int {
	short, long := 0, 0
	for i := 0; i+1 < len(lines); i++ {
		l := strings.TrimRight(lines[i], " ")
		n := columnsOf(l)
		if n < 55 || n > 132 || !goesOn(l, lines[i+1]) || !joinable(l, lines[i+1]) {
			continue
		}
		if n <= 82 {
			short = max(short, n)
		} else {
			long = max(long, n)
		}
	}
	if short > 0 {
		return short
	}
	return long
}

// columnsOf is how wide a line looks: ideographs take two columns.
func columnsOf(s string) int {
	n := 0
	for _, r := range s {
		n++
		if ideograph(r) {
			n++
		}
	}
	return n
}

func firstWord(s string) string {
	s = strings.TrimLeft(s, " ")
	if r, n := utf8.DecodeRuneInString(s); ideograph(r) {
		return s[:n]
	}
	word, _, _ := strings.Cut(s, " ")
	return word
}

func ideograph(r rune) bool {
	return r >= 0x2e80 && (r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}
