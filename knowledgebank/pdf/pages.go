package pdf

import (
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// maxTree is the greatest depth of the tree of pages.
const maxTree = 64

// leaf is a page of the tree.
type leaf struct {
	page dict
	// Its own, or inherited.
	resources dict
	media     array // the corners of the sheet
}

// pages walks the tree of pages. It enters each node once.
func (f *file) pages(most int) []leaf {
	var leaves []leaf
	seen := map[int]bool{}
	var walk func(v any, inherited leaf, depth int)
	walk = func(v any, inherited leaf, depth int) {
		if r, ok := v.(ref); ok {
			if seen[r.num] {
				return
			}
			seen[r.num] = true
		}
		d, _ := f.resolve(v).(dict)
		if d == nil || depth > maxTree || len(leaves) > most || !f.budget.step() {
			return
		}
		inherited = f.inherit(d, inherited)
		kids, isNode := f.resolve(d["Kids"]).(array)
		if !isNode {
			leaves = append(leaves, inherited)
			return
		}
		for _, kid := range kids {
			walk(kid, inherited, depth+1)
		}
	}
	walk(f.catalog()["Pages"], leaf{}, 0)
	return leaves
}

// inherit returns a node's own values, and the rest from its parent.
func (f *file) inherit(d dict, from leaf) leaf {
	from.page = d
	if own := f.dict(d["Resources"]); own != nil {
		from.resources = own
	}
	if own := f.array(d["MediaBox"]); len(own) == 4 {
		from.media = own
	}
	return from
}

// loosePages collects all objects that claim to be pages, for files with a broken tree.
func (f *file) loosePages(most int) []leaf {
	numbers := make([]int, 0, len(f.xref))
	for num := range f.xref {
		numbers = append(numbers, num)
	}
	slices.Sort(numbers)
	var leaves []leaf
	for _, num := range numbers {
		d, _ := f.load(num).(dict)
		if d["Type"] == name("Page") && len(leaves) <= most {
			leaves = append(leaves, f.inherited(d))
		}
	}
	return leaves
}

// inherited returns what a page inherits, by going up from it.
func (f *file) inherited(page dict) leaf {
	nodes := []dict{page}
	for up := f.dict(page["Parent"]); up != nil && len(nodes) < maxTree; up = f.dict(up["Parent"]) {
		nodes = append(nodes, up)
	}
	var l leaf
	for _, d := range slices.Backward(nodes) {
		l = f.inherit(d, l)
	}
	return l
}

// contents is a page's program: its streams, joined.
func (f *file) contents(page dict) []byte {
	v := f.resolve(page["Contents"])
	if s, ok := v.(*stream); ok {
		return f.decode(s)
	}
	parts, _ := v.(array)
	var all []byte
	for _, part := range parts {
		s := f.stream(part)
		if s == nil {
			continue
		}
		all = append(all, f.decode(s)...)
		all = append(all, '\n')
		if len(all) > maxStream {
			f.budget.overLimit("a page of more than %d bytes", maxStream)
			break
		}
	}
	return all
}

// page returns the paragraphs of a page.
func (p *program) page(l leaf) []string {
	p.begin()
	p.seen = p.view(l)
	p.run(p.f.contents(l.page), l.resources)
	for _, v := range p.f.array(l.page["Annots"]) {
		p.annotation(p.f.dict(v))
	}
	return p.out.finish()
}

// view is the sheet with some room around it, or everything if the file has no sensible
// sheet. Text outside a smaller crop box is read.
func (p *program) view(l leaf) rect {
	const room = 20
	r := p.rect(l.media)
	if r.right <= r.left || r.top <= r.bottom {
		return rect{-1e9, -1e9, 1e9, 1e9}
	}
	return rect{r.left - room, r.bottom - room, r.right + room, r.top + room}
}

// rect reads a rectangle, given by two opposite corners.
func (p *program) rect(a array) rect {
	if len(a) != 4 {
		return rect{}
	}
	x1, y1, x2, y2 := p.f.number(a[0]), p.f.number(a[1]), p.f.number(a[2]), p.f.number(a[3])
	return rect{min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)}
}

// annotation shows text that was typed onto a page: filled form fields and open notes.
func (p *program) annotation(d dict) {
	if kind := p.f.name(d["Subtype"]); kind != "Widget" && kind != "FreeText" {
		return
	}
	if p.f.int(d["F"], 0)&2 != 0 { // hidden
		return
	}
	look := p.f.resolve(p.f.dict(d["AP"])["N"])
	if states, ok := look.(dict); ok {
		look = p.f.resolve(states[p.f.name(d["AS"])])
	}
	s, _ := look.(*stream)
	if s == nil {
		return
	}
	p.begin()
	at, box := p.rect(p.f.array(d["Rect"])), p.rect(p.f.array(s.dict["BBox"]))
	p.ctm = p.ctm.move(at.left-box.left, at.bottom-box.bottom)
	p.form(s, nil)
}

// missing returns the reason why a file has no text at all.
func (p *program) missing() error {
	if p.blind > 0 {
		return fault.New(fault.Unsupported, "pdf.missing", "the file has no readable text: its fonts do not identify their characters")
	}
	return fault.New(fault.Unsupported, "pdf.missing", "the file has no text: its pages are pictures or empty")
}
