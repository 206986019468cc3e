package reader

import "strings"

// row is a table's row while its cells are read.
type row struct {
	begin int
	want  int   // line ends before it
	cells []int // where each begins
}

// endRow puts the cells of a row into one line, if each is one line.
func (w *webReader) endRow() {
	r := w.rows[len(w.rows)-1]
	w.rows = w.rows[:len(w.rows)-1]
	const longest = 64 << 10 // what is longer is a page within a table
	if len(r.cells) == 0 || r.begin > len(w.out) || len(w.out)-r.begin > longest {
		return
	}
	cells := make([]string, len(r.cells))
	first, last, flat := -1, -1, true
	for i, at := range r.cells {
		end := len(w.out)
		if i+1 < len(r.cells) {
			end = r.cells[i+1]
		}
		cells[i] = strings.Trim(string(w.out[at:end]), " \n")
		if cells[i] == "" {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		flat = flat && !strings.ContainsAny(cells[i], "\n\x01\x02")
	}
	if first < 0 || !flat {
		return
	}
	w.out = w.out[:r.begin]
	if r.begin > 0 {
		w.out = append(w.out, "\n\n"[:r.want]...)
	}
	w.out = append(w.out, strings.Join(cells[first:last+1], " | ")...)
	w.want = 1 // and not what the last cell asked for
}
