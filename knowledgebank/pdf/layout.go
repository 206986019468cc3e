package pdf

import (
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Distances, in sizes of the characters.
const (
	wordGap     = 0.15 // less is kerning
	wideWordGap = 0.5  // between characters of scripts without spaces
	lineShift   = 0.5  // less is a raised or lowered character
	cellGap     = 1.5  // more is not a gap between words
	backStep    = 1.0  // less is kerning or an accent
	overprint   = 0.25 // the same character again so near makes it bold
)

// maxDrawn limits how many characters of a line are searched for overprinting, maxAlike
// how many at one place.
const (
	maxDrawn = 4096
	maxAlike = 32
)

// glyph is a character on the page. Its text is empty if it has no meaning or was
// already emitted.
type glyph struct {
	text  string
	x, y  float64
	width float64 // to the place of the next one
	frame
}

// line is a row of characters. Positions are measured along it. base is measured across
// it, upwards.
type line struct {
	ux, uy     float64
	base       float64
	start, end float64
	wordEnd    float64 // where the first word ends
	size       float64 // of most of its characters
	tabular    bool    // it has gaps like those between cells of a table
	text       string
}

// layout makes lines from glyphs in drawing order.
type layout struct {
	budget *budget
	lines  []line
	cur    *row
}

// row is a growing line.
type row struct {
	line
	out     []byte
	votes   int     // for size, less those against it
	tallest float64 // of its characters
	last    float64 // where the last character begins
	drawn   []drawn
}

// drawn is a character of a row, by its place.
type drawn struct {
	at   float64
	text string
}

// add adds the next glyph.
func (l *layout) add(g glyph) {
	at, base := g.x*g.ux+g.y*g.uy, g.y*g.ux-g.x*g.uy
	if l.cur != nil && l.cur.beside(g, base) {
		switch {
		case l.cur.drawnBefore(g, at):
			return
		case at >= l.cur.end-backStep*max(g.size, l.cur.tallest):
			l.cur.put(g, at, base)
			return
		}
	}
	l.flush()
	l.cur = &row{line: line{ux: g.ux, uy: g.uy, base: base, start: at, end: at, size: g.size}, tallest: g.size}
	l.cur.put(g, at, base)
}

// beside reports whether a glyph is on or near the row's base line.
func (r *row) beside(g glyph, base float64) bool {
	return r.ux*g.ux+r.uy*g.uy > 0.99 && math.Abs(base-r.base) < lineShift*max(g.size, r.tallest)
}

// drawnBefore reports whether the same character was already drawn at the same place, which
// makes it bold or gives it a shadow.
func (r *row) drawnBefore(g glyph, at float64) bool {
	near := min(overprint*g.size, g.width/2)
	if at > r.last+near || strings.TrimSpace(g.text) == "" {
		return false
	}
	i := sort.Search(len(r.drawn), func(i int) bool { return r.drawn[i].at >= at-near })
	for end := min(i+maxAlike, len(r.drawn)); i < end && r.drawn[i].at <= at+near; i++ {
		if r.drawn[i].text == g.text {
			return true
		}
	}
	return false
}

// put appends a glyph to the row's text.
func (r *row) put(g glyph, at, base float64) {
	gap := at - r.end
	overlap := r.end - at
	width := max(g.width, 0)
	switch {
	case strings.TrimSpace(g.text) == "" && g.text != "":
		r.space()
	case g.text == "":
	case r.accent(g.text, overlap):
	default:
		if len(r.out) == 0 {
			r.start = at
		}
		if gap > r.gap(g) {
			r.space()
		}
		if gap > cellGap*g.size && len(r.out) > 0 && marker(string(r.out[:min(len(r.out), maxMarker)])) == noMarker {
			r.tabular = true
		}
		r.out = append(r.out, g.text...)
		r.voteSize(g, base)
	}
	if len(r.drawn) < maxDrawn && (len(r.drawn) == 0 || at >= r.drawn[len(r.drawn)-1].at) {
		r.drawn = append(r.drawn, drawn{at, g.text})
	}
	r.last = at
	r.end = max(r.end, at+width)
}

// space ends a word.
func (r *row) space() {
	n := len(r.out)
	if n == 0 || r.out[n-1] == ' ' {
		return
	}
	if r.wordEnd == 0 {
		r.wordEnd = r.end
	}
	r.out = append(r.out, ' ')
}

// gap is how much room before a glyph makes a space.
func (r *row) gap(g glyph) float64 {
	before, _ := utf8.DecodeLastRune(r.out)
	after, _ := utf8.DecodeRuneInString(g.text)
	if unspaced(before) && unspaced(after) {
		return wideWordGap * g.size
	}
	return wordGap * g.size
}

// voteSize keeps the size of most characters, and the base line of the tallest: a raised
// number before a word must not raise the line.
func (r *row) voteSize(g glyph, base float64) {
	if g.size > r.tallest*1.05 {
		r.tallest, r.base = g.size, base
	}
	switch {
	case math.Abs(g.size-r.size) <= 0.02*r.size:
		r.votes++
	case r.votes == 0:
		r.size, r.votes = g.size, 1
	default:
		r.votes--
	}
}

// combining maps an accent that is drawn over a letter to its combining mark.
var combining = map[string]string{
	"`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
	"¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}

// accent joins a letter and an accent that were drawn over each other, in any order.
func (r *row) accent(text string, overlap float64) bool {
	width := r.end - r.last
	if len(r.out) == 0 || width <= 0 || overlap < 0.4*width {
		return false
	}
	before, n := utf8.DecodeLastRune(r.out)
	if mark, ok := combining[text]; ok && unicode.IsLetter(before) {
		r.out = append(r.restoreDot(before, n), mark...)
		return true
	}
	after, size := utf8.DecodeRuneInString(text)
	if mark, ok := combining[string(before)]; ok && unicode.IsLetter(after) {
		r.out = utf8.AppendRune(r.out[:len(r.out)-n], dotted(after))
		r.out = append(append(r.out, mark...), text[size:]...)
		return true
	}
	return false
}

// restoreDot restores the dot of the letter at the end, which is n bytes long.
func (r *row) restoreDot(letter rune, n int) []byte {
	return utf8.AppendRune(r.out[:len(r.out)-n], dotted(letter))
}

func dotted(r rune) rune {
	switch r {
	case 'ı':
		return 'i'
	case 'ȷ':
		return 'j'
	}
	return r
}

// flush ends the row.
func (l *layout) flush() {
	r := l.cur
	l.cur = nil
	if r == nil {
		return
	}
	r.text = logical(strings.TrimSpace(string(r.out)))
	if r.text == "" || !l.budget.spendBytes(lineCost) {
		return
	}
	if len(l.lines) >= maxLines {
		l.budget.overLimit("a page of more than %d lines", maxLines)
		return
	}
	if r.wordEnd == 0 {
		r.wordEnd = r.end
	}
	l.lines = append(l.lines, r.line)
}

// finish ends the page and returns its paragraphs.
func (l *layout) finish() []string {
	l.flush()
	out := paragraphs(l.lines)
	l.lines = l.lines[:0]
	return out
}

// unspaced reports whether a character belongs to a script without spaces.
func unspaced(r rune) bool {
	return r >= 0x2e80 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xff9f || r >= 0x20000 && r <= 0x3ffff
}

// Characters of scripts that run to the left are drawn from the left, as they are seen,
// but read and stored from the right. This algorithm is simpler than Unicode's and made
// for whole lines.

// leftward reports whether a character belongs to such a script.
func leftward(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// rightward reports whether a character forms runs of its own in such text: letters of
// other scripts, and digits.
func rightward(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && (!leftward(r) || unicode.IsDigit(r))
}

// logical converts a line from the order seen to the order read.
func logical(s string) string {
	var left, right int
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r): // numbers stand in both
		case leftward(r):
			left++
		default:
			right++
		}
	}
	if left == 0 {
		return s
	}
	runes := []rune(s)
	if left < right { // a few words in a line that runs to the right
		turnRuns(runes, func(r rune) bool { return leftward(r) && !rightward(r) })
		return string(runes)
	}
	turn(runes)
	turnRuns(runes, rightward)
	return string(runes)
}

// turnRuns reverses each run of characters that is accepts. Characters between two of
// them in the same word or number belong to the run.
func turnRuns(runes []rune, is func(rune) bool) {
	for i := 0; i < len(runes); i++ {
		if !is(runes[i]) {
			continue
		}
		end := i + 1
		for j := end; j < len(runes) && !leftward(runes[j]) == !leftward(runes[i]) || j < len(runes) && neutral(runes[j]); j++ {
			if is(runes[j]) {
				end = j + 1
			}
		}
		slices.Reverse(runes[i:end])
		i = end - 1
	}
}

func neutral(r rune) bool { return !leftward(r) && !rightward(r) }

// turn reverses a line, and its brackets.
func turn(runes []rune) {
	slices.Reverse(runes)
	for i, r := range runes {
		if m, ok := mirrored[r]; ok {
			runes[i] = m
		}
	}
}

var mirrored = map[rune]rune{
	'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«',
}
