package reader

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/percached/percached/knowledgebank"
)

// maxOpen limits how many elements are kept open. Deeper ones are read as if they were
// not nested.
const maxOpen = 256

// Marks of the begin and end of quoted text, used until lines are made.
const (
	quoteOpens  = '\x01'
	quoteCloses = '\x02'
)

// page is HTML as text.
type page struct {
	title, heading string
	text           string // cleaned; blank lines separate paragraphs
}

// html reads a file of HTML.
func (f *file) html(ctx context.Context, s *knowledgebank.Source, text string) (title string) {
	s.Format = "html"
	p := htmlText(ctx, text, false)
	s.Blocks = paragraphs(ctx, p.text)
	return or(p.title, p.heading)
}

// htmlText converts HTML to text. It reads tokens one by one, without building a tree, so
// nesting costs no more than other text. In mail it puts ">" before quoted lines and
// drops marked signatures. If a page shows no words, htmlText reads it again with the text
// that most readers do not see.
func htmlText(ctx context.Context, s string, mail bool) page {
	p := webReader{mail: mail}.page(ctx, s)
	if !wordless(p.text) {
		return p
	}
	if all := (webReader{mail: mail, all: true}).page(ctx, s); !wordless(all.text) {
		return all
	}
	return p
}

func (w webReader) page(ctx context.Context, s string) page {
	s = lessThan(s)
	z := html.NewTokenizer(strings.NewReader(s))
	z.AllowCDATA(strings.Contains(s, "]]>"))
	for i := 0; ; i++ {
		if ended(ctx, i) {
			return page{}
		}
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			for len(w.rows) > 0 {
				w.endRow()
			}
			return page{title: oneLine(w.title), heading: oneLine(w.heading), text: clean(w.marked())}
		case html.TextToken:
			w.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs := z.TagName()
			a := atom.Lookup(name)
			var t traits
			if attrs {
				t = traitsOf(z, w.mail, a)
			}
			if kind == html.SelfClosingTagToken {
				z.NextIsNotRawText()
				t.empty = true
			} else if w.all && (a == atom.Noframes || a == atom.Iframe) {
				z.NextIsNotRawText()
			}
			w.start(a, t)
		case html.EndTagToken:
			name, _ := z.TagName()
			w.end(atom.Lookup(name))
		}
	}
}

type element struct {
	atom atom.Atom
	traits
	begin int   // where its text begins
	faint faint // as it was around the element
}

// webReader collects the text of one page.
type webReader struct {
	mail, all      bool // all: also read text that few people see
	out            []byte
	want           int    // line ends before the next word
	space          bool   // a space before the next word
	marker         string // of a list item, before the next word
	open           []element
	count          [1 << 10]uint16 // open elements by a hash of their names
	lost           int             // elements too deep to be kept
	hidden, pre    int
	faint          faint
	lists          []int // number of the last item; negative: not numbered
	rows           []row
	title, heading string
}

func (w *webReader) text(s []byte) {
	if n := len(w.open); n > 0 && w.open[n-1].atom == atom.Title {
		if w.title == "" && w.hidden == 0 { // a drawing has titles, too
			w.title = string(s)
		}
		return
	}
	if w.hidden > 0 || w.faint != 0 && !w.all {
		return
	}
	for _, c := range s {
		switch {
		case w.pre > 0 && c == '\n':
			w.want = min(w.want+1, 2)
		case w.pre > 0 && c == ' ' && w.want == 0 && len(w.out) > 0:
			w.out = append(w.out, c)
		case c == ' ', c == '\n', c == '\t', c == '\r', c == '\f':
			w.space = true
		case c < ' ':
		default:
			w.word()
			w.out = append(w.out, c)
		}
	}
}

// word writes the line ends, space or marker due before a word.
func (w *webReader) word() {
	switch {
	case w.want > 0:
		if len(w.out) > 0 {
			w.out = append(w.out, "\n\n"[:w.want]...)
		}
	case w.space && len(w.out) > 0 && w.marker == "":
		w.out = append(w.out, ' ')
	}
	w.want, w.space = 0, false
	if w.marker != "" {
		w.out = append(w.out, w.marker...)
		w.marker = ""
	}
}

func (w *webReader) lines(n int) { w.want = max(w.want, n) }

func (w *webReader) start(a atom.Atom, t traits) {
	switch a {
	case atom.Img:
		if w.all && t.alt != "" && w.hidden == 0 {
			w.lines(1)
			w.text([]byte(t.alt))
			w.lines(1)
		}
		return
	case 0, atom.Html, atom.Body, atom.Head, atom.Input, atom.Meta, atom.Link, atom.Base, atom.Col, atom.Wbr,
		atom.Area, atom.Embed, atom.Source, atom.Track, atom.Param:
		return
	case atom.Br:
		if w.hidden == 0 {
			w.want = min(w.want+1, 2)
		}
		return
	case atom.Hr:
		if w.hidden == 0 && w.mail {
			w.lines(1)
			w.word()
			w.out = append(w.out, "____________"...)
		}
		w.lines(2)
		return
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.Ul, atom.Ol, atom.Table:
		w.closesUnfinished()
		w.closes(atom.P)
	case atom.Li, atom.Dt, atom.Dd, atom.Td, atom.Th, atom.Tr, atom.Option:
		w.closeItem(a)
	}
	t.hidden = t.hidden && !w.all || !t.shown && w.unshown(a)
	w.lines(breaks(a, len(w.lists) > 0))
	if a == atom.Button || a == atom.Textarea {
		w.space = true
	}
	if t.empty && (t.hidden || a == atom.Title || a == atom.Textarea || a == atom.Iframe) {
		return // "<script/>": nothing is in it
	}
	if len(w.open) >= maxOpen {
		w.lost++
		return
	}
	e := element{a, t, len(w.out), w.faint}
	w.faint = w.faint&^t.unfade | t.fade
	w.open = append(w.open, e)
	w.count[hash(a)]++
	if t.hidden {
		w.hidden++
	}
	w.enter(e)
}

// enter handles the start of some elements.
func (w *webReader) enter(e element) {
	if e.quote {
		w.lines(1)
		w.word()
		w.out = append(w.out, quoteOpens)
		w.lines(1)
	}
	switch e.atom {
	case atom.Pre:
		w.pre++
	case atom.Ul:
		w.lists = append(w.lists, -1)
	case atom.Ol:
		w.lists = append(w.lists, max(e.number-1, 0))
	case atom.Li:
		w.marker = "- "
		if n := len(w.lists); n > 0 && w.lists[n-1] >= 0 {
			w.lists[n-1]++
			if e.number > 0 {
				w.lists[n-1] = e.number
			}
			w.marker = strconv.Itoa(w.lists[n-1]) + ". "
		}
	case atom.Tr:
		w.rows = append(w.rows, row{begin: len(w.out), want: w.want})
	case atom.Td, atom.Th:
		if n := len(w.rows); n > 0 {
			w.rows[n-1].cells = append(w.rows[n-1].cells, len(w.out))
			w.lines(1) // endRow undoes it if the row fits one line
		} else {
			w.lines(1) // a cell without a row
		}
	}
}

func (w *webReader) end(a atom.Atom) {
	if w.lost > 0 && a != 0 {
		w.lost--
		w.lines(breaks(a, len(w.lists) > 0))
		return
	}
	switch a {
	case atom.P:
		w.lines(2)
	case atom.Br: // as if it were right
		w.start(a, traits{})
	case atom.Button, atom.Textarea:
		w.space = true
	}
	if w.count[hash(a)] == 0 {
		return
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].atom == a {
			w.closeTo(i)
			return
		}
	}
}

// closes ends an element that the start of another one ends, if only inline elements
// are open in it.
func (w *webReader) closes(ended atom.Atom) {
	if w.count[hash(ended)] == 0 {
		return
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		switch a := w.open[i].atom; {
		case a == ended:
			w.closeTo(i)
			return
		case breaks(a, false) > 0:
			return
		}
	}
}

// closeItem ends the item, cell or row before this one, if it is still open.
func (w *webReader) closeItem(a atom.Atom) {
	for i := len(w.open) - 1; i >= 0; i-- {
		switch o := w.open[i].atom; {
		case o == a, a == atom.Dd && o == atom.Dt, a == atom.Dt && o == atom.Dd, a == atom.Td && o == atom.Th, a == atom.Th && o == atom.Td,
			a == atom.Tr && (o == atom.Td || o == atom.Th) && i > 0 && w.open[i-1].atom == atom.Tr:
			if o != a && a == atom.Tr {
				i--
			}
			w.closeTo(i)
			return
		case o == atom.Table, o == atom.Ul, o == atom.Ol, o == atom.Dl, o == atom.Tr && a != atom.Tr:
			return
		}
	}
}

// closeTo ends the i-th open element and all inside it.
func (w *webReader) closeTo(i int) {
	for len(w.open) > i {
		e := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		w.count[hash(e.atom)]--
		if e.quote {
			w.lines(1)
			w.word()
			w.out = append(w.out, quoteCloses)
			w.lines(1)
		}
		switch e.atom {
		case atom.Pre:
			w.pre--
		case atom.Ul, atom.Ol:
			w.lists = w.lists[:len(w.lists)-1]
		case atom.Li:
			w.marker = ""
		case atom.Tr:
			w.endRow()
		case atom.H1, atom.H2, atom.H3:
			if w.heading == "" && w.hidden == 0 && e.begin <= len(w.out) {
				w.heading = strings.TrimSpace(string(w.out[e.begin:]))
			}
		}
		if e.hidden {
			w.hidden--
		}
		w.faint = e.faint
		w.lines(breaks(e.atom, len(w.lists) > 0))
	}
}

// marked returns the text with ">" before quoted lines.
func (w *webReader) marked() string {
	if !w.mail {
		return string(w.out)
	}
	var b strings.Builder
	depth := 0
	for l := range strings.Lines(string(w.out)) {
		switch {
		case strings.IndexByte(l, quoteOpens) >= 0:
			depth++
			continue
		case strings.IndexByte(l, quoteCloses) >= 0:
			depth--
			continue
		case depth > 0:
			b.WriteString("> ")
		}
		b.WriteString(l)
	}
	return b.String()
}

func hash(a atom.Atom) int { return int(a^a>>10^a>>20) & (1<<10 - 1) }
