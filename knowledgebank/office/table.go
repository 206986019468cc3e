package office

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is a cell of a table.
type cell struct {
	column int
	text   string
	value  bool // a number or a date, which is no header
}

// table makes lines of rows: "header: value; header: value". The first row of three or more
// texts is the header; rows of two cells are a name and its value.
type table struct {
	add     func(line string)
	headers map[int]string
	pending []cell // a row that may be the header
	begun   bool   // a row was seen since the last gap
}

const maxHeaderText = 100 // bytes

var (
	yearText = regexp.MustCompile(`^(19|20)\d\d$`)
	// Numbers with a unit, dates and times, as documents write them.
	valueText = regexp.MustCompile(`^[-+(]?\s*(\pL{0,3}|\p{Sc})\s?[-+]?\d[\d.,:/'’ \x{a0}\x{202f}-]*\s?(%|\pL{0,3}|\p{Sc})\.?\)?$`)
)

// headed declares the next row to be the header, whatever it holds.
func (t *table) headed(row []cell) {
	t.flush()
	t.headers = map[int]string{}
	for _, c := range row {
		t.headers[c.column] = label(c.text)
	}
	t.begun = true
}

// row adds a row. Empty cells may be left out.
func (t *table) row(cells []cell) {
	row := cells[:0:0]
	for _, c := range cells {
		if c.text = strings.TrimSpace(c.text); c.text != "" {
			row = append(row, c)
		}
	}
	switch {
	case len(row) == 0:
		t.gap()
		return
	case t.pending != nil:
		t.headed(t.take())
	case !t.begun && header(row):
		t.pending, t.begun = row, true
		return
	}
	if len(row) > 1 {
		t.begun = true
	}
	t.line(row)
}

// take returns the row that waited.
func (t *table) take() []cell {
	row := t.pending
	t.pending = nil
	return row
}

// gap ends a table, if another header follows.
func (t *table) gap() {
	t.flush()
	t.begun = false
}

// flush writes the row that waits to be a header and has no rows below it.
func (t *table) flush() {
	if row := t.take(); row != nil {
		t.headers = nil
		t.line(row)
	}
}

// line writes a row.
func (t *table) line(row []cell) {
	if len(row) == 1 && t.headers[row[0].column] == "" {
		t.add(row[0].text)
		return
	}
	if t.headers == nil && len(row) == 2 && !row[0].value && len(row[0].text) <= maxHeaderText && !strings.Contains(row[0].text, "\n") {
		t.add(label(row[0].text) + ": " + row[1].text)
		return
	}
	const longest = 400
	n := 0
	parts := make([]string, len(row))
	for i, c := range row {
		if parts[i] = c.text; t.headers[c.column] != "" {
			parts[i] = t.headers[c.column] + ": " + c.text
		}
		n += len(parts[i])
	}
	between := "; "
	if n > longest {
		between = "\n"
	}
	t.add(strings.Join(parts, between))
}

// header reports whether a row looks like the header of a table.
func header(row []cell) bool {
	texts := 0
	for _, c := range row {
		switch {
		case len(c.text) > maxHeaderText:
			return false
		case yearText.MatchString(c.text):
		case c.value:
			return false
		default:
			texts++
		}
	}
	return len(row) >= 3 && texts > 0
}

// label is a header as lines show it: it begins with a capital, because a line that does
// not is taken for the rest of the line above.
func label(s string) string {
	s = strings.TrimRight(strings.Join(strings.Fields(s), " "), ": ")
	if len(s) > maxHeaderText {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// grid makes lines of a table that was read as a whole. A table of one row or column only
// arranges text.
func grid(rows [][]cell, headed bool, add func(line string)) {
	wide := 0
	for _, row := range rows {
		filled := 0
		for _, c := range row {
			if strings.TrimSpace(c.text) != "" {
				filled++
			}
		}
		wide = max(wide, filled)
	}
	if wide <= 1 || len(rows) == 1 {
		for _, row := range rows {
			for _, c := range row {
				if strings.TrimSpace(c.text) != "" {
					add(strings.TrimSpace(c.text))
				}
			}
		}
		return
	}
	t := &table{add: add}
	for i, row := range rows {
		for j := range row {
			row[j].value = valueText.MatchString(strings.TrimSpace(row[j].text))
		}
		if i == 0 && headed {
			t.headed(row)
			continue
		}
		t.row(row)
	}
	t.flush()
}
