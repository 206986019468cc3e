package office

import (
	"strings"
	"unicode"
)

// odf reads a file in a format of OpenDocument.
type odf struct {
	a      *archive
	styles *odfStyles
	lists  map[string]*odfCounter // by style, for lists that continue
	title  *odfCounter            // of headings
}

func readODF(a *archive, typ string) (Document, error) {
	kind, ok := strings.CutPrefix(typ, "application/vnd.oasis.opendocument.")
	if !ok {
		return Document{}, a.refuse()
	}
	if a.protected() {
		return Document{}, withPassword()
	}
	var d Document
	if a.has("meta.xml") {
		d = a.metadata("meta.xml")
	}
	o := &odf{a: a, styles: newStyles(), lists: map[string]*odfCounter{}, title: &odfCounter{}}
	if a.has("styles.xml") {
		a.each("styles.xml", func(x *scan, _ element) error { return o.styles.read(x) }) //nolint:errcheck // styles that are damaged cost what they have
	}
	var body func(x *scan) error
	switch kind, _, _ = strings.Cut(kind, "-"); kind {
	case "text":
		d.Format = "odt"
		body = func(x *scan) error {
			text := &flow{b: a.b}
			err := o.blocks(x, text)
			d.Parts = []Part{{Paragraphs: text.out}}
			return err
		}
	case "spreadsheet":
		d.Format = "ods"
		body = func(x *scan) error { return o.sheets(x, &d) }
	case "presentation":
		d.Format = "odp"
		body = func(x *scan) error {
			text := &flow{b: a.b}
			err := o.slides(x, text)
			d.Parts = []Part{{Paragraphs: text.out}}
			return err
		}
	default:
		return d, unsupported("the file is a drawing, a formula or a database of OpenDocument; save it as PDF and add that")
	}
	err := a.each("content.xml", func(x *scan, _ element) error {
		return x.children(func(e element) error {
			switch e.name {
			case "automatic-styles":
				return o.styles.read(x)
			case "body":
				return x.children(func(element) error { return body(x) }, nil)
			}
			return nil
		}, nil)
	})
	if a.b.err != nil {
		err = a.b.err
	}
	return d, err
}

// blocks reads paragraphs, lists and tables.
func (o *odf) blocks(x *scan, to *flow) error {
	return x.children(func(e element) error { return o.block(x, e, to) }, nil)
}

func (o *odf) block(x *scan, e element, to *flow) error {
	switch e.name {
	case "p":
		return o.paragraph(x, e, to, "")
	case "h":
		return o.paragraph(x, e, to, o.title.label(o.styles.outline, whole(e.get("outline-level"))-1))
	case "list":
		return o.list(x, e, to, nil, 0)
	case "table":
		return o.table(x, to)
	case "tracked-changes", "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index",
		"forms", "sequence-decls", "variable-decls", "user-field-decls", "title", "desc", "settings":
		return nil
	case "section":
		if e.get("display") == "none" {
			return nil
		}
	}
	if to.b.err != nil {
		return to.b.err
	}
	return o.blocks(x, to)
}

// odfParagraph is a paragraph while it is read.
type odfParagraph struct {
	text    strings.Builder
	space   bool // the last character is a space, which swallows more of them
	boxes   flow // what is anchored in it
	remarks []string
}

func (o *odf) paragraph(x *scan, e element, to *flow, label string) error {
	p := &odfParagraph{space: true, boxes: flow{b: to.b}}
	err := o.inline(x, p)
	text := strings.TrimSpace(p.text.String())
	if text != "" && !o.styles.hidden[e.get("style-name")] {
		to.add(label+text, label != "")
	}
	for _, t := range append(p.boxes.out, p.remarks...) {
		to.add(t, false)
	}
	return err
}

// chars adds text. Runs of white space are one space.
func (p *odfParagraph) chars(text []byte) {
	for _, r := range string(text) {
		if unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' {
			if !p.space {
				p.text.WriteByte(' ')
			}
			p.space = true
			continue
		}
		p.text.WriteRune(r)
		p.space = false
	}
}

func (p *odfParagraph) write(s string) {
	p.text.WriteString(s)
	p.space = s == "\n"
}

func (o *odf) inline(x *scan, p *odfParagraph) error {
	return x.children(func(e element) error {
		switch e.name {
		case "span":
			if o.styles.hidden[e.get("style-name")] {
				return nil
			}
		case "s":
			const most = 80
			p.write(strings.Repeat(" ", min(max(whole(e.get("c")), 1), most)))
			return nil
		case "tab":
			p.write("\t")
			return nil
		case "line-break":
			p.write("\n")
			return nil
		case "number":
			text, err := x.text()
			p.write(strings.TrimSpace(text) + " ")
			return err
		case "note":
			return o.note(x, p)
		case "annotation":
			return o.annotation(x, p)
		case "p", "h", "list", "table":
			return o.block(x, e, &p.boxes)
		case "hidden-text", "hidden-paragraph", "script", "ruby-text", "title", "desc", "tracked-changes", "object", "object-ole", "plugin",
			"page-thumbnail", "event-listeners":
			return nil
		}
		return o.inline(x, p)
	}, p.chars)
}

// note reads a footnote or an endnote.
func (o *odf) note(x *scan, p *odfParagraph) error {
	inner := &flow{b: p.boxes.b}
	err := x.children(func(e element) error {
		if e.name != "note-body" {
			return nil
		}
		return o.blocks(x, inner)
	}, nil)
	if text := strings.Join(inner.out, "\n"); text != "" {
		p.remarks = append(p.remarks, "Footnote: "+text)
	}
	return err
}

// annotation reads a comment.
func (o *odf) annotation(x *scan, p *odfParagraph) error {
	inner := &flow{b: p.boxes.b}
	author := ""
	err := x.children(func(e element) (err error) {
		switch e.name {
		case "creator":
			author, err = x.text()
		case "p", "list":
			err = o.block(x, e, inner)
		}
		return err
	}, nil)
	if text := strings.Join(inner.out, "\n"); text != "" {
		p.remarks = append(p.remarks, remark(author, text))
	}
	return err
}

// list reads a list. counter is that of the list around it.
func (o *odf) list(x *scan, e element, to *flow, counter *odfCounter, level int) error {
	if counter == nil {
		style := e.get("style-name")
		counter = o.lists[style]
		if counter == nil || e.get("continue-numbering") != "true" && e.get("continue-list") == "" {
			counter = &odfCounter{levels: o.styles.lists[style]}
			if len(o.lists) < maxEntries {
				o.lists[style] = counter
			}
		}
	}
	level = min(level, maxLevels-1)
	return x.children(func(e element) error {
		if e.name != "list-item" && e.name != "list-header" {
			return nil
		}
		label := ""
		if e.name == "list-item" {
			if start := e.get("start-value"); start != "" {
				counter.restart(level, whole(start))
			}
			label = counter.label(counter.levels, level)
			if label == "" && counter.levels == nil {
				label = "- "
			}
		}
		return x.children(func(e element) error {
			switch e.name {
			case "p", "h":
				this := label
				label = "" // only the first paragraph has it
				return o.paragraph(x, e, to, this)
			case "list":
				return o.list(x, e, to, counter, level+1)
			case "number":
				text, err := x.text()
				if text = strings.TrimSpace(text); text != "" {
					label = text + " "
				}
				return err
			}
			return o.block(x, e, to)
		}, nil)
	}, nil)
}
