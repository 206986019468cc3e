package pdf

// cffMore are the characters of the standard strings behind those of the
// standard encoding, from 150.
const cffMore = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž"

// cffStandard is the number of the standard strings. A font's own follow.
const cffStandard = 391

// cff reads a compact font. Reading past the end gives zeros, and bad.
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

// cffEncoding reads what a compact font's own encoding says. A font that has
// the standard one says nothing.
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
	if kind&0x80 != 0 { // codes beside those
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

// charset reads which string names each glyph.
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

// cffDict reads the offsets that are needed of a font's dictionary.
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

// cffTexts gives the text of the standard strings that are letters or signs.
// The first are the glyphs of the standard encoding in its order.
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
