package pdf

import "bytes"

// outlines finds the characters of a CID font in the embedded TrueType font: it reads
// the table from characters to glyphs backwards. Most programs leave out that table,
// but not those that leave out ToUnicode.
func (f *file) outlines(font dict) map[int]rune {
	s := f.stream(f.dict(font["FontDescriptor"])["FontFile2"])
	if s == nil {
		return nil
	}
	glyphs := trueTypeGlyphs(f.decode(s))
	m := f.stream(font["CIDToGIDMap"])
	if m == nil || len(glyphs) == 0 {
		return glyphs
	}
	mapped := map[int]rune{}
	data := f.decode(m)
	for cid := 0; 2*cid+1 < len(data) && cid < 1<<16; cid++ {
		if r, ok := glyphs[int(data[2*cid])<<8|int(data[2*cid+1])]; ok {
			mapped[cid] = r
		}
	}
	return mapped
}

// table reads big-endian numbers. Behind its end there are zeros.
type table []byte

func (t table) u16(at int) int {
	if at < 0 || at+2 > len(t) {
		return 0
	}
	return int(t[at])<<8 | int(t[at+1])
}

func (t table) u32(at int) int { return t.u16(at)<<16 | t.u16(at+2) }

// from is the table from an offset on.
func (t table) from(at int) table {
	if at < 0 || at > len(t) {
		return nil
	}
	return t[at:]
}

// trueTypeGlyphs finds the character of each glyph.
func trueTypeGlyphs(font table) map[int]rune {
	var cmap table
	for i := range font.u16(4) {
		if entry := font.from(12 + 16*i); len(entry) >= 16 && string(entry[:4]) == "cmap" {
			cmap = font.from(entry.u32(8))
		}
	}
	out := map[int]rune{}
	left := 1 << 17 // overlapping tables and segments must not cost more than all characters
	for i := range cmap.u16(2) {
		platform, encoding := cmap.u16(4+8*i), cmap.u16(6+8*i)
		if platform != 0 && (platform != 3 || encoding != 1 && encoding != 10) {
			continue // not Unicode
		}
		sub := cmap.from(cmap.u32(8 + 8*i))
		switch sub.u16(0) {
		case 4:
			sub.segments(out, &left)
		case 12:
			sub.groups(out, &left)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// keepFirst keeps the first character of a glyph: lower ones are more usual.
func keepFirst(out map[int]rune, glyph, char int) {
	if _, has := out[glyph]; !has && glyph > 0 && glyph <= 0xffff {
		out[glyph] = rune(char)
	}
}

// segments reads a table of format 4.
func (t table) segments(out map[int]rune, left *int) {
	n := t.u16(6) / 2
	for i := range n {
		end, start := t.u16(14+2*i), t.u16(16+2*n+2*i)
		delta, at := t.u16(16+4*n+2*i), 16+6*n+2*i
		offset := t.u16(at)
		for char := start; char <= end && char < 0xffff && *left > 0; char++ {
			*left--
			glyph := char
			if offset != 0 {
				if glyph = t.u16(at + offset + 2*(char-start)); glyph == 0 {
					continue
				}
			}
			keepFirst(out, (glyph+delta)&0xffff, char)
		}
	}
}

// groups reads a table of format 12.
func (t table) groups(out map[int]rune, left *int) {
	for i := range min(t.u32(12), len(t)/12) {
		start, end, glyph := t.u32(16+12*i), t.u32(20+12*i), t.u32(24+12*i)
		for char := start; char <= end && char <= 0x10ffff && *left > 0; char++ {
			*left--
			keepFirst(out, glyph+char-start, char)
		}
	}
}

// cffMore are the characters of the standard strings from number 150 on, behind those
// of the standard encoding.
const cffMore = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž"

// cffStandard is the number of standard strings. A font's own follow.
const cffStandard = 391

// cff reads a compact font. Reading behind the end returns zeros and sets bad.
type cff struct {
	data []byte
	pos  int
	bad  bool
}

// number reads a number of n bytes, high byte first.
func (c *cff) number(n int) int {
	v := 0
	for range n {
		if c.pos < 0 || c.pos >= len(c.data) {
			c.bad = true
			return 0
		}
		v = v<<8 | int(c.data[c.pos])
		c.pos++
	}
	return v
}

// index reads a list of byte strings.
func (c *cff) index() [][]byte {
	count := c.number(2)
	if count == 0 {
		return nil
	}
	size := c.number(1)
	if size < 1 || size > 4 {
		c.bad = true
		return nil
	}
	base := c.pos + (count+1)*size - 1
	from := c.number(size)
	var items [][]byte
	for range count {
		to := c.number(size)
		if c.bad || from < 1 || to < from || base+to > len(c.data) {
			c.bad = true
			return nil
		}
		items = append(items, c.data[base+from:base+to])
		from = to
	}
	c.pos = base + from
	return items
}

// cffEncoding reads a compact font's own encoding. It returns nil if the font uses the
// standard one.
func cffEncoding(font []byte) map[int]string {
	c := &cff{data: font, pos: 2}
	c.pos = c.number(1)
	c.index() // names
	tops, strings := c.index(), c.index()
	if c.bad || len(tops) == 0 {
		return nil
	}
	top := cffDict(tops[0])
	at := top["encoding"]
	if at < 2 { // 0 and 1 are predefined
		return nil
	}
	c.pos = top["glyphs"]
	glyphs := c.number(2)
	charset := c.charset(top["charset"], glyphs)
	standard := cffTexts()
	texts := map[int]string{}
	assign := func(code, glyph int) {
		if glyph < 1 || glyph >= len(charset) {
			return
		}
		switch id := charset[glyph]; {
		case id < len(standard):
			texts[code] = standard[id]
		case id >= cffStandard && id-cffStandard < len(strings):
			texts[code] = differing(name(strings[id-cffStandard]), code)
		}
	}
	c.pos = at
	kind := c.number(1)
	glyph := 1
	for range c.number(1) {
		code, more := c.number(1), 0
		if kind&0x7f == 1 {
			more = c.number(1)
		}
		for i := 0; i <= more && code+i < 256; i++ {
			assign(code+i, glyph)
			glyph++
		}
	}
	if kind&0x80 != 0 { // additional codes
		for range c.number(1) {
			code, id := c.number(1), c.number(2)
			for g := range charset {
				if charset[g] == id {
					assign(code, g)
					break
				}
			}
		}
	}
	return texts
}

// charset reads the string number of each glyph's name.
func (c *cff) charset(at, glyphs int) []int {
	ids := []int{0}
	if at < 3 { // predefined; the first of them counts up
		for i := 1; i < glyphs && i <= 228; i++ {
			ids = append(ids, i)
		}
		return ids
	}
	c.pos = at
	kind := c.number(1)
	for len(ids) < glyphs && !c.bad {
		id, more := c.number(2), 0
		if kind > 0 {
			more = c.number(min(kind, 2))
		}
		for i := 0; i <= more && len(ids) < glyphs; i++ {
			ids = append(ids, id+i)
		}
	}
	return ids
}

// cffDict reads the required offsets from a font's dictionary.
func cffDict(data []byte) map[string]int {
	c := &cff{data: data}
	out := map[string]int{}
	last := 0
	for c.pos < len(c.data) {
		switch b := c.number(1); {
		case b == 15:
			out["charset"] = last
		case b == 16:
			out["encoding"] = last
		case b == 17:
			out["glyphs"] = last
		case b == 12:
			c.number(1)
		case b == 28:
			last = int(int16(c.number(2)))
		case b == 29:
			last = int(int32(c.number(4)))
		case b == 30: // a real number, up to a nibble of 15
			for v := 0; v&0xf != 0xf && v>>4 != 0xf && !c.bad; {
				v = c.number(1)
			}
		case b >= 32 && b <= 246:
			last = b - 139
		case b >= 247 && b <= 250:
			last = (b-247)*256 + c.number(1) + 108
		case b >= 251 && b <= 254:
			last = -(b-251)*256 - c.number(1) - 108
		}
	}
	return out
}

// cffTexts returns the text of those standard strings that are letters or signs. The
// first are the glyphs of the standard encoding in order.
func cffTexts() []string {
	texts := []string{""}
	for _, r := range standardEncoding() {
		if r != 0 {
			texts = append(texts, string(r))
		}
	}
	for _, r := range cffMore {
		texts = append(texts, string(r))
	}
	return texts
}

// builtIn returns the encoding inside an embedded font, where it differs from Adobe's
// standard encoding.
func (f *file) builtIn(descriptor dict) map[int]string {
	if s := f.stream(descriptor["FontFile"]); s != nil {
		return type1Encoding(f.decode(s))
	}
	if s := f.stream(descriptor["FontFile3"]); s != nil {
		return cffEncoding(f.decode(s))
	}
	return nil
}

// type1Encoding reads the encoding in the clear part of a Type 1 font: lines like "dup
// 12 /fi put".
func type1Encoding(font []byte) map[int]string {
	from := bytes.Index(font, []byte("/Encoding"))
	if from < 0 {
		return nil
	}
	l := lexer{data: font, pos: from + len("/Encoding")}
	if l.token() == word("StandardEncoding") {
		return nil
	}
	texts := map[int]string{}
	for {
		switch l.token() {
		case word("dup"):
			code, ok1 := l.token().(int)
			glyph, ok2 := l.token().(name)
			if ok1 && ok2 && code >= 0 && code < 256 {
				texts[code] = differing(glyph, code)
			}
		case word("def"), word("readonly"), word("eexec"), end:
			return texts
		}
	}
}
