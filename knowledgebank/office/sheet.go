package office

import (
	"fmt"
	"strings"
	"time"
)

// workbook reads a file of Microsoft Excel.
type workbook struct {
	a        *archive
	strings  []string // that cells share
	formats  []numberFormat
	since    time.Time // day 0
	formulas int       // without a result
}

const maxColumns = 16_384

type sheetName struct {
	name, id string
	hidden   bool
}

func readWorkbook(a *archive, main string, d *Document) error {
	w := &workbook{a: a, since: excelDay0()}
	relations := a.relations(main)
	var sheets []sheetName
	err := a.each(main, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			switch e.name {
			case "workbookPr":
				if v := e.get("date1904"); v == "1" || v == "true" {
					w.since = time.Date(1904, time.January, 1, 0, 0, 0, 0, time.UTC)
				}
			case "sheets":
				return x.children(func(e element) error {
					if len(sheets) < maxEntries {
						state := e.get("state")
						sheets = append(sheets, sheetName{strings.TrimSpace(e.get("name")), relationID(e), state == "hidden" || state == "veryHidden"})
					}
					return nil
				}, nil)
			}
			return nil
		}, nil)
	})
	if name := related(relations, "styles"); a.has(name) {
		w.readFormats(name) //nolint:errcheck // without them, numbers are shown as they are
	}
	if name := related(relations, "sharedStrings"); a.has(name) {
		if late := w.readStrings(name); err == nil {
			err = late
		}
	}
	var hidden []string
	defer func() { noteHidden(d, hidden) }()
	for _, s := range sheets {
		r := relations[s.id]
		switch {
		case a.b.err != nil:
			return a.b.err
		case s.hidden:
			hidden = append(hidden, s.name)
		case r.typ == "worksheet" && a.has(r.target):
			text := &flow{b: a.b}
			late := w.sheet(r.target, text)
			if err == nil {
				err = late
			}
			w.comments(r.target, text)
			if len(text.out) > 0 {
				d.Parts = append(d.Parts, Part{Name: s.name, Paragraphs: text.out})
			}
		}
	}
	if w.formulas > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("formulas without a stored result not read: %d; open the file in a spreadsheet program and save it", w.formulas))
	}
	if a.b.err != nil {
		return a.b.err
	}
	return err
}

// excelDay0 is the day before which Excel counts none.
func excelDay0() time.Time { return time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC) }

// noteHidden notes the sheets that are not shown, the first few by name.
func noteHidden(d *Document, names []string) {
	const most = 5
	if len(names) == 0 {
		return
	}
	some := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		some += fmt.Sprintf(" and %d more", more)
	}
	d.Notes = append(d.Notes, "hidden sheets not read: "+some+"; unhide a sheet to add it")
}

// readStrings reads the strings that cells share.
func (w *workbook) readStrings(part string) error {
	kept := 0
	return w.a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if e.name != "si" {
				return nil
			}
			s, err := richText(x)
			const each = 16
			if kept += len(s) + each; kept > maxSmall {
				return w.a.b.tooLarge("its cells have more than %d bytes of text", maxSmall)
			}
			w.strings = append(w.strings, s)
			return err
		}, nil)
	})
}

// richText reads the text of a string, without the readings of East Asian characters.
func richText(x *scan) (string, error) {
	var out strings.Builder
	var read func() error
	read = func() error {
		return x.children(func(e element) error {
			switch e.name {
			case "t":
				t, err := x.text()
				out.WriteString(unescaped(t))
				return err
			case "rPh", "phoneticPr", "rPr":
				return nil
			}
			return read()
		}, nil)
	}
	err := read()
	return out.String(), err
}

// unescaped replaces what Excel writes for control characters: "_x000D_".
func unescaped(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return strings.NewReplacer("_x000D_", "", "_x000A_", "\n", "_x0009_", "\t", "_x005F_", "_").Replace(s)
}

// sheet reads the rows of a sheet.
func (w *workbook) sheet(part string, to *flow) error {
	lines := &sheetLines{to: to}
	t := &table{add: lines.add}
	last := 0
	err := w.a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			if e.name != "sheetData" {
				return nil
			}
			return x.children(func(e element) error {
				if e.name != "row" {
					return nil
				}
				number := whole(e.get("r"))
				if number == 0 {
					number = last + 1
				}
				if number > last+1 {
					t.gap()
					lines.end()
				}
				last = number
				row, err := w.row(x)
				t.row(row)
				if len(row) == 0 {
					lines.end()
				}
				if to.b.err != nil {
					return to.b.err
				}
				return err
			}, nil)
		}, nil)
	})
	t.flush()
	lines.end()
	return err
}

// sheetLines puts lines that follow each other into one paragraph.
type sheetLines struct {
	to   *flow
	open []string
	size int
}

func (l *sheetLines) add(line string) {
	const most = 64 << 10
	l.open = append(l.open, line)
	if l.size += len(line); l.size > most {
		l.end()
	}
}

func (l *sheetLines) end() {
	if len(l.open) > 0 {
		l.to.lines(l.open)
	}
	l.open, l.size = nil, 0
}

// row reads the cells of a row.
func (w *workbook) row(x *scan) (row []cell, err error) {
	column := -1
	err = x.children(func(e element) error {
		if e.name != "c" {
			return nil
		}
		if column++; e.get("r") != "" {
			column = columnOf(e.get("r"))
		}
		text, value, err := w.cell(x, e)
		if text != "" && column >= 0 && column < maxColumns {
			if !w.a.b.spendText(len(text)) { // cells share strings
				return w.a.b.err
			}
			row = append(row, cell{column, text, value})
		}
		return err
	}, nil)
	return row, err
}

// columnOf is the column in a reference like "AB12", from 0; -1 if it has none.
func columnOf(ref string) int {
	n := 0
	for i := 0; i < len(ref) && i < 4 && ref[i]|0x20 >= 'a' && ref[i]|0x20 <= 'z'; i++ {
		n = 26*n + int(ref[i]|0x20-'a') + 1
	}
	return n - 1
}

// cell reads a cell as it is shown.
func (w *workbook) cell(x *scan, e element) (text string, value bool, err error) {
	var raw, inline string
	formula := false
	err = x.children(func(e element) error {
		var err error
		switch e.name {
		case "v":
			raw, err = x.text()
		case "is":
			inline, err = richText(x)
		case "f":
			formula = true
		}
		return err
	}, nil)
	raw = strings.TrimSpace(raw)
	typ := e.get("t")
	switch {
	case typ == "inlineStr":
		return strings.TrimSpace(inline), false, err
	case raw == "":
		if formula && typ != "str" {
			w.formulas++
		}
		return "", false, err
	case typ == "s":
		if i := whole(raw); i >= 0 && i < len(w.strings) && raw[0] != '-' {
			return strings.TrimSpace(w.strings[i]), false, err
		}
		return "", false, err
	case typ == "str":
		return unescaped(raw), false, err
	case typ == "b":
		return map[bool]string{true: "TRUE", false: "FALSE"}[raw == "1"], true, err
	case typ == "e":
		return "", true, err // #DIV/0!
	case typ == "d":
		if t := moment(raw); !t.IsZero() {
			return dateText(t, true, true, true, t.Hour()+t.Minute()+t.Second() > 0), true, err
		}
		return raw, true, err
	}
	var f numberFormat
	if i := whole(e.get("s")); i > 0 && i < len(w.formats) || i == 0 && len(w.formats) > 0 {
		f = w.formats[i]
	}
	return f.show(raw, w.since), true, err
}

// comments adds the comments of a sheet.
func (w *workbook) comments(sheet string, to *flow) {
	for _, typ := range []string{"comments", "threadedComment"} {
		part := related(w.a.relations(sheet), typ)
		if !w.a.has(part) {
			continue
		}
		found := len(to.out)
		w.a.each(part, func(x *scan, _ element) error { //nolint:errcheck // comments that are damaged cost what they have
			var authors []string
			var read func(e element) error
			read = func(e element) error {
				var text, by string
				var err error
				switch e.name {
				case "author":
					by, err = x.text()
					authors = append(authors, by)
					return err
				case "comment":
					if i := whole(e.get("authorId")); i >= 0 && i < len(authors) {
						by = authors[i]
					}
					text, err = richText(x)
				case "threadedComment":
					text, err = x.text()
				default:
					return x.children(read, nil)
				}
				if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "[Threaded comment]") {
					if strings.HasPrefix(by, "tc={") {
						by = ""
					}
					to.add("Cell "+e.get("ref")+": "+remark(by, strings.TrimPrefix(text, by+":")), false)
				}
				return err
			}
			return x.children(read, nil)
		})
		if len(to.out) > found && typ == "comments" {
			return
		}
	}
}
