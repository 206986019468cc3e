package pdf

import (
	"sort"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Limits of a CMap. A font has 65,536 glyphs at most.
const (
	maxRanges  = 1 << 17
	maxTextLen = 64 // bytes of text for one code
	maxCMaps   = 8  // CMaps that use each other
)

// cmap maps character codes: to text (ToUnicode), or to glyphs of a CID font.
type cmap struct {
	spaces   []codespace
	texts    []textRange
	cids     []cidRange
	vertical bool
	sorted   bool
}

// codespace: codes of size bytes exist if every byte lies between those of lo and hi.
type codespace struct {
	size   int
	lo, hi uint32
}

// textRange maps lo to text, and each following code to text with its last character
// increased.
type textRange struct {
	lo, hi uint32
	text   string
}

type cidRange struct {
	lo, hi uint32
	cid    int
}

// next cuts a code off s.
func (m *cmap) next(s string) (code uint32, size int) {
	least := 0
	for _, space := range m.spaces {
		if least == 0 || space.size < least {
			least = space.size
		}
	}
	for n := 1; n <= 4 && n <= len(s); n++ {
		code = code<<8 | uint32(s[n-1])
		for _, space := range m.spaces {
			if space.size == n && space.holds(code) {
				return code, n
			}
		}
	}
	// Not a code: skip as many bytes as the shortest code has.
	code = 0
	size = min(max(least, 1), len(s))
	for i := range size {
		code = code<<8 | uint32(s[i])
	}
	return code, size
}

func (c codespace) holds(code uint32) bool {
	for shift := 0; shift < 8*c.size; shift += 8 {
		b := byte(code >> shift)
		if b < byte(c.lo>>shift) || b > byte(c.hi>>shift) {
			return false
		}
	}
	return true
}

// sort prepares for lookups. Of equal codes, the last one wins.
func (m *cmap) sort() {
	if m.sorted {
		return
	}
	m.sorted = true
	sort.SliceStable(m.texts, func(i, j int) bool { return m.texts[i].lo < m.texts[j].lo })
	sort.SliceStable(m.cids, func(i, j int) bool { return m.cids[i].lo < m.cids[j].lo })
}

// text is the text of a code; ok is false if the map has none.
func (m *cmap) text(code uint32) (text string, ok bool) {
	m.sort()
	i := sort.Search(len(m.texts), func(i int) bool { return m.texts[i].lo > code }) - 1
	// Ranges may overlap: a wider one may begin before the nearest.
	for back := 0; i >= 0 && back < 4; i, back = i-1, back+1 {
		r := m.texts[i]
		if code > r.hi {
			continue
		}
		if code == r.lo {
			return r.text, true
		}
		runes := []rune(r.text)
		if len(runes) == 0 {
			return "", true
		}
		runes[len(runes)-1] += rune(min(code-r.lo, 0x10ffff))
		return string(runes), true
	}
	return "", false
}

// cid is the glyph of a code, 0 if the map has none.
func (m *cmap) cid(code uint32) int {
	m.sort()
	i := sort.Search(len(m.cids), func(i int) bool { return m.cids[i].lo > code }) - 1
	if i < 0 || code > m.cids[i].hi {
		return 0
	}
	return m.cids[i].cid + int(code-m.cids[i].lo)
}

// readCMap reads an embedded CMap and those it uses.
func (f *file) readCMap(s *stream, depth int) *cmap {
	m := &cmap{}
	if f.int(s.dict["WMode"], 0) == 1 {
		m.vertical = true
	}
	if depth < maxCMaps {
		if base := f.stream(s.dict["UseCMap"]); base != nil {
			used := f.readCMap(base, depth+1)
			m.spaces, m.texts, m.cids = used.spaces, used.texts, used.cids
		}
	}
	left := maxValues
	p := &parser{lexer: lexer{data: f.decode(s)}, left: &left}
	var args array
	for {
		v, ok := p.value()
		w, isWord := v.(word)
		switch {
		case !ok || isWord && w == end:
			const text, cid = 32, 16 // bytes of one; many fonts may share them in the file
			f.budget.spendBytes(text*len(m.texts) + cid*len(m.cids))
			return m
		case !isWord:
			if len(args) < 4*maxRanges {
				args = append(args, v)
			}
			continue
		}
		m.operator(w, args)
		args = args[:0]
	}
}

// operator runs one operator of a CMap's program.
func (m *cmap) operator(w word, args array) {
	switch w {
	case "def":
		if len(args) == 2 && args[0] == name("WMode") {
			m.vertical = args[1] == 1
		}
	case "usecmap":
		if len(args) > 0 && (args[len(args)-1] == name("Identity-H") || args[len(args)-1] == name("Identity-V")) {
			m.spaces = append(m.spaces, codespace{2, 0, 0xffff})
			m.cids = append(m.cids, cidRange{0, 0xffff, 0})
		}
	case "endcodespacerange":
		for ; len(args) >= 2 && len(m.spaces) < 256; args = args[2:] {
			lo, n, ok1 := code(args[0])
			hi, _, ok2 := code(args[1])
			if ok1 && ok2 {
				m.spaces = append(m.spaces, codespace{n, lo, hi})
			}
		}
	case "endbfchar":
		for ; len(args) >= 2; args = args[2:] {
			if lo, _, ok := code(args[0]); ok {
				m.addText(lo, lo, args[1])
			}
		}
	case "endbfrange":
		for ; len(args) >= 3; args = args[3:] {
			lo, _, ok1 := code(args[0])
			hi, _, ok2 := code(args[1])
			if !ok1 || !ok2 || hi < lo {
				continue
			}
			if each, isArray := args[2].(array); isArray {
				for i := range each[:min(len(each), int(hi-lo)+1)] {
					m.addText(lo+uint32(i), lo+uint32(i), each[i])
				}
				continue
			}
			m.addText(lo, hi, args[2])
		}
	case "endcidchar":
		for ; len(args) >= 2; args = args[2:] {
			m.addCID(args[0], args[0], args[1])
		}
	case "endcidrange":
		for ; len(args) >= 3; args = args[3:] {
			m.addCID(args[0], args[1], args[2])
		}
	}
}

func (m *cmap) addText(lo, hi uint32, v any) {
	var text string
	switch v := v.(type) {
	case str:
		if len(v) > 2*maxTextLen {
			v = v[:2*maxTextLen]
		}
		text = utf16Text(string(v))
	case name:
		text = glyphText(string(v))
	}
	if len(m.texts) < maxRanges && len(text) <= maxTextLen {
		m.texts = append(m.texts, textRange{lo, hi, text})
	}
}

func (m *cmap) addCID(from, to, cid any) {
	lo, _, ok1 := code(from)
	hi, _, ok2 := code(to)
	first, ok3 := cid.(int)
	if ok1 && ok2 && ok3 && hi >= lo && first >= 0 && first <= 0xffff && len(m.cids) < maxRanges {
		m.cids = append(m.cids, cidRange{lo, hi, first})
	}
}

// code reads a string as a character code.
func code(v any) (c uint32, size int, ok bool) {
	s, isStr := v.(str)
	if !isStr || len(s) == 0 || len(s) > 4 {
		return 0, 0, false
	}
	for i := range len(s) {
		c = c<<8 | uint32(s[i])
	}
	return c, len(s), true
}

// utf16Text reads big-endian UTF-16. A single byte is a character, too.
func utf16Text(s string) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}

// charset is a predefined CMap made from a character set: its codes yield text without
// a table of glyphs.
type charset struct {
	encoding encoding.Encoding
	size     func(s string) int // bytes of the first code of s
	shift    byte               // added to each byte to get the encoding's code
}

// predefined returns the charset of a CMap's name.
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
		return charset{encoding: japanese.ShiftJIS, size: leadBytes(0x81, 0x9f, 0xe0, 0xfc)}, true
	case has("GB"):
		return charset{encoding: simplifiedchinese.GB18030, size: gb}, true
	case has("B5") || has("HKscs"):
		return charset{encoding: traditionalchinese.Big5, size: leadBytes(0x81, 0xfe, 0, 0)}, true
	case has("KSC"):
		return charset{encoding: korean.EUCKR, size: leadBytes(0x81, 0xfe, 0, 0)}, true
	case base == "EUC":
		return charset{encoding: japanese.EUCJP, size: leadBytes(0xa1, 0xfe, 0x8e, 0x8e)}, true
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

// leadBytes returns the size of a code: two bytes if its first byte lies in one of two
// ranges.
func leadBytes(a, b, c, d byte) func(string) int {
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

// runes returns the 256 characters of a single-byte character set.
func runes(c *charmap.Charmap) (table [256]rune) {
	for i := range table {
		table[i] = c.DecodeByte(byte(i))
	}
	return table
}
