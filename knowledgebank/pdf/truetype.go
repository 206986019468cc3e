package pdf

// outlines finds out what the characters of a CID font are by the embedded
// TrueType font's own table from characters to glyphs, read backwards. Most
// programs leave that table out, but those that leave out ToUnicode may not.
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

// table reads big-endian numbers; past the end there are zeros.
type table []byte

func (t table) u16(at int) int {
	if at < 0 || at+2 > len(t) {
		return 0
	}
	return int(t[at])<<8 | int(t[at+1])
}

func (t table) u32(at int) int { return t.u16(at)<<16 | t.u16(at+2) }

// from is what lies behind an offset.
func (t table) from(at int) table {
	if at < 0 || at > len(t) {
		return nil
	}
	return t[at:]
}

// trueTypeGlyphs reads which character each glyph shows.
func trueTypeGlyphs(font table) map[int]rune {
	var cmap table
	for i := range font.u16(4) {
		if entry := font.from(12 + 16*i); len(entry) >= 16 && string(entry[:4]) == "cmap" {
			cmap = font.from(entry.u32(8))
		}
	}
	out := map[int]rune{}
	for i := range cmap.u16(2) {
		platform, encoding := cmap.u16(4+8*i), cmap.u16(6+8*i)
		if platform != 0 && (platform != 3 || encoding != 1 && encoding != 10) {
			continue // not Unicode
		}
		sub := cmap.from(cmap.u32(8 + 8*i))
		switch sub.u16(0) {
		case 4:
			sub.segments(out)
		case 12:
			sub.groups(out)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// note keeps the first character of a glyph: lower ones are the usual ones.
func note(out map[int]rune, glyph, char int) {
	if _, has := out[glyph]; !has && glyph > 0 && glyph <= 0xffff {
		out[glyph] = rune(char)
	}
}

// segments reads a table of format 4.
func (t table) segments(out map[int]rune) {
	n := t.u16(6) / 2
	left := 1 << 17 // overlapping segments must not cost more than all characters
	for i := range n {
		end, start := t.u16(14+2*i), t.u16(16+2*n+2*i)
		delta, at := t.u16(16+4*n+2*i), 16+6*n+2*i
		offset := t.u16(at)
		for char := start; char <= end && char < 0xffff && left > 0; char++ {
			left--
			glyph := char
			if offset != 0 {
				if glyph = t.u16(at + offset + 2*(char-start)); glyph == 0 {
					continue
				}
			}
			note(out, (glyph+delta)&0xffff, char)
		}
	}
}

// groups reads a table of format 12.
func (t table) groups(out map[int]rune) {
	left := 1 << 17
	for i := range min(t.u32(12), len(t)/12) {
		start, end, glyph := t.u32(16+12*i), t.u32(20+12*i), t.u32(24+12*i)
		for char := start; char <= end && char <= 0x10ffff && left > 0; char++ {
			left--
			note(out, glyph+char-start, char)
		}
	}
}
