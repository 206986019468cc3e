package pdf

import (
	"bytes"
	"math"
)

// minSpaced is the number of characters from which room between them is letterspacing.
const minSpaced = 4

// thinSpace is the width, in sizes of the characters, below which a space does not
// count.
const thinSpace = 0.08

// frame is the direction and size of characters on the page.
type frame struct {
	ux, uy float64 // along the line, length 1
	size   float64 // of the characters, across the line
	along  float64 // page units for one unit of text space along the line
}

// frame computes it from the text matrix and the page's.
func (p *program) frame() frame {
	m := p.tm.times(p.ctm)
	em := 1.0
	x, y, across := m[0], m[1], math.Hypot(m[2], m[3])
	if p.font != nil {
		em = p.font.em
		if p.font.vertical {
			x, y, across = -m[2], -m[3], math.Hypot(m[0], m[1])
		}
	}
	along := math.Hypot(x, y)
	if p.size < 0 { // backwards, which with a turned matrix is forwards
		along = -along
	}
	fr := frame{size: math.Abs(p.size) * em * across, along: along, ux: 1}
	if along != 0 {
		fr.ux, fr.uy = x/along, y/along
	}
	return fr
}

// showAll shows the strings of an array with the gaps between them.
func (p *program) showAll(v any) {
	items, _ := v.(array)
	for _, item := range items {
		switch item := item.(type) {
		case str:
			p.show(item)
		case int, float64:
			p.advance(-number(item) / 1000 * p.size)
		}
	}
}

// advance moves along the line.
func (p *program) advance(by float64) {
	if p.font != nil && p.font.vertical {
		p.tm = p.tm.move(0, -by)
		return
	}
	p.tm = p.tm.move(by*p.scale, 0)
}

// show shows one string.
func (p *program) show(v any) {
	s, _ := v.(str)
	if len(s) == 0 || p.font == nil {
		return
	}
	fr := p.frame()
	scale := p.scale
	if p.font.vertical {
		scale = 1
	}
	actual := p.actual()
	// In a longer string, room between the characters is typesetting and does not end
	// words.
	spaced := 0.0
	if p.font.letters(s) >= minSpaced {
		spaced = p.charSpace
	}
	for len(s) > 0 && p.f.budget.step() {
		sh, size, lone := p.font.next(string(s))
		s = s[size:]
		width := sh.width * p.size
		step := width + p.charSpace
		if lone {
			step += p.wordSpace
		}
		text := sh.text
		switch {
		case actual != nil && actual.used:
			text = ""
		case actual != nil:
			text, actual.used = actual.actual, true
		}
		if text == "" && actual == nil {
			p.blind++ // leave a gap: mostly it is a space
			p.advance(step)
			continue
		}
		p.shown++
		if text == " " && step*scale*fr.along < thinSpace*fr.size {
			text = "" // pulled together so far that it parts no words
		}
		p.place(text, (width+spaced)*scale*fr.along, fr)
		p.advance(step)
	}
}

// place adds a character to the layout.
func (p *program) place(text string, width float64, fr frame) {
	at := p.tm.move(0, p.rise).times(p.ctm)
	if !finite(at[4], at[5], width, fr.size) || !p.seen.holds(at[4], at[5]) || !p.f.budget.spendBytes(len(text)) {
		return
	}
	p.out.add(glyph{text: text, x: at[4], y: at[5], width: width, frame: fr})
}

// skipImage skips an inline image, whose "BI" was just read.
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

// imageSize is the length of an image if the file says it or the image is not
// compressed; else -1.
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

// plausible reports whether a program continues here: if picture data contains " EI",
// bytes follow that no program has.
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

// largePicture is the width and height, in dots, from which a picture may show text.
const largePicture = 200

// picture counts large pictures.
func (p *program) picture(s *stream) {
	if s != nil && p.f.name(s.dict["Subtype"]) == "Image" && p.f.int(s.dict["Width"], 0) >= largePicture && p.f.int(s.dict["Height"], 0) >= largePicture {
		p.drawn++
	}
}

// matrix is [a b c d e f]: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix [6]float64

func identity() matrix { return matrix{1, 0, 0, 1, 0, 0} }

// times is m followed by n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// move is m behind a shift.
func (m matrix) move(x, y float64) matrix {
	m[4], m[5] = x*m[0]+y*m[2]+m[4], x*m[1]+y*m[3]+m[5]
	return m
}

// finite reports whether all numbers are finite and small enough to compute with.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.Abs(v) > 1e12 {
			return false
		}
	}
	return true
}

// rect is an upright rectangle.
type rect struct{ left, bottom, right, top float64 }

func (r rect) holds(x, y float64) bool {
	return x >= r.left && x <= r.right && y >= r.bottom && y <= r.top
}
