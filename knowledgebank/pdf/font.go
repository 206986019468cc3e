package pdf

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// font knows what the bytes of strings show, and how wide that is.
type font struct {
	toUnicode *cmap // nil: none

	// A simple font's codes are bytes.
	simple bool
	texts  [256]string
	widths []float64 // from code first
	first  int

	// The codes of a composite font follow a CMap or a known character set.
	coding   *cmap
	charset  *charset
	ranges   []widthRange
	vertical bool
	latin    bool         // glyphs 1 to 95 are ASCII, as in Adobe's collections
	outlines map[int]rune // by glyph, if only the embedded font knows

	base    name    // the font's name, for missing widths
	missing float64 // width of characters without one; < 0: use the base font's
	unit    float64 // one thousandth, except in fonts of drawn characters
	em      float64 // size of the characters at font size 1
	shapes  map[uint64]shape
}

// shape is what one code shows.
type shape struct {
	text  string
	width float64 // at size 1
}

// widthRange holds the widths of characters lo to hi of a CID font: one for each, or
// one for all.
type widthRange struct {
	lo, hi int
	each   []float64
	all    float64
}

// maxShapes is how many codes a font remembers.
const maxShapes = 1 << 16

// newFont reads a font's dictionary.
func (f *file) newFont(d dict) *font {
	t := &font{unit: 0.001, em: 1, missing: -1, base: f.name(d["BaseFont"]), shapes: map[uint64]shape{}}
	if s := f.stream(d["ToUnicode"]); s != nil {
		t.toUnicode = f.readCMap(s, 0)
	}
	if f.name(d["Subtype"]) == "Type0" {
		f.composite(t, d)
		return t
	}
	t.simple = true
	f.simpleEncoding(t, d)
	f.simpleWidths(t, d)
	return t
}

// simpleEncoding finds the meaning of the 256 codes.
func (f *file) simpleEncoding(t *font, d dict) {
	var table [256]rune
	descriptor := f.dict(d["FontDescriptor"])
	base := f.name(d["Encoding"])
	encoding := f.dict(d["Encoding"])
	if n := f.name(encoding["BaseEncoding"]); n != "" {
		base = n
	}
	named := strings.ToLower(string(t.base))
	switch {
	case base != "":
		table = baseEncoding(base)
	case strings.Contains(named, "dingbats"):
		table = dingbatEncoding()
	case strings.HasSuffix(named, "symbol") || strings.HasSuffix(named, "symbolmt"):
		table = symbolEncoding()
	case f.name(d["Subtype"]) == "TrueType" && encoding == nil:
		table = baseEncoding("WinAnsiEncoding")
	default:
		table = standardEncoding()
	}
	for code, r := range table {
		if r != 0 {
			t.texts[code] = clean(string(r))
		}
	}
	if base == "" {
		for code, text := range f.builtIn(descriptor) {
			t.texts[code] = clean(text)
		}
	}
	code := 0
	differences := f.array(encoding["Differences"])
	if !f.budget.spendSteps(len(differences)) {
		return
	}
	for _, v := range differences {
		switch v := f.resolve(v).(type) {
		case int:
			code = v
		case name:
			if code >= 0 && code < len(t.texts) {
				t.texts[code] = clean(differing(v, code))
			}
			code++
		}
	}
}

// differing returns the text of a glyph that an encoding names. Some programs name
// glyphs after their codes, and codes after ASCII.
func differing(glyph name, code int) string {
	if s := glyphText(string(glyph)); s != "" {
		return s
	}
	number := strings.TrimLeft(string(glyph), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if n, err := strconv.Atoi(number); err == nil && n == code && n > ' ' && n < 0x7f {
		return string(rune(n))
	}
	return ""
}

func (f *file) simpleWidths(t *font, d dict) {
	if widths := f.array(d["Widths"]); len(widths) > 0 {
		t.first = f.int(d["FirstChar"], 0)
		t.missing = f.number(f.dict(d["FontDescriptor"])["MissingWidth"])
		for _, w := range widths[:min(len(widths), 256)] {
			t.widths = append(t.widths, f.number(w))
		}
	}
	if f.name(d["Subtype"]) == "Type3" {
		f.drawn(t, d)
	}
}

// drawn reads the scale and size of a font whose characters are drawings: from the box
// around them or, without one, from their widths.
func (f *file) drawn(t *font, d dict) {
	m := f.array(d["FontMatrix"])
	if len(m) != 6 || f.number(m[0]) == 0 {
		return
	}
	t.unit = f.number(m[0])
	em := 0.0
	if box := f.array(d["FontBBox"]); len(box) == 4 {
		em = (f.number(box[3]) - f.number(box[1])) * f.number(m[3])
	}
	if em == 0 {
		sum, n := 0.0, 0.0
		for _, w := range t.widths {
			if w != 0 {
				sum, n = sum+w, n+1
			}
		}
		em = 2 * sum / max(n, 1) * t.unit
	}
	if em = max(em, -em); em > 0 && (em < 0.3 || em > 3) {
		t.em = em
	}
}

func (f *file) composite(t *font, d dict) {
	var inner dict
	if fonts := f.array(d["DescendantFonts"]); len(fonts) > 0 {
		inner = f.dict(fonts[0])
	}
	t.missing = 1000
	if v := f.resolve(inner["DW"]); v != nil {
		t.missing = number(v)
	}
	t.ranges = f.cidWidths(f.array(inner["W"]))
	switch f.str(f.dict(inner["CIDSystemInfo"])["Ordering"]) {
	case "Japan1", "GB1", "CNS1", "Korea1", "KR":
		t.latin = true
	default:
		if t.toUnicode == nil {
			t.outlines = f.outlines(inner)
		}
	}
	switch v := f.resolve(d["Encoding"]).(type) {
	case *stream:
		t.coding = f.readCMap(v, 0)
		t.vertical = t.coding.vertical
	case name:
		t.vertical = strings.HasSuffix(string(v), "-V") || v == "V"
		if c, ok := predefined(v); ok {
			t.charset = &c
		}
	}
	if t.coding == nil || len(t.coding.spaces) == 0 {
		two := codespace{2, 0, 0xffff}
		if t.coding == nil {
			t.coding = &cmap{cids: []cidRange{{0, 0xffff, 0}}}
		}
		t.coding.spaces = []codespace{two}
	}
}

// cidWidths reads "c [w1 w2 ...]" and "from to w".
func (f *file) cidWidths(w array) []widthRange {
	var out []widthRange
	const each = 64 // bytes of a range, which many fonts may share in the file
	for len(w) >= 2 && len(out) < maxRanges && f.budget.spendBytes(each) {
		lo := f.int(w[0], -1)
		if widths := f.array(w[1]); widths != nil {
			if !f.budget.spendBytes(8 * len(widths)) {
				break
			}
			r := widthRange{lo: lo, hi: lo + len(widths) - 1}
			for _, v := range widths {
				r.each = append(r.each, f.number(v))
			}
			out = append(out, r)
			w = w[2:]
			continue
		}
		if len(w) < 3 {
			break
		}
		out = append(out, widthRange{lo: lo, hi: f.int(w[1], -1), all: f.number(w[2])})
		w = w[3:]
	}
	slices.SortStableFunc(out, func(a, b widthRange) int { return a.lo - b.lo })
	return out
}

// next cuts a code off s and returns what it shows. lone: the code is the single byte
// of a space, to which word spacing applies.
func (t *font) next(s string) (sh shape, size int, lone bool) {
	var code uint32
	switch {
	case t.simple:
		code, size = uint32(s[0]), 1
	case t.charset != nil:
		size = min(t.charset.size(s), len(s))
		for i := range size {
			code = code<<8 | uint32(s[i])
		}
	default:
		code, size = t.coding.next(s)
	}
	key := uint64(size)<<32 | uint64(code)
	sh, known := t.shapes[key]
	if !known {
		sh = t.shape(code, s[:size])
		if len(t.shapes) < maxShapes {
			t.shapes[key] = sh
		}
	}
	return sh, size, size == 1 && s[0] == ' '
}

// letters is about how many characters a string shows.
func (t *font) letters(s str) int {
	if t.simple {
		return len(s)
	}
	return len(s) / 2
}

func (t *font) shape(code uint32, s string) shape {
	var sh shape
	if t.toUnicode != nil {
		text, _ := t.toUnicode.text(code)
		sh.text = clean(text)
	}
	if t.simple {
		if sh.text == "" {
			sh.text = t.texts[code]
		}
		sh.width = t.simpleWidth(int(code), sh.text) * t.unit
		return sh
	}
	var cid int
	if t.charset != nil {
		text := t.charset.text(s)
		if sh.text == "" {
			sh.text = clean(text)
		}
		if len(text) == 1 && text[0] >= ' ' { // in all of Adobe's collections
			cid = int(text[0]) - ' ' + 1
		}
	} else {
		cid = t.coding.cid(code)
		r, ok := t.outlines[cid]
		switch {
		case sh.text != "":
		case ok:
			sh.text = clean(string(r))
		case t.latin && cid >= 1 && cid <= 95:
			sh.text = string(rune(' ' + cid - 1))
		}
	}
	sh.width = t.cidWidth(cid) * t.unit
	return sh
}

func (t *font) simpleWidth(code int, text string) float64 {
	if i := code - t.first; i >= 0 && i < len(t.widths) {
		return t.widths[i]
	}
	if t.missing >= 0 {
		return t.missing
	}
	return standardWidth(t.base, text)
}

func (t *font) cidWidth(cid int) float64 {
	i := sort.Search(len(t.ranges), func(i int) bool { return t.ranges[i].lo > cid }) - 1
	if i < 0 || cid > t.ranges[i].hi {
		return t.missing
	}
	r := t.ranges[i]
	if r.each != nil {
		return r.each[cid-r.lo]
	}
	return r.all
}
