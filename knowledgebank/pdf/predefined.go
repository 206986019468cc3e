package pdf

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// charset is a CMap that is known by its name and made from a character set:
// its codes tell the text without any table of glyphs.
type charset struct {
	encoding encoding.Encoding
	size     func(s string) int // bytes of the first code of s
	shift    byte               // added to each byte to get the encoding's code
}

// predefined gives the charset of a CMap's name.
func predefined(n name) (charset, bool) {
	big := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	base := strings.TrimSuffix(strings.TrimSuffix(string(n), "-H"), "-V")
	has := func(part string) bool { return strings.Contains(base, part) }
	switch {
	case has("UCS2"):
		return charset{encoding: big, size: pairs}, true
	case has("UTF16"):
		return charset{encoding: big, size: surrogates}, true
	case has("RKSJ"):
		return charset{encoding: japanese.ShiftJIS, size: lead(0x81, 0x9f, 0xe0, 0xfc)}, true
	case has("GB"):
		return charset{encoding: simplifiedchinese.GB18030, size: gb}, true
	case has("B5") || has("HKscs"):
		return charset{encoding: traditionalchinese.Big5, size: lead(0x81, 0xfe, 0, 0)}, true
	case has("KSC"):
		return charset{encoding: korean.EUCKR, size: lead(0x81, 0xfe, 0, 0)}, true
	case base == "EUC":
		return charset{encoding: japanese.EUCJP, size: lead(0xa1, 0xfe, 0x8e, 0x8e)}, true
	case n == "H" || n == "V":
		return charset{encoding: japanese.EUCJP, size: pairs, shift: 0x80}, true
	}
	return charset{}, false
}

// text decodes one code.
func (c charset) text(code string) string {
	b := []byte(code)
	for i := range b {
		b[i] += c.shift
	}
	out, err := c.encoding.NewDecoder().Bytes(b)
	if err != nil {
		return ""
	}
	return string(out)
}

func pairs(string) int { return 2 }

func surrogates(s string) int {
	if s[0] >= 0xd8 && s[0] <= 0xdb {
		return 4
	}
	return 2
}

// lead says that a first byte in one of two ranges has a second one behind it.
func lead(a, b, c, d byte) func(string) int {
	return func(s string) int {
		if x := s[0]; x >= a && x <= b || x >= c && x <= d {
			return 2
		}
		return 1
	}
}

func gb(s string) int {
	switch {
	case s[0] <= 0x80:
		return 1
	case len(s) > 3 && digit(s[1]):
		return 4
	}
	return 2
}

// runes gives the 256 characters of a character set of single bytes.
func runes(c *charmap.Charmap) (table [256]rune) {
	for i := range table {
		table[i] = c.DecodeByte(byte(i))
	}
	return table
}
