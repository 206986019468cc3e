package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold writes text in the one form in which terms are compared: small letters without
// accents, narrow characters for full-width ones, ASCII quotes and hyphens for
// typographic ones, nothing invisible.
func fold(s string) string {
	ascii, lower := true, true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
		lower = lower && (s[i] < 'A' || s[i] > 'Z')
	}
	switch {
	case ascii && lower:
		return s
	case ascii:
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		foldRune(&b, r)
	}
	// Only accents over Latin, Greek and Cyrillic letters are gone. NFC restores all
	// other decomposed characters (Hangul, the voiced kana).
	return norm.NFC.String(b.String())
}

func foldRune(b *strings.Builder, r rune) {
	switch {
	case r < utf8.RuneSelf:
		b.WriteByte(byte(unicode.ToLower(r)))
		return
	case r >= 0x300 && r <= 0x36f, // accents
		r == 0xad, r == 0xfeff, r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x2064:
		return
	}
	switch r = unicode.ToLower(r); r {
	case '‘', '’', 'ʼ', '′':
		b.WriteByte('\'')
	case '‐', '‑', '–', '−':
		b.WriteByte('-')
	case '⁄':
		b.WriteByte('/')
	case 'ß':
		b.WriteString("ss")
	case 'æ':
		b.WriteString("ae")
	case 'œ':
		b.WriteString("oe")
	case 'ø':
		b.WriteByte('o')
	case 'ł':
		b.WriteByte('l')
	case 'đ', 'ð':
		b.WriteByte('d')
	case 'þ':
		b.WriteString("th")
	case 'ı':
		b.WriteByte('i')
	case 'ς':
		b.WriteRune('σ')
	default:
		b.WriteRune(r)
	}
}

// stem removes the most common endings from an English word: s, es, ies, ed, ing. The
// index holds the stem beside the word itself, so it removes too little rather than too
// much.
func stem(w string) string {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	w = singular(w)
	for _, end := range []string{"ing", "ed"} {
		if base, ok := strings.CutSuffix(w, end); ok && len(base) >= 3 && hasVowel(base) {
			return unended(base)
		}
	}
	return strings.TrimSuffix(w, silentE(w))
}

// singular removes the s of plurals and of the third person.
func singular(w string) string {
	switch n := len(w); {
	case n < 4 || !strings.HasSuffix(w, "s"), strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
		return w[:n-2]
	default:
		return w[:n-1]
	}
}

// unended repairs the word before ing and ed: planned becomes plan, filed becomes file
// without its e.
func unended(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiolsz", rune(w[n-1])) {
		return w[:n-1]
	}
	if strings.HasSuffix(w, "i") { // carried
		return w[:n-1] + "y"
	}
	return w
}

// silentE is the e that ing and ed replaced.
func silentE(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "e") && !strings.HasSuffix(w, "ee") && hasVowel(w[:len(w)-1]) {
		return "e"
	}
	return ""
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }
