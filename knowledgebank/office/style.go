package office

import (
	"strconv"
	"strings"
)

// wordStyle is a style of paragraphs or runs.
type wordStyle struct {
	name, basedOn string
	num           *numbered
	vanish        bool
}

// numbered is the place of a paragraph in a list. level is -1 if the style says it.
type numbered struct {
	id    string
	level int
	style string // the level is the one that is tied to this style
}

const maxLevels = 9

// whole is a number, or 0.
func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// readNumbered reads w:numPr.
func readNumbered(x *scan) (n numbered, err error) {
	n.level = -1
	err = x.children(func(e element) error {
		switch e.name {
		case "numId":
			n.id = e.get("val")
		case "ilvl":
			n.level = min(max(whole(e.get("val")), 0), maxLevels-1)
		}
		return nil
	}, nil)
	return n, err
}

// readStyles reads what styles say of numbers and hidden text.
func (w *word) readStyles(part string) error {
	w.styles = map[string]*wordStyle{}
	return w.a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if e.name != "style" || len(w.styles) >= maxEntries {
				return nil
			}
			s := &wordStyle{}
			w.styles[e.get("styleId")] = s
			return x.children(func(e element) error {
				switch e.name {
				case "name":
					s.name = strings.ToLower(e.get("val"))
				case "basedOn":
					s.basedOn = e.get("val")
				case "rPr":
					gone, err := w.runProperties(x)
					s.vanish = gone
					return err
				case "pPr":
					p := &paragraph{}
					err := w.paragraphProperties(x, p)
					s.num = p.num
					return err
				}
				return nil
			}, nil)
		}, nil)
	})
}

// chain calls visit for a style and those that it is based on, until visit returns true.
func (w *word) chain(id string, visit func(id string, s *wordStyle) bool) {
	const longest = 20
	for range longest {
		s := w.styles[id]
		if s == nil || visit(id, s) {
			return
		}
		id = s.basedOn
	}
}

// vanishes reports whether a style hides text.
func (w *word) vanishes(id string) (hidden bool) {
	w.chain(id, func(_ string, s *wordStyle) bool {
		hidden = s.vanish
		return hidden
	})
	return hidden
}

// numberOf is the place of a paragraph in a list; its id is empty if it has none.
func (w *word) numberOf(p *paragraph) numbered {
	var n numbered
	if p.num != nil {
		n = *p.num
	}
	if p.num == nil || n.id == "" || n.level < 0 {
		w.chain(p.style, func(id string, s *wordStyle) bool {
			if s.num == nil {
				return false
			}
			if n.id == "" {
				n.id = s.num.id
			}
			if p.num == nil || p.num.level < 0 {
				n.level = s.num.level
			}
			n.style = id
			return n.id != ""
		})
	}
	return n
}

// numbering counts the paragraphs of lists.
type numbering struct {
	lists map[string]map[int]*wordLevel // by abstract id
	nums  map[string]*wordNum
}

type wordLevel struct {
	format, text, style string
	start               int
	count               int
	begun               bool
}

type wordNum struct {
	abstract string
	starts   map[int]int
	used     bool
}

func (n *numbering) read(a *archive, part string) error {
	n.lists, n.nums = map[string]map[int]*wordLevel{}, map[string]*wordNum{}
	return a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if len(n.lists)+len(n.nums) > maxEntries {
				return nil
			}
			switch e.name {
			case "abstractNum":
				levels := map[int]*wordLevel{}
				n.lists[e.get("abstractNumId")] = levels
				return x.children(func(e element) error { return readLevel(x, e, levels) }, nil)
			case "num":
				num := &wordNum{starts: map[int]int{}}
				n.nums[e.get("numId")] = num
				return x.children(func(e element) error {
					switch e.name {
					case "abstractNumId":
						num.abstract = e.get("val")
					case "lvlOverride":
						level := whole(e.get("ilvl"))
						return x.children(func(e element) error {
							if e.name == "startOverride" && len(num.starts) < maxLevels {
								num.starts[level] = whole(e.get("val"))
							}
							return nil
						}, nil)
					}
					return nil
				}, nil)
			}
			return nil
		}, nil)
	})
}

func readLevel(x *scan, e element, levels map[int]*wordLevel) error {
	at := whole(e.get("ilvl"))
	if e.name != "lvl" || at < 0 || at >= maxLevels {
		return nil
	}
	l := &wordLevel{start: 1, format: "decimal"}
	levels[at] = l
	return x.children(func(e element) error {
		switch e.name {
		case "start":
			l.start = whole(e.get("val"))
		case "numFmt":
			l.format = e.get("val")
		case "lvlText":
			l.text = e.get("val")
		case "pStyle":
			l.style = e.get("val")
		}
		return nil
	}, nil)
}

// label counts a paragraph and returns its number with a space behind it, or "".
func (n *numbering) label(p numbered) string {
	num := n.nums[p.id]
	if num == nil {
		return ""
	}
	levels := n.lists[num.abstract]
	at := p.level
	if at < 0 {
		at = 0
		for i, l := range levels {
			if p.style != "" && l.style == p.style {
				at = i
			}
		}
	}
	here := levels[at]
	if here == nil {
		return ""
	}
	if !num.used {
		num.used = true
		for i, start := range num.starts {
			if l := levels[i]; l != nil {
				l.start, l.begun = start, false
			}
		}
	}
	here.next()
	for i, l := range levels {
		if i > at {
			l.begun = false
		}
	}
	switch here.format {
	case "bullet":
		return "- "
	case "none":
		return ""
	}
	text := here.text
	for i := range at + 1 {
		mark := "%" + strconv.Itoa(i+1)
		if l := levels[i]; l != nil && strings.Contains(text, mark) {
			if !l.begun {
				l.next()
			}
			text = strings.ReplaceAll(text, mark, ordinal(l.format, l.count))
		}
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text + " "
}

func (l *wordLevel) next() {
	if l.begun {
		l.count++
	} else {
		l.begun, l.count = true, l.start
	}
}

// ordinal is a number in the form that a list has.
func ordinal(format string, n int) string {
	const most = 10_000
	switch format {
	case "lowerLetter", "a":
		return letter(n)
	case "upperLetter", "A":
		return strings.ToUpper(letter(n))
	case "lowerRoman", "i":
		return roman(n)
	case "upperRoman", "I":
		return strings.ToUpper(roman(n))
	case "decimalZero":
		if n >= 0 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(min(n, most*most))
}

// letter counts a, b, ... z, aa, bb.
func letter(n int) string {
	const most = 10 * 26
	if n < 1 || n > most {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var out strings.Builder
	for _, r := range []struct {
		n int
		s string
	}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for n >= r.n {
			out.WriteString(r.s)
			n -= r.n
		}
	}
	return out.String()
}
