package office

import "strings"

// table reads a table in a text.
func (o *odf) table(x *scan, to *flow) error {
	var rows [][]cell
	headed := false
	err := o.rows(x, to.b, func(row []cell, head bool, _ int) {
		headed = headed || head && len(rows) == 0
		rows = append(rows, row)
	})
	var lines []string
	grid(rows, headed, func(line string) { lines = append(lines, line) })
	to.lines(lines)
	return err
}

// rows calls add for each row of a table. times is how often it is repeated.
func (o *odf) rows(x *scan, b *budget, add func(row []cell, head bool, times int)) error {
	var read func(head bool) error
	read = func(head bool) error {
		return x.children(func(e element) error {
			switch e.name {
			case "table-header-rows":
				return read(true)
			case "table-rows", "table-row-group":
				return read(head)
			case "table-row":
				if !b.spendText(0) {
					return b.err
				}
				row, err := o.row(x, b)
				add(row, head, repeats(e, "number-rows-repeated", 1<<20))
				if b.err != nil {
					return b.err
				}
				return err
			}
			return nil
		}, nil)
	}
	return read(false)
}

func (o *odf) row(x *scan, b *budget) (row []cell, err error) {
	const most = 64 // a value that is repeated more often fills a form
	column := 0
	err = x.children(func(e element) error {
		if e.name != "table-cell" && e.name != "covered-table-cell" {
			return nil
		}
		times := repeats(e, "number-columns-repeated", maxColumns)
		inner := &flow{b: b}
		err := o.blocks(x, inner)
		text := strings.Join(inner.out, "\n")
		value := false
		switch e.get("value-type") {
		case "float", "percentage", "currency", "time", "boolean":
			value = true
		case "date":
			value = true
			if t := moment(e.get("date-value")); !t.IsZero() {
				clock := strings.Contains(e.get("date-value"), "T") && strings.Contains(text, ":")
				text = dateText(t, true, true, true, clock)
			}
		}
		for i := range min(times, most) {
			if text != "" && column+i < maxColumns && len(row) < maxColumns && b.spendText(len(text)) {
				row = append(row, cell{column + i, text, value})
			}
		}
		column = min(column+times, maxColumns)
		return err
	}, nil)
	return row, err
}

// sheets reads a spreadsheet.
func (o *odf) sheets(x *scan, d *Document) error {
	var hidden []string
	defer func() { noteHidden(d, hidden) }()
	return x.children(func(e element) error {
		if e.name != "table" {
			return nil
		}
		name := strings.TrimSpace(e.get("name"))
		if o.styles.hidden[e.get("style-name")] {
			hidden = append(hidden, name)
			return nil
		}
		text := &flow{b: o.a.b}
		lines := &sheetLines{to: text}
		t := &table{add: lines.add}
		err := o.rows(x, o.a.b, func(row []cell, head bool, times int) {
			const most = 100
			if len(row) == 0 {
				t.gap()
				lines.end()
				return
			}
			if head && t.headers == nil && len(row) > 1 {
				t.headed(row)
				return
			}
			for range min(times, most) {
				t.row(row)
			}
		})
		t.flush()
		lines.end()
		if len(text.out) > 0 {
			d.Parts = append(d.Parts, Part{Name: name, Paragraphs: text.out})
		}
		return err
	}, nil)
}

// slides reads a presentation.
func (o *odf) slides(x *scan, to *flow) error {
	number := 0
	return x.children(func(e element) error {
		if e.name != "page" {
			return nil
		}
		number++
		title := ""
		notes := &flow{b: to.b}
		texts := &flow{b: to.b}
		err := o.shapes(x, texts, notes, &title)
		slideText(to, number, title, texts.out)
		if len(notes.out) > 0 {
			to.add("Speaker notes: "+strings.Join(notes.out, "\n"), false)
		}
		return err
	}, nil)
}

// shapes reads what is on a slide.
func (o *odf) shapes(x *scan, to, notes *flow, title *string) error {
	return x.children(func(e element) error {
		switch e.name {
		case "notes":
			unused := ""
			return o.shapes(x, notes, notes, &unused)
		case "g", "a":
			return o.shapes(x, to, notes, title)
		case "annotation":
			p := &odfParagraph{boxes: flow{b: to.b}}
			err := o.annotation(x, p)
			for _, r := range p.remarks {
				to.add(r, false)
			}
			return err
		case "page-thumbnail", "forms", "animations", "par", "event-listeners":
			return nil
		}
		switch e.get("class") {
		case "page-number", "footer", "header", "date-time", "page":
			return nil
		}
		inner := &flow{b: to.b}
		err := o.blocks(x, inner)
		if e.get("class") == "title" && *title == "" {
			*title = strings.Join(inner.out, " ")
			return err
		}
		for _, t := range inner.out {
			to.add(t, strings.HasPrefix(t, "- "))
		}
		return err
	}, nil)
}
