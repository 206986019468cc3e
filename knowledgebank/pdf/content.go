package pdf

import "slices"

// Limits of a page's program.
const (
	maxOperands = 64
	maxStates   = 256 // q inside q
	maxForms    = 16  // forms inside forms
	maxMarks    = 256 // marked content inside marked content
	// maxOperand is the most values in one operator's operands.
	maxOperand = 1 << 16
)

// state is what q saves and Q restores.
type state struct {
	ctm                         matrix
	font                        *font
	size, rise, leading         float64
	charSpace, wordSpace, scale float64
}

// mark is open marked content.
type mark struct {
	actual string // the text that it stands for
	has    bool
	used   bool // that text was already used
}

// program runs the programs of pages to find their text.
type program struct {
	f     *file
	out   *layout
	fonts map[ref]*font
	mute  map[ref]bool // forms known to show no text
	shown int          // characters shown so far
	blind int          // characters shown to which no font gives a meaning
	drawn int          // pictures large enough to show text
	marks []mark
	deep  int // forms inside each other
	open  map[ref]bool
	seen  rect // the visible area of the page

	state
	saved  []state
	tm, lm matrix // text matrix, and its value at the start of the line
}

func newProgram(f *file) *program {
	return &program{f: f, out: &layout{budget: f.budget}, fonts: map[ref]*font{}, mute: map[ref]bool{}, open: map[ref]bool{}}
}

// begin starts a page.
func (p *program) begin() {
	p.state = state{ctm: identity(), scale: 1}
	p.saved, p.marks = nil, nil
	p.tm, p.lm = identity(), identity()
}

// scope resolves the names in one program.
type scope struct {
	resources dict
	fonts     map[name]*font // fonts whose dictionaries have no object number
}

// run runs a page's or form's program.
func (p *program) run(data []byte, resources dict) {
	left := 0
	ps := &parser{lexer: lexer{data: data}, left: &left}
	sc := &scope{resources: resources, fonts: map[name]*font{}}
	var args array
	for p.f.budget.step() {
		left = maxOperand
		v, ok := ps.value()
		w, isWord := v.(word)
		switch {
		case !ok:
			args = args[:0]
			continue
		case isWord && w == end:
			return
		case !isWord:
			if len(args) < maxOperands {
				args = append(args, v)
			}
			continue
		}
		if w == "BI" {
			skipImage(ps)
		} else {
			p.operator(w, args, sc)
		}
		args = args[:0]
	}
}

// operator runs one operator. It ignores those that draw or paint.
func (p *program) operator(w word, args array, sc *scope) {
	arg := func(i int) float64 {
		if i < len(args) {
			return number(args[i])
		}
		return 0
	}
	last := func() any {
		if len(args) == 0 {
			return nil
		}
		return args[len(args)-1]
	}
	switch w {
	case "q":
		if len(p.saved) < maxStates {
			p.saved = append(p.saved, p.state)
		}
	case "Q":
		if n := len(p.saved); n > 0 {
			p.state, p.saved = p.saved[n-1], p.saved[:n-1]
		}
	case "cm":
		if m, ok := toMatrix(args); ok {
			p.ctm = m.times(p.ctm)
		}
	case "BT":
		p.tm, p.lm = identity(), identity()
	case "Tc":
		p.charSpace = arg(0)
	case "Tw":
		p.wordSpace = arg(0)
	case "Tz":
		p.scale = arg(0) / 100
	case "TL":
		p.leading = arg(0)
	case "Ts":
		p.rise = arg(0)
	case "Tf":
		if n, ok := firstName(args); ok {
			p.font = p.findFont(n, sc)
			p.size = number(last())
		}
	case "gs":
		if n, ok := firstName(args); ok {
			p.setState(p.f.dict(p.f.dict(sc.resources["ExtGState"])[n]))
		}
	case "Td":
		p.nextLine(arg(0), arg(1))
	case "TD":
		p.leading = -arg(1)
		p.nextLine(arg(0), arg(1))
	case "Tm":
		if m, ok := toMatrix(args); ok {
			p.tm, p.lm = m, m
		}
	case "T*":
		p.nextLine(0, -p.leading)
	case "Tj":
		p.show(last())
	case "'":
		p.nextLine(0, -p.leading)
		p.show(last())
	case "\"":
		p.wordSpace, p.charSpace = arg(0), arg(1)
		p.nextLine(0, -p.leading)
		p.show(last())
	case "TJ":
		p.showAll(last())
	case "Do":
		if n, ok := firstName(args); ok {
			s := p.f.stream(p.f.dict(sc.resources["XObject"])[n])
			p.picture(s)
			p.form(s, sc.resources)
		}
	case "BMC":
		p.mark(nil)
	case "BDC":
		v := last()
		if n, ok := v.(name); ok {
			v = p.f.dict(sc.resources["Properties"])[n]
		}
		p.mark(p.f.dict(v))
	case "EMC":
		p.unmark()
	}
}

func firstName(args array) (name, bool) {
	if len(args) == 0 {
		return "", false
	}
	n, ok := args[0].(name)
	return n, ok
}

func toMatrix(args array) (m matrix, ok bool) {
	if len(args) < len(m) {
		return m, false
	}
	for i := range m {
		m[i] = number(args[i])
	}
	return m, finite(m[:]...)
}

func (p *program) nextLine(x, y float64) {
	p.lm = p.lm.move(x, y)
	p.tm = p.lm
}

// findFont finds a font in the resources by its name.
func (p *program) findFont(n name, sc *scope) *font {
	v := p.f.dict(sc.resources["Font"])[n]
	if r, ok := v.(ref); ok {
		return p.fontAt(r)
	}
	t, ok := sc.fonts[n]
	if !ok {
		t = p.newFont(v)
		sc.fonts[n] = t
	}
	return t
}

func (p *program) fontAt(r ref) *font {
	t, ok := p.fonts[r]
	if !ok {
		t = p.newFont(r)
		p.fonts[r] = t
	}
	return t
}

func (p *program) newFont(v any) *font {
	d := p.f.dict(v)
	if d == nil || !p.f.budget.spendSteps(fontCost) {
		return nil
	}
	return p.f.newFont(d)
}

// setState takes the font from a graphics state and ignores the rest.
func (p *program) setState(d dict) {
	if pair := p.f.array(d["Font"]); len(pair) == 2 {
		if r, ok := pair[0].(ref); ok {
			p.font, p.size = p.fontAt(r), p.f.number(pair[1])
		}
	}
}

// form runs a form's program in place.
func (p *program) form(s *stream, outer dict) {
	if s == nil || p.f.name(s.dict["Subtype"]) != "Form" || p.deep >= maxForms || p.open[s.id] || p.mute[s.id] {
		return
	}
	if !p.f.budget.spendSteps(formCost) {
		return
	}
	before, saved, marks := p.state, p.saved, len(p.marks)
	p.saved = nil // a surplus Q in the form must not affect the page
	tm, lm, shown, blind := p.tm, p.lm, p.shown, p.blind
	p.deep++
	p.open[s.id] = true
	if m, ok := toMatrix(p.numbers(s.dict["Matrix"])); ok {
		p.ctm = m.times(p.ctm)
	}
	resources := p.f.dict(s.dict["Resources"])
	if resources == nil {
		resources = outer
	}
	p.run(p.f.decode(s), resources)
	delete(p.open, s.id)
	p.deep--
	if p.shown == shown && p.blind == blind {
		p.mute[s.id] = true
	}
	p.state, p.saved = before, saved
	p.marks = p.marks[:min(marks, len(p.marks))]
	p.tm, p.lm = tm, lm
}

// numbers resolves the elements of an array, as many as a matrix has.
func (p *program) numbers(v any) array {
	a := p.f.array(v)
	a = slices.Clone(a[:min(len(a), len(matrix{}))])
	for i := range a {
		a[i] = p.f.number(a[i])
	}
	return a
}

func (p *program) mark(properties dict) {
	if len(p.marks) >= maxMarks {
		return
	}
	m := mark{}
	if s, ok := p.f.resolve(properties["ActualText"]).(str); ok {
		if !p.f.budget.spendSteps(len(s) / perStep) {
			return
		}
		m.actual, m.has = textString(s), true
	}
	p.marks = append(p.marks, m)
}

// unmark ends marked content. If it stands for text but showed no characters, unmark
// emits that text.
func (p *program) unmark() {
	n := len(p.marks)
	if n == 0 {
		return
	}
	m := p.marks[n-1]
	p.marks = p.marks[:n-1]
	if m.has && !m.used && m.actual != "" && p.actual() == nil {
		p.shown++
		p.place(m.actual, 0, p.frame())
	}
}

// actual is the outermost open mark with a replacement text.
func (p *program) actual() *mark {
	for i := range p.marks {
		if p.marks[i].has {
			return &p.marks[i]
		}
	}
	return nil
}
