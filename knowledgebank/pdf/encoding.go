package pdf

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// The parts of encodings that are not ASCII or Latin-1. "\x00" is no character.
const (
	// Adobe's standard encoding from 0xA1.
	standardHigh = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\x00–†‡·\x00¶•‚„”»…‰\x00¿\x00`´ˆ˜¯˘˙¨\x00˚¸\x00˝˛ˇ" +
		"—\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00Æ\x00ª\x00\x00\x00\x00ŁØŒº" +
		"\x00\x00\x00\x00\x00æ\x00\x00\x00ı\x00\x00łøœß"
	// PDF's encoding of document information, from 0x18 and from 0x80.
	docLow  = "˘ˇˆ˙˝˛˚˜"
	docHigh = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\x00€"
	// The Symbol font from 0x20 and from 0xA0.
	symbolLow = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_" +
		"‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓" +
		"◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\x00〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)

// baseEncoding gives the characters of a named encoding; Adobe's standard one
// for other names.
func baseEncoding(n name) [256]rune {
	switch n {
	case "WinAnsiEncoding":
		table := runes(charmap.Windows1252)
		for _, hole := range []int{0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d} {
			table[hole] = '•'
		}
		return table
	case "MacRomanEncoding":
		return runes(charmap.Macintosh)
	}
	return standardEncoding()
}

func standardEncoding() (table [256]rune) {
	ascii(&table)
	table['\''], table['`'] = '’', '‘'
	place(&table, 0xa1, standardHigh)
	return table
}

func symbolEncoding() (table [256]rune) {
	place(&table, 0x20, symbolLow)
	place(&table, 0xa0, symbolHigh)
	return table
}

// dingbatEncoding is that of ZapfDingbats; Unicode took its signs over nearly
// in their order.
func dingbatEncoding() (table [256]rune) {
	table[' '] = ' '
	for i := 0x21; i <= 0x7e; i++ {
		table[i] = rune(0x2701 + i - 0x21)
	}
	for i := 0xa1; i <= 0xfe; i++ {
		table[i] = rune(0x2761 + i - 0xa1)
	}
	place(&table, 0x6c, "●❍■❏")
	table[0x25], table[0x2a], table[0x2b], table[0x48] = '☎', '☛', '☞', '★'
	return table
}

func ascii(table *[256]rune) {
	for i := 0x20; i < 0x7f; i++ {
		table[i] = rune(i)
	}
}

func place(table *[256]rune, at int, s string) {
	for _, r := range s {
		table[at] = r
		at++
	}
}

// textString reads a text string of the document information or of a property
// list: UTF-16 or UTF-8 if it begins with their mark, else PDF's own encoding.
func textString(s str) string {
	switch {
	case strings.HasPrefix(string(s), "\xfe\xff"):
		return clean(utf16Text(string(s[2:])))
	case strings.HasPrefix(string(s), "\xff\xfe"):
		units := make([]uint16, len(s)/2-1)
		for i := range units {
			units[i] = uint16(s[2*i+2]) | uint16(s[2*i+3])<<8
		}
		return clean(string(utf16.Decode(units)))
	case strings.HasPrefix(string(s), "\xef\xbb\xbf"):
		return clean(string(s[3:]))
	}
	table := runes(charmap.ISO8859_1)
	place(&table, 0x18, docLow)
	place(&table, 0x80, docHigh)
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = table[s[i]]
	}
	return clean(string(out))
}

// clean makes text that may stand in a paragraph: ligatures are letters again,
// all kinds of spaces are one, and what is no character is left out. Soft
// hyphens stay: they tell where a line breaks a word.
func clean(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == 0xa0 || r >= 0x2000 && r <= 0x200a ||
			r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000:
			out.WriteByte(' ')
		case r >= 0xfb00 && r <= 0xfdff, r >= 0xfe70 && r <= 0xfefc: // ligatures and Arabic forms
			out.WriteString(norm.NFKC.String(string(r)))
		case r >= 0xff10 && r <= 0xff5a && (unicode.IsLetter(r) || unicode.IsDigit(r)): // wide letters
			out.WriteRune(r - 0xfee0)
		case r == 0xf0b7 || r == 0xf0a7: // the bullets of Symbol and Wingdings
			out.WriteRune('•')
		case r >= 0xf020 && r <= 0xf07e: // a symbolic font of ASCII
			out.WriteRune(r - 0xf000)
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffd, r == 0xfeff, r >= 0xe000 && r <= 0xf8ff,
			r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r >= 0xf0000, r >= 0xfff0 && r <= 0xffff:
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
