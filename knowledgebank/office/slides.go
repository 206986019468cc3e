package office

import (
	"strconv"
	"strings"
)

// readSlides reads a presentation of Microsoft PowerPoint.
func readSlides(a *archive, main string, d *Document) error {
	relations := a.relations(main)
	var order []string
	err := a.each(main, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if e.name != "sldIdLst" {
				return nil
			}
			return x.children(func(e element) error {
				if r := relations[relationID(e)]; r.typ == "slide" && len(order) < maxEntries {
					order = append(order, r.target)
				}
				return nil
			}, nil)
		}, nil)
	})
	text := &flow{b: a.b}
	for i, part := range order {
		if late := slide(a, part, i+1, text); err == nil {
			err = late
		}
		if a.b.err != nil {
			break
		}
	}
	d.Parts = []Part{{Paragraphs: text.out}}
	if a.b.err != nil {
		return a.b.err
	}
	return err
}

// relationID is the id of a relation, which has the same name as an id without a prefix.
func relationID(e element) string {
	for _, a := range e.attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// shapes collects the texts on a slide.
type shapes struct {
	b        *budget
	title    string
	out      flow
	diagrams []string // ids of relations
}

func slide(a *archive, part string, number int, to *flow) error {
	s := &shapes{b: a.b, out: flow{b: a.b}}
	err := a.each(part, func(x *scan, _ element) error { return s.tree(x) })
	if a.b.err != nil {
		return a.b.err
	}
	relations := a.relations(part)
	for _, id := range s.diagrams {
		if r := relations[id]; a.has(r.target) {
			a.each(r.target, func(x *scan, _ element) error { return s.diagram(x) }) //nolint:errcheck // a diagram that is damaged costs what it has
		}
	}
	slideText(to, number, s.title, s.out.out)
	if name := related(relations, "notesSlide"); a.has(name) {
		n := &shapes{b: a.b, out: flow{b: a.b}}
		a.each(name, func(x *scan, _ element) error { return n.tree(x) }) //nolint:errcheck // notes that are damaged cost what they have
		if len(n.out.out) > 0 {
			to.add("Speaker notes: "+strings.Join(n.out.out, "\n"), false)
		}
	}
	for _, typ := range []string{"comments", "comment"} {
		if name := related(relations, typ); a.has(name) {
			a.each(name, func(x *scan, _ element) error { return slideComments(x, to) }) //nolint:errcheck // as above
		}
	}
	return err
}

// slideText adds the texts of a slide behind a line that names it.
func slideText(to *flow, number int, title string, texts []string) {
	head := "Slide " + strconv.Itoa(number)
	if title != "" {
		head += ": " + strings.Join(strings.Fields(title), " ")
	}
	if title == "" && len(texts) == 0 {
		return
	}
	to.add(head, false)
	for _, t := range texts {
		to.add(t, false)
	}
}

func slideComments(x *scan, to *flow) error {
	return x.children(func(e element) error {
		var text string
		var err error
		switch e.name {
		case "text":
			text, err = x.text()
		case "txBody":
			var lines []string
			lines, err = drawnText(x, to.b)
			text = strings.Join(lines, "\n")
		default:
			return slideComments(x, to)
		}
		if strings.TrimSpace(text) != "" {
			to.add(remark("", text), false)
		}
		return err
	}, nil)
}

// tree reads the shapes in an element.
func (s *shapes) tree(x *scan) error {
	return x.children(func(e element) error {
		switch {
		case s.b.err != nil:
			return s.b.err
		case e.name == "sp":
			return s.shape(x)
		case e.name == "tbl":
			return s.table(x)
		case e.name == "AlternateContent":
			return x.alternate(func() error { return s.tree(x) })
		case e.name == "relIds":
			if len(s.diagrams) < maxHeaderText {
				s.diagrams = append(s.diagrams, e.get("dm"))
			}
			return nil
		case e.name == "pic" || e.name == "bg" || e.name == "timing" || strings.HasSuffix(e.name, "Pr"):
			return nil
		}
		return s.tree(x)
	}, nil)
}

// shape reads a text box. The date, the number and the footer of a slide are left out.
func (s *shapes) shape(x *scan) error {
	kind, hidden := "", false
	var lines []string
	err := x.children(func(e element) error {
		switch e.name {
		case "nvSpPr":
			return x.children(func(e element) error {
				if e.name == "cNvPr" {
					hidden = e.get("hidden") == "1" || e.get("hidden") == "true"
				}
				return x.children(func(e element) error {
					if e.name == "ph" {
						if kind = e.get("type"); kind == "" {
							kind = "obj"
						}
					}
					return nil
				}, nil)
			}, nil)
		case "txBody":
			some, err := drawnText(x, s.b)
			lines = append(lines, some...)
			return err
		}
		return nil
	}, nil)
	switch kind {
	case "dt", "ftr", "sldNum", "hdr", "sldImg":
		return err
	}
	switch {
	case hidden || len(lines) == 0:
	case (kind == "title" || kind == "ctrTitle") && s.title == "":
		s.title = strings.Join(lines, " ")
	default:
		s.out.add(bullets(lines), false)
	}
	return err
}

// bullets marks the paragraphs of a text box, if there are several.
func bullets(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return "- " + strings.Join(lines, "\n- ")
}

// drawnText reads the paragraphs of a text in a drawing.
func drawnText(x *scan, b *budget) (lines []string, err error) {
	err = x.children(func(e element) error {
		if e.name != "p" {
			return nil
		}
		var text strings.Builder
		var read func() error
		read = func() error {
			return x.children(func(e element) error {
				switch e.name {
				case "t":
					t, err := x.text()
					text.WriteString(t)
					return err
				case "br":
					text.WriteByte('\n')
					return nil
				case "tab":
					text.WriteByte('\t')
					return nil
				case "AlternateContent":
					return x.alternate(read)
				}
				if strings.HasSuffix(e.name, "Pr") {
					return nil
				}
				return read()
			}, nil)
		}
		err := read()
		if t := strings.TrimSpace(text.String()); t != "" && b.spendText(len(t)) {
			lines = append(lines, t)
		}
		return err
	}, nil)
	return lines, err
}

// table reads a table on a slide.
func (s *shapes) table(x *scan) error {
	var rows [][]cell
	headed := false
	err := x.children(func(e element) error {
		switch e.name {
		case "tblPr":
			headed = e.get("firstRow") == "1" || e.get("firstRow") == "true"
		case "tr":
			var row []cell
			err := x.children(func(e element) error {
				if e.name != "tc" {
					return nil
				}
				c := cell{column: len(row)}
				err := x.children(func(e element) error {
					if e.name != "txBody" {
						return nil
					}
					lines, err := drawnText(x, s.b)
					c.text = strings.Join(lines, "\n")
					return err
				}, nil)
				if !s.b.spendText(0) {
					return s.b.err
				}
				row = append(row, c)
				return err
			}, nil)
			rows = append(rows, row)
			return err
		}
		return nil
	}, nil)
	var lines []string
	grid(rows, headed && len(rows) > 1 && len(rows[0]) > 2, func(line string) { lines = append(lines, line) })
	s.out.lines(lines)
	return err
}

// diagram reads the texts of a drawn diagram (SmartArt).
func (s *shapes) diagram(x *scan) error {
	var lines []string
	var read func() error
	read = func() error {
		return x.children(func(e element) error {
			if e.name != "t" {
				return read()
			}
			some, err := drawnText(x, s.b)
			lines = append(lines, some...)
			return err
		}, nil)
	}
	err := read()
	if len(lines) > 0 {
		s.out.add(bullets(lines), false)
	}
	return err
}
