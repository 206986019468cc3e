package office

import (
	"strings"
	"time"
	"unicode/utf16"
)

// rtf reads Rich Text Format: groups in braces, control words behind a backslash, and
// text.
type rtf struct {
	data   []byte
	at     int
	b      *budget
	state  rtfState
	stack  []rtfState
	page   int         // the code page of text whose font names none
	fonts  map[int]int // code pages of fonts
	font   int         // the font that the table of fonts describes
	coded  []byte      // characters in the code page, not yet decoded
	skip   int         // characters left that only stand in for another
	high   rune        // the first half of a character
	author string      // of the next comment
	info   map[string]*strings.Builder
	times  map[string]*[5]int
}

// rtfState is what the end of a group undoes.
type rtfState struct {
	to       *rtfTarget
	into     rtfPlace
	field    string // of the information, if into says so
	fallback int    // characters behind each \u
	code     int    // code page
	hidden   bool
	deleted  bool
	cell     bool // the paragraph is in a table
	either   bool // the group has the same text twice
}

// rtfPlace is where text goes.
type rtfPlace uint8

const (
	intoText rtfPlace = iota
	intoNothing
	intoLabel // the number of a paragraph
	intoFonts
	intoInfo
	intoAuthor // of a comment
)

// rtfTarget is a text: that of the document, of a note or of a text box.
type rtfTarget struct {
	kind     string
	author   string
	flow     flow
	text     strings.Builder
	label    strings.Builder
	row      []cell
	rows     [][]cell
	headed   bool
	waiting  []string // notes and boxes of the paragraph
	withCell bool     // text waits for the end of its cell
}

const maxGroups = 1000

func readRTF(data []byte, b *budget) (Document, error) {
	if len(data) > b.bytes {
		return Document{}, b.tooLarge("too many bytes")
	}
	b.bytes -= len(data)
	body := &rtfTarget{flow: flow{b: b}}
	r := &rtf{
		data: data, b: b, page: 1252, fonts: map[int]int{},
		state: rtfState{to: body, fallback: 1, code: 1252},
		info:  map[string]*strings.Builder{}, times: map[string]*[5]int{},
	}
	err := r.read()
	r.decode()
	for _, s := range append(r.stack, r.state) {
		if s.to != body {
			r.endTarget(s.to, body) // its end is missing
		}
	}
	body.end()
	d := Document{Format: "rtf", Parts: []Part{{Paragraphs: body.flow.out}}}
	if t := r.info["title"]; t != nil && !named(t.String()) {
		d.Title = strings.TrimSpace(t.String())
	}
	for _, who := range []string{"author", "operator"} {
		if t := r.info[who]; t != nil && d.Author == "" && personal(strings.TrimSpace(t.String())) {
			d.Author = strings.TrimSpace(t.String())
		}
	}
	for _, when := range []string{"revtim", "creatim"} {
		if t := r.times[when]; t != nil && d.Date.IsZero() && t[0] > 0 {
			d.Date = time.Date(t[0], time.Month(t[1]), max(t[2], 1), t[3], t[4], 0, 0, time.UTC)
		}
	}
	if b.err != nil {
		err = b.err
	}
	return d, err
}

func (r *rtf) read() error {
	for r.at < len(r.data) {
		if err := r.b.look(); err != nil {
			return err
		}
		c := r.data[r.at]
		r.at++
		switch c {
		case '{':
			r.decode()
			r.skip = 0
			if len(r.stack) > maxGroups {
				return damaged("more than %d groups are nested", maxGroups)
			}
			r.stack = append(r.stack, r.state)
			if r.state.either && !strings.HasPrefix(string(r.data[r.at:min(r.at+5, len(r.data))]), `\*\ud`) {
				r.state.into = intoNothing
			}
			r.state.either = false
		case '}':
			r.decode()
			r.skip = 0
			if len(r.stack) == 0 {
				return nil
			}
			ended := r.state
			r.state = r.stack[len(r.stack)-1]
			r.stack = r.stack[:len(r.stack)-1]
			if ended.to != r.state.to {
				r.endTarget(ended.to, r.state.to)
			}
			if len(r.stack) == 0 {
				return nil // what follows is no text
			}
		case '\\':
			r.control()
		case '\r', '\n':
		case 0:
		default:
			r.char(c)
		}
	}
	return damaged("its end is missing")
}

// char adds a character of the code page.
func (r *rtf) char(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	if r.wanted() {
		r.coded = append(r.coded, c)
	}
}

// wanted reports whether text is kept.
func (r *rtf) wanted() bool {
	return r.state.into != intoNothing && !r.state.hidden && !r.state.deleted
}

// decode adds the characters that wait for the rest of a character.
func (r *rtf) decode() {
	if len(r.coded) > 0 {
		text := codePage(r.state.code, r.coded)
		r.coded = r.coded[:0]
		r.put(text)
	}
}

// put adds text where it belongs.
func (r *rtf) put(text string) {
	if !r.wanted() {
		return
	}
	to := r.state.to
	switch r.state.into {
	case intoText:
		to.text.WriteString(text)
		to.withCell = r.state.cell
	case intoLabel:
		to.label.WriteString(text)
	case intoFonts:
	case intoAuthor:
		if len(r.author) < maxHeaderText {
			r.author += text
		}
	case intoInfo:
		const longest = 1000
		if t := r.info[r.state.field]; t != nil && t.Len() < longest {
			t.WriteString(text)
		}
	}
}

// unicode adds the character of \u. Its halves come in two words if it is large.
func (r *rtf) unicode(n int) {
	if n < 0 {
		n += 1 << 16
	}
	c := rune(n)
	switch {
	case utf16.IsSurrogate(c) && r.high == 0:
		r.high = c
	case r.high != 0:
		c, r.high = utf16.DecodeRune(r.high, c), 0
		r.put(string(c))
	case c >= 0xf000 && c <= 0xf0ff: // a symbol of a font
		if c == 0xf0b7 || c == 0xf0a7 {
			r.put("•")
		}
	case c > 0 && c <= 0xffff:
		r.put(string(c))
	}
	r.skip = r.state.fallback
}

// paragraph ends a paragraph.
func (t *rtfTarget) paragraph(cell bool) {
	if cell {
		t.text.WriteByte('\n')
		return
	}
	t.table()
	t.add()
}

// add adds the text as a paragraph.
func (t *rtfTarget) add() {
	label := strings.TrimSpace(t.label.String())
	if label != "" {
		if strings.ContainsFunc(label, letterOrDigit) {
			label += " "
		} else {
			label = "- "
		}
	}
	if text := strings.TrimSpace(t.text.String()); text != "" {
		t.flow.add(label+text, label != "")
	}
	t.text.Reset()
	t.label.Reset()
	for _, w := range t.waiting {
		t.flow.add(w, false)
	}
	t.waiting = nil
}

// endCell ends a cell.
func (t *rtfTarget) endCell() {
	if len(t.row) < maxColumns && t.flow.b.spendText(0) {
		t.row = append(t.row, cell{column: len(t.row), text: strings.TrimSpace(t.text.String())})
	}
	t.text.Reset()
	t.label.Reset()
}

// endRow ends a row of a table.
func (t *rtfTarget) endRow() {
	if len(t.row) > 0 {
		t.rows = append(t.rows, t.row)
	}
	t.row = nil
}

// table adds the table that has ended.
func (t *rtfTarget) table() {
	if len(t.row) > 0 {
		t.endRow()
	}
	if len(t.rows) == 0 {
		return
	}
	var lines []string
	grid(t.rows, t.headed, func(line string) { lines = append(lines, line) })
	t.flow.lines(lines)
	t.rows, t.headed = nil, false
	for _, w := range t.waiting {
		t.flow.add(w, false)
	}
	t.waiting = nil
}

func (t *rtfTarget) end() {
	t.table()
	t.add()
}

// endTarget ends a note or a text box and hands its text to the text around it.
func (r *rtf) endTarget(t, outer *rtfTarget) {
	t.end()
	text := strings.Join(t.flow.out, "\n")
	switch {
	case strings.TrimSpace(text) == "":
	case t.kind == "annotation":
		outer.waiting = append(outer.waiting, remark(t.author, text))
	case t.kind == "footnote":
		outer.waiting = append(outer.waiting, "Footnote: "+text)
	default:
		outer.waiting = append(outer.waiting, t.flow.out...)
	}
}
