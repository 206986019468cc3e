package reader

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// traits is what the attributes of an element mean for its text.
type traits struct {
	hidden, quote bool
	shown         bool // visible although other elements of its kind are not
	empty         bool // it ends where it begins
	alt           string
	fade, unfade  faint
	number        int // first number of a list or an item
}

// faint is why text is invisible although an element inside it may be visible.
type faint uint8

const (
	noSize faint = 1 << iota
	unseen
)

func traitsOf(z *html.Tokenizer, mail bool, a atom.Atom) (t traits) {
	quotes := mail && a == atom.Blockquote
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "hidden":
			t.hidden = t.hidden || string(v) != "until-found"
		case "style":
			t.style(string(v), mail)
		case "type":
			t.quote = t.quote || quotes && strings.EqualFold(string(v), "cite")
		case "class":
			c := string(v)
			t.quote = t.quote || quotes && strings.Contains(sayings.Replace(c), "quote")
			t.hidden = t.hidden || mail && (strings.Contains(c, "gmail_signature") || strings.Contains(c, "moz-signature"))
		case "start", "value":
			if n, err := strconv.Atoi(string(v)); err == nil && n > 0 && n < 1e6 && (a == atom.Ol || a == atom.Li) {
				t.number = n
			}
		case "alt":
			t.alt = string(v)
		case "shadowrootmode":
			t.shown = true
		}
	}
	return t
}

// sayings removes classes of quotes that are part of a page and answer nobody.
var sayings = strings.NewReplacer("block-quote", "", "blockquote", "", "pullquote", "", "pull-quote", "")

// style reads a style. A page may fade in or unfold hidden text, so that is read; in
// mail nothing moves.
func (t *traits) style(style string, mail bool) {
	if len(style) > 4096 {
		style = style[:4096]
	}
	style = strings.ToLower(style)
	for rule := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(rule, ":")
		value, _, _ = strings.Cut(strings.TrimSpace(value), "!")
		value = strings.TrimSpace(value)
		if value == "" {
			continue
		}
		switch strings.TrimSpace(name) {
		case "display":
			t.hidden = t.hidden || value == "none"
		case "visibility":
			t.faint(unseen, value == "hidden" || value == "collapse")
		case "font-size":
			t.faint(noSize, zero(value))
		case "opacity", "max-height":
			t.hidden = t.hidden || mail && zero(value)
		}
	}
}

// faint notes a property that an inner element may set again.
func (t *traits) faint(f faint, gone bool) {
	t.fade &^= f
	t.unfade |= f
	if gone {
		t.fade |= f
	}
}

// zero reports whether a length or number is zero.
func zero(value string) bool {
	unit := strings.TrimLeft(value, "0.")
	return len(unit) < len(value) && (unit == "" || unit == "px" || unit == "pt" || unit == "em" || unit == "%")
}

// breaks is the number of line ends around an element: 1 for a line, 2 for a paragraph,
// 0 inside one.
func breaks(a atom.Atom, inList bool) int {
	switch a {
	case atom.Ul, atom.Ol, atom.Dl, atom.P:
		if inList {
			return 1
		}
		return 2
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Blockquote, atom.Pre, atom.Form,
		atom.Fieldset, atom.Figure, atom.Hr:
		return 2
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Nav, atom.Tr, atom.Dt, atom.Dd,
		atom.Li, atom.Caption, atom.Option, atom.Center, atom.Legend, atom.Address, atom.Details, atom.Summary, atom.Figcaption:
		return 1
	}
	return 0
}

// row is a table's row while its cells are read.
type row struct {
	begin int
	want  int   // line ends before it
	cells []int // where each begins
}

// endRow puts the cells of a row into one line, if each of them is one line.
func (w *webReader) endRow() {
	r := w.rows[len(w.rows)-1]
	w.rows = w.rows[:len(w.rows)-1]
	const longest = 64 << 10 // anything longer is a page laid out as a table
	if len(r.cells) == 0 || r.begin > len(w.out) || len(w.out)-r.begin > longest {
		return
	}
	cells := make([]string, len(r.cells))
	first, last, flat := -1, -1, true
	for i, at := range r.cells {
		end := len(w.out)
		if i+1 < len(r.cells) {
			end = r.cells[i+1]
		}
		cells[i] = strings.Trim(string(w.out[at:end]), " \n")
		if cells[i] == "" {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		flat = flat && !strings.ContainsAny(cells[i], "\n\x01\x02")
	}
	if first < 0 || !flat {
		return
	}
	w.out = w.out[:r.begin]
	if r.begin > 0 {
		w.out = append(w.out, "\n\n"[:r.want]...)
	}
	w.out = append(w.out, strings.Join(cells[first:last+1], " | ")...)
	w.want = 1 // not what the last cell asked for
}

// unshown reports whether browsers or mail programs hide the text of an element, or
// show it as a list of choices.
func (w *webReader) unshown(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Svg:
		return true
	case atom.Noscript:
		return !w.mail && !w.all // mail programs run no scripts
	case atom.Object, atom.Select, atom.Canvas, atom.Audio, atom.Video, atom.Datalist, atom.Iframe, atom.Noframes:
		return !w.all
	}
	return false
}

// closesUnfinished ends a list of choices or a drawing that lacks its end: except for
// one case, neither contains paragraphs.
func (w *webReader) closesUnfinished() {
	if w.hidden == 0 || w.count[hash(atom.Select)]+w.count[hash(atom.Svg)] == 0 || w.count[hash(atom.Foreignobject)] > 0 {
		return
	}
	for i, e := range w.open {
		if e.atom == atom.Select || e.atom == atom.Svg {
			w.closeTo(i)
			return
		}
	}
}

// lessThan writes "&lt;" for a "<" that begins no tag: one followed by words and
// another "<", and that of "<ana@example.com>" or "<https://...>".
func lessThan(s string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			break
		}
		at += i + 1
		n := strings.IndexAny(s[at:], "<>\"'=")
		if n < 0 {
			break
		}
		if c := s[at] | 0x20; c < 'a' || c > 'z' {
			continue
		}
		inner := s[at : at+n]
		if s[at+n] == '<' && severed(inner) || address(inner) {
			b.WriteString(s[done:at-1] + "&lt;")
			done = at
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// severed reports whether the text between two "<" is not a tag without its end.
func severed(inner string) bool {
	name, rest, _ := strings.Cut(inner, " ")
	return atom.Lookup([]byte(strings.ToLower(strings.TrimSpace(name)))) == 0 || len(strings.Fields(rest)) > 1
}

// address reports whether the text in angle brackets is an address and not a tag.
func address(inner string) bool {
	if strings.ContainsAny(inner, " \t\n") {
		return false
	}
	at := strings.IndexByte(inner, '@')
	return at > 0 && strings.IndexByte(inner[at:], '.') > 1 || strings.HasPrefix(inner, "http://") || strings.HasPrefix(inner, "https://")
}
