package pdf

import "bytes"

// skipImage passes over an inline image, whose "BI" was just read.
func skipImage(p *parser) {
	d := dict{}
	for {
		key := p.next()
		n, isName := key.(name)
		if key == word("ID") || key == end || !isName {
			break
		}
		v, ok := p.value()
		if !ok || v == end {
			break
		}
		if v == word("ID") {
			break
		}
		d[n] = v
	}
	p.pos++ // one white space behind "ID"
	if n := imageSize(d); n >= 0 && n <= len(p.data)-p.pos {
		l := lexer{data: p.data[:min(len(p.data), p.pos+n+16)], pos: p.pos + n}
		if l.token() == word("EI") {
			p.pos = l.pos
			return
		}
	}
	for at := p.pos; at < len(p.data); {
		i := bytes.Index(p.data[at:], []byte("EI"))
		if i < 0 {
			break
		}
		at += i + 2
		if at >= 3 && space(p.data[at-3]) && plausible(p.data[at:]) {
			p.pos = at
			return
		}
	}
	p.pos = len(p.data)
}

// imageSize is the number of bytes of an image that says it, or that is not
// compressed; -1 if unknown.
func imageSize(d dict) int {
	entry := func(short, long name) any {
		if v, ok := d[short]; ok {
			return v
		}
		return d[long]
	}
	if n, ok := entry("L", "Length").(int); ok {
		return n
	}
	width, ok1 := entry("W", "Width").(int)
	height, ok2 := entry("H", "Height").(int)
	if !ok1 || !ok2 || entry("F", "Filter") != nil || width < 0 || height < 0 || width > 1<<16 || height > 1<<16 {
		return -1
	}
	bits, _ := entry("BPC", "BitsPerComponent").(int)
	if mask, _ := entry("IM", "ImageMask").(bool); mask {
		bits = 1
	}
	colors := 1
	switch entry("CS", "ColorSpace") {
	case name("RGB"), name("DeviceRGB"):
		colors = 3
	case name("CMYK"), name("DeviceCMYK"):
		colors = 4
	}
	if bits < 1 || bits > 16 {
		return -1
	}
	return (width*colors*bits + 7) / 8 * height
}

// plausible says whether a program goes on here: picture data that happens to
// hold " EI" is followed by bytes that no program has.
func plausible(rest []byte) bool {
	if len(rest) > 0 && !space(rest[0]) {
		return false
	}
	for _, c := range rest[:min(len(rest), 12)] {
		if !space(c) && (c < ' ' || c > '~') || c == 0 {
			return false
		}
	}
	return true
}

// largePicture is how wide and high a picture is that may be of text, in dots.
const largePicture = 200

// picture counts the large ones.
func (p *program) picture(s *stream) {
	if s != nil && p.f.name(s.dict["Subtype"]) == "Image" && p.f.int(s.dict["Width"], 0) >= largePicture && p.f.int(s.dict["Height"], 0) >= largePicture {
		p.drawn++
	}
}
