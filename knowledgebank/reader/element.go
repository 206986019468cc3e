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
	shown         bool // although elements of its kind are not
	empty         bool // it ends where it begins
	alt           string
	fade, unfade  faint
	number        int // that a list or an item begins with
}

// faint is why text is not seen although an element in it may be.
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

// sayings are classes of quotes that the writer set in a page, and answers nobody by.
var sayings = strings.NewReplacer("block-quote", "", "blockquote", "", "pullquote", "", "pull-quote", "")

// style reads a style. What a page fades in or folds out is there to be read; in
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

// faint notes a property that an element in this one may set anew.
func (t *traits) faint(f faint, gone bool) {
	t.fade &^= f
	t.unfade |= f
	if gone {
		t.fade |= f
	}
}

// zero says that a length or number is none.
func zero(value string) bool {
	unit := strings.TrimLeft(value, "0.")
	return len(unit) < len(value) && (unit == "" || unit == "px" || unit == "pt" || unit == "em" || unit == "%")
}

// breaks is how many line ends an element has around it: 1 for a line, 2 for a
// paragraph, 0 within one.
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
