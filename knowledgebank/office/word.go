package office

import "strings"

// flow collects the paragraphs of a text.
type flow struct {
	b    *budget
	out  []string
	item bool   // the last one is a short item of a list
	open string // a paragraph whose end was deleted: it goes on in the next
}

// add adds a paragraph. Short items of a list stay together.
func (f *flow) add(text string, item bool) {
	const short = 200
	text = f.open + text
	f.open = ""
	if strings.TrimSpace(text) == "" || !f.b.spendText(len(text)) {
		return
	}
	item = item && len(text) < short
	if n := len(f.out); item && f.item && len(f.out[n-1]) < 20*short {
		f.out[n-1] += "\n" + text
	} else {
		f.out = append(f.out, text)
	}
	f.item = item
}

// maxOpen bounds what waits for the next paragraph, because each one copies it.
const maxOpen = 64 << 10

// lines adds the lines of a table as one paragraph.
func (f *flow) lines(lines []string) {
	f.add(strings.Join(lines, "\n"), false)
}

// word reads a document of Microsoft Word.
type word struct {
	a        *archive
	styles   map[string]*wordStyle
	numbers  *numbering
	notes    map[string]string // footnotes and endnotes, by kind and id
	comments map[string]string
	kept     int // bytes of notes and comments
}

func readWord(a *archive, main string, d *Document) error {
	w := &word{a: a, notes: map[string]string{}, comments: map[string]string{}, numbers: &numbering{}}
	relations := a.relations(main)
	part := func(typ string) string {
		if name := related(relations, typ); a.has(name) {
			return name
		}
		return ""
	}
	// A part that is damaged costs what it has, and not the text.
	if name := part("styles"); name != "" {
		w.readStyles(name) //nolint:errcheck // see above
	}
	if name := part("numbering"); name != "" {
		w.numbers.read(a, name) //nolint:errcheck // see above
	}
	for _, typ := range []string{"footnotes", "endnotes", "comments"} {
		if name := part(typ); name != "" {
			w.readNotes(name, typ) //nolint:errcheck // see above
		}
	}
	text := &flow{b: a.b}
	err := a.each(main, func(x *scan, _ element) error { return w.blocks(x, text) })
	text.add("", false)
	d.Parts = []Part{{Paragraphs: text.out}}
	if a.b.err != nil {
		return a.b.err
	}
	return err
}

// blocks reads paragraphs and tables.
func (w *word) blocks(x *scan, to *flow) error {
	return x.children(func(e element) error {
		switch {
		case to.b.err != nil:
			return to.b.err
		case e.name == "p":
			return w.paragraph(x, to)
		case e.name == "tbl":
			return w.table(x, to)
		case e.name == "AlternateContent":
			return x.alternate(func() error { return w.blocks(x, to) })
		case e.name == "del" || e.name == "moveFrom" || strings.HasSuffix(e.name, "Pr"):
			return nil
		}
		return w.blocks(x, to)
	}, nil)
}

// paragraph is a paragraph of Word while it is read.
type paragraph struct {
	text    strings.Builder
	style   string
	num     *numbered
	open    bool // its end was deleted
	boxes   flow // text boxes that are anchored in it
	remarks []string
}

func (w *word) paragraph(x *scan, to *flow) error {
	p := &paragraph{boxes: flow{b: to.b}}
	err := w.inner(x, p)
	style := w.styles[p.style]
	if style != nil && strings.HasPrefix(style.name, "toc ") {
		return err // a table of contents
	}
	text := strings.TrimSpace(p.text.String())
	label := ""
	if text != "" && !p.open && to.open == "" {
		label = w.numbers.label(w.numberOf(p))
	}
	if p.open && len(to.open) < maxOpen {
		to.open += text
	} else {
		to.add(label+text, label != "")
	}
	for _, t := range append(p.boxes.out, p.remarks...) {
		to.add(t, false)
	}
	return err
}

// inner reads what is in a paragraph, a run, or anything between the two.
func (w *word) inner(x *scan, p *paragraph) error {
	hidden := false
	return x.children(func(e element) error {
		switch e.name {
		case "pPr":
			return w.paragraphProperties(x, p)
		case "rPr":
			gone, err := w.runProperties(x)
			hidden = hidden || gone
			return err
		case "del", "moveFrom", "instrText", "delText", "delInstrText", "rt", "sdtPr":
			return nil
		case "AlternateContent":
			return x.alternate(func() error { return w.inner(x, p) })
		case "txbxContent":
			return w.blocks(x, &p.boxes)
		}
		if hidden {
			return nil
		}
		switch e.name {
		case "t":
			text, err := x.text()
			p.text.WriteString(text)
			return err
		case "tab", "ptab":
			p.text.WriteByte('\t')
		case "br", "cr":
			p.text.WriteByte('\n')
		case "noBreakHyphen":
			p.text.WriteByte('-')
		case "footnoteReference", "endnoteReference":
			if note := w.notes[strings.TrimSuffix(e.name, "Reference")+"s"+e.get("id")]; note != "" {
				p.remarks = append(p.remarks, note)
			}
		case "commentReference":
			if c := w.comments[e.get("id")]; c != "" {
				p.remarks = append(p.remarks, c)
			}
		default:
			return w.inner(x, p)
		}
		return nil
	}, nil)
}

func (w *word) paragraphProperties(x *scan, p *paragraph) error {
	return x.children(func(e element) error {
		switch e.name {
		case "pStyle":
			p.style = e.get("val")
		case "numPr":
			n, err := readNumbered(x)
			p.num = &n
			return err
		case "rPr":
			return x.children(func(e element) error {
				p.open = p.open || e.name == "del"
				return nil
			}, nil)
		}
		return nil
	}, nil)
}

// runProperties reports whether a run is hidden.
func (w *word) runProperties(x *scan) (hidden bool, err error) {
	err = x.children(func(e element) error {
		switch e.name {
		case "vanish":
			hidden = e.on()
		case "rStyle":
			hidden = hidden || w.vanishes(e.get("val"))
		}
		return nil
	}, nil)
	return hidden, err
}

// table reads a table.
func (w *word) table(x *scan, to *flow) error {
	var rows [][]cell
	above := map[int]string{} // the text that a merged cell continues
	headed := false
	err := x.children(func(e element) error {
		return w.rowsIn(x, e, func() error { return w.tableRow(x, to.b, &rows, above, &headed) })
	}, nil)
	var lines []string
	grid(rows, headed, func(line string) { lines = append(lines, line) })
	to.lines(lines)
	return err
}

// rowsIn reads a row, or the rows in an element that wraps them.
func (w *word) rowsIn(x *scan, e element, row func() error) error {
	switch e.name {
	case "tr":
		return row()
	case "sdt", "sdtContent", "ins", "customXml":
		return x.children(func(e element) error { return w.rowsIn(x, e, row) }, nil)
	}
	return nil
}

func (w *word) tableRow(x *scan, b *budget, rows *[][]cell, above map[int]string, headed *bool) error {
	var row []cell
	column, deleted := 0, false
	var read func(e element) error
	read = func(e element) error {
		switch e.name {
		case "trPr":
			return x.children(func(e element) error {
				deleted = deleted || e.name == "del"
				if e.name == "tblHeader" && e.on() && len(*rows) == 0 {
					*headed = true
				}
				return nil
			}, nil)
		case "tc":
			text, wide, merged, err := w.tableCell(x, b)
			if merged {
				text = above[column]
			} else {
				above[column] = text
			}
			if !b.spendText(len(text)) {
				return b.err
			}
			row = append(row, cell{column: column, text: text})
			column += wide
			return err
		case "sdt", "sdtContent", "customXml":
			return x.children(read, nil)
		}
		return nil
	}
	err := x.children(read, nil)
	if !deleted && len(row) > 0 {
		*rows = append(*rows, row)
	}
	return err
}

// tableCell reads a cell: its text, how many columns it takes, and whether it continues
// the one above.
func (w *word) tableCell(x *scan, b *budget) (text string, wide int, merged bool, err error) {
	wide = 1
	inner := &flow{b: b}
	err = w.cellBlocks(x, inner, func(e element) {
		switch e.name {
		case "gridSpan":
			wide = min(max(whole(e.get("val")), 1), maxColumns)
		case "vMerge":
			merged = e.get("val") != "restart"
		}
	})
	return strings.Join(inner.out, "\n"), wide, merged, err
}

func (w *word) cellBlocks(x *scan, to *flow, property func(e element)) error {
	return x.children(func(e element) error {
		switch e.name {
		case "tcPr":
			return x.children(func(e element) error { property(e); return nil }, nil)
		case "p":
			return w.paragraph(x, to)
		case "tbl":
			return w.table(x, to)
		case "sdt", "sdtContent", "customXml", "ins", "moveTo":
			return w.cellBlocks(x, to, func(element) {})
		}
		return nil
	}, nil)
}

// readNotes reads footnotes, endnotes or comments.
func (w *word) readNotes(part, typ string) error {
	return w.a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if t := e.get("type"); t != "" && t != "normal" {
				return nil // the line between text and notes
			}
			inner := &flow{b: w.a.b}
			if err := w.blocks(x, inner); err != nil {
				return err
			}
			text := strings.TrimSpace(strings.Join(inner.out, "\n"))
			const each = 64
			if w.kept += len(text) + each; text == "" || w.kept > maxSmall {
				return nil
			}
			if typ == "comments" {
				w.comments[e.get("id")] = remark(e.get("author"), text)
			} else {
				w.notes[typ+e.get("id")] = "Footnote: " + text // once, because many places may refer to it
			}
			return nil
		}, nil)
	})
}

// remark is a comment as a text shows it.
func remark(author, text string) string {
	if author = strings.TrimSpace(author); author != "" {
		return "Comment by " + author + ": " + text
	}
	return "Comment: " + text
}
