package reader

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// traits is what the attributes of an element mean for its text.
type traits struct{ hidden, quote bool }

func traitsOf(z *html.Tokenizer, mail, quotes bool) (t traits) {
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "hidden":
			t.hidden = true
		case "style":
			t.hidden = t.hidden || invisible(string(v))
		case "type":
			t.quote = t.quote || quotes && mail && strings.EqualFold(string(v), "cite")
		case "class":
			c := string(v)
			t.quote = t.quote || quotes && mail && strings.Contains(c, "quote")
			t.hidden = t.hidden || mail && (strings.Contains(c, "gmail_signature") || strings.Contains(c, "moz-signature"))
		}
	}
	return t
}

// invisible reads a style.
func invisible(style string) bool {
	if len(style) > 4096 {
		style = style[:4096]
	}
	style = strings.ToLower(style)
	for rule := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(rule, ":")
		value, _, _ = strings.Cut(strings.TrimSpace(value), "!")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "mso-hide":
			if value == "all" {
				return true
			}
		case "opacity", "font-size", "max-height":
			if strings.Trim(value, "0.") == "" || strings.Trim(value, "0.") == "px" {
				return value != ""
			}
		}
	}
	return false
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
