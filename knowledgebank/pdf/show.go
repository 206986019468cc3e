package pdf

import "math"

// minSpaced is the number of characters from which on room between them is
// taken for letterspacing.
const minSpaced = 4

// thinSpace is the width of a space, in sizes of the characters, below which it
// is none.
const thinSpace = 0.08

// frame is the direction and size in which characters stand on the page.
type frame struct {
	ux, uy float64 // along the line, length 1
	size   float64 // of the characters, across the line
	along  float64 // page units for one unit of text space along the line
}

// frame reckons it from the text matrix and the page's.
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

// advance moves on along the line.
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
	// Room between the characters of a longer string is how it is set, not where
	// its words end; programs use it for that, too.
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
			p.blind++ // and leave a gap, for it is mostly a space
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

// place hands a character to the layout.
func (p *program) place(text string, width float64, fr frame) {
	at := p.tm.move(0, p.rise).times(p.ctm)
	if !finite(at[4], at[5], width, fr.size) || !p.seen.holds(at[4], at[5]) || !p.f.budget.take(len(text)) {
		return
	}
	p.out.add(glyph{text: text, x: at[4], y: at[5], width: width, frame: fr})
}
