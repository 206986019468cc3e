package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// flow is a paragraph while lines are added.
type flow struct {
	lines   int
	right   float64 // end of its widest line
	first   line
	last    line
	leading float64 // distance between its last two lines; 0 if it has one line
	text    []byte
}

// paragraphs joins lines that belong together.
func paragraphs(lines []line) []string {
	usual := usualLeading(lines)
	var out []string
	var cur *flow
	end := func() {
		if cur == nil {
			return
		}
		if s := tidy(string(cur.text)); s != "" && !lone(s) {
			out = append(out, s)
		}
	}
	for i, l := range lines {
		if cur == nil || !cur.goesOn(l, usual, margin(lines, i)) {
			end()
			cur = &flow{first: l}
		}
		cur.add(l)
	}
	end()
	return out
}

// usualLeading is the distance between the lines of a paragraph on this page, in sizes
// of their characters. Lines are closer than paragraphs, so it is found at the lower
// end.
func usualLeading(lines []line) float64 {
	var all []float64
	for i := 1; i < len(lines); i++ {
		a, b := lines[i-1], lines[i]
		if ratio := (a.base - b.base) / a.size; a.parallel(b) && a.alike(b) && ratio > 0.7 && ratio < 3.5 {
			all = append(all, ratio)
		}
	}
	if len(all) == 0 {
		return 1.2
	}
	slices.Sort(all)
	return max(1, all[len(all)/4])
}

func (l line) parallel(m line) bool { return l.ux*m.ux+l.uy*m.uy > 0.99 }

// alike reports whether two lines have about the same size.
func (l line) alike(m line) bool {
	return math.Abs(l.size-m.size) <= 0.12*max(l.size, m.size)
}

// goesOn reports whether a line belongs to the paragraph.
func (p *flow) goesOn(l line, usual, margin float64) bool {
	a := p.last
	if !a.parallel(l) || !a.alike(l) {
		return false
	}
	down := a.base - l.base
	if down < -2*a.size && l.start > a.end {
		return p.nextColumn(l)
	}
	limit := 1.25 * usual * a.size
	if p.leading > 0 {
		limit = 1.2*p.leading + 0.05*a.size
	}
	if down < 0.3*a.size || down > limit {
		return false
	}
	return !p.brokenBefore(l, margin) && p.aligned(l)
}

// margin is how far text reaches to the right: the end of the widest nearby line that
// begins like the i-th or a little to its left. Distant lines may belong to wider
// columns.
func margin(lines []line, i int) float64 {
	const near = 8
	own := lines[i]
	right := own.end
	for _, l := range lines[max(0, i-near):min(len(lines), i+near)] {
		indent := own.start - l.start
		if l.parallel(own) && l.alike(own) && indent > -own.size && indent < 5*own.size {
			right = max(right, l.end)
		}
	}
	return right
}

// nextColumn reports whether a sentence continues at the top of the next column.
func (p *flow) nextColumn(l line) bool {
	r, _ := utf8.DecodeRuneInString(l.text)
	return unicode.IsLower(r) && !endsSentence(p.last.text)
}

// aligned reports whether a line begins where lines of this paragraph may begin.
func (p *flow) aligned(l line) bool {
	shift, em := l.start-p.last.start, p.last.size
	switch {
	case centred(p.last, l) && (shift < 0.8*em || shift > 4*em): // between, it may be an indent
	case shift > 0.8*em: // indented: a new one, but for what hangs behind a bullet
		return p.lines == 1 && marker(p.first.text) != noMarker
	case shift < -0.8*em: // back from the first line's indent
		return p.lines == 1 && marker(p.first.text) == noMarker && shift > -6*em
	}
	return true
}

// centred reports whether one line is above the middle of the other.
func centred(a, b line) bool {
	return math.Abs((a.start+a.end)-(b.start+b.end)) < a.size && math.Abs(a.start-b.start) > 0.3*a.size
}

// brokenBefore reports whether a line was begun on purpose: it opens a list item, is a
// row of a table, or its first word would have fit into the line before.
func (p *flow) brokenBefore(l line, margin float64) bool {
	a := p.last
	switch marker(l.text) {
	case bullet:
		return true
	case ordinal:
		if endsSentence(a.text) || marker(p.first.text) == ordinal {
			return true
		}
	}
	if a.tabular && l.tabular {
		return true
	}
	if _, hyphen := hyphenated(a.text); hyphen {
		return false
	}
	if centred(a, l) {
		return false // such lines are as long as the writer liked
	}
	needs := a.end + (l.wordEnd - l.start) + 0.75*a.size
	// If a sentence seems to continue, nearby lines prove less: they may belong to a
	// wider column.
	if first, _ := utf8.DecodeRuneInString(l.text); unicode.IsLower(first) {
		return needs < max(p.right, l.end) || needs-a.start < 0.5*(margin-a.start)
	}
	return needs < margin
}

// add appends a line to the paragraph.
func (p *flow) add(l line) {
	if p.lines > 0 {
		p.leading = p.last.base - l.base
		p.text = join(p.text, p.last.text, l.text)
	} else {
		p.text = append(p.text, l.text...)
	}
	p.lines++
	p.last = l
	p.right = max(p.right, l.end)
}

// join appends a line to a text that ends with the line before it.
func join(text []byte, before, next string) []byte {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(next)
	stem, hyphen := hyphenated(before)
	switch {
	case hyphen && !suspended(next):
		if r, _ := utf8.DecodeLastRuneInString(stem); unicode.IsLower(first) && unicode.IsLetter(r) || last == 0xad {
			text = text[:len(text)-(len(before)-len(stem))]
		}
	case unspaced(last) && unspaced(first):
	default:
		text = append(text, ' ')
	}
	return append(text, next...)
}

// hyphenated returns a line without the hyphen that breaks its last word.
func hyphenated(s string) (stem string, ok bool) {
	r, n := utf8.DecodeLastRuneInString(s)
	if r != '-' && r != '‐' && r != 0xad {
		return s, false
	}
	stem = s[:len(s)-n]
	before, _ := utf8.DecodeLastRuneInString(stem)
	return stem, unicode.IsLetter(before) || unicode.IsDigit(before)
}

// suspended reports whether a line continues like "pre- and postwar", where the hyphen
// is no break.
func suspended(text string) bool {
	w, _, _ := strings.Cut(text, " ")
	switch w {
	case "and", "or", "to", "und", "oder", "bis", "et", "ou", "y", "o", "en", "of", "e", "och", "og":
		return true
	}
	return false
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’»)] ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".:;!?。！？", r)
}

// The kinds of marks that open a list item.
const (
	noMarker = iota
	bullet
	ordinal
)

// maxMarker is how much of a line marker looks at.
const maxMarker = 16

// marker finds the mark that opens a line.
func marker(s string) int {
	w, _, more := strings.Cut(s, " ")
	if !more {
		return noMarker
	}
	if r, n := utf8.DecodeRuneInString(w); n == len(w) && strings.ContainsRune("•◦▪▫■□●○‣⁃∙·–—-*➢➤►✓❖", r) {
		return bullet
	}
	digits := strings.TrimLeft(strings.TrimPrefix(w, "("), "0123456789")
	if (digits == "." || digits == ")") && len(w) > 1 && len(w) < 5 {
		return ordinal
	}
	if len(w) == 2 && w[1] == ')' && unicode.IsLetter(rune(w[0])) {
		return ordinal
	}
	return noMarker
}

// lone reports whether text is the mark of a list item without the item, which some
// programs draw at the end of the page.
func lone(s string) bool { return !strings.Contains(s, " ") && marker(s+" ") == bullet }

// tidy makes the final form of a text: composed characters, single spaces, no soft
// hyphens.
func tidy(s string) string {
	s = strings.ReplaceAll(s, "\u00ad", "")
	return norm.NFC.String(strings.Join(strings.Fields(s), " "))
}
