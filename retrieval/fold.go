package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold writes text in the one way in which terms are compared: small letters
// without accents, full-width characters as narrow ones, typographic quotes and
// hyphens as those of ASCII, nothing invisible.
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
	// Only accents over Latin, Greek and Cyrillic letters are gone: what else
	// was taken apart (Hangul, the voiced kana) is put together again.
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
