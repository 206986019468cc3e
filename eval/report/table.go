package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unknown is the text of a cell without a value.
const unknown = "-"

// table is a table for the page and for CSV. In CSV each number of an estimate has a
// column of its own.
type table struct {
	name    string // of its file
	title   string
	note    string
	columns []column
	rows    []row
	hidden  bool // not on the page, because it is too long
}

type column struct {
	head string
	csv  []string
}

type row struct {
	cells  []cell
	detail bool // only in CSV
}

type cell struct {
	text string
	csv  []string
}

func (t *table) add(detail bool, cells ...cell) { t.rows = append(t.rows, row{cells, detail}) }

// shown says whether the page has a row of the table.
func (t *table) shown() bool {
	for _, r := range t.rows {
		if !r.detail {
			return !t.hidden
		}
	}
	return false
}

func plain(head, name string) column { return column{head, []string{name}} }

func estimated(head, name string) column {
	return column{head, []string{name, name + "_low", name + "_high"}}
}

func rated(head, name string) column {
	return column{head, []string{name + "_count", name + "_of", name + "_share", name + "_low", name + "_high"}}
}

func textCell(s string) cell { return cell{s, []string{s}} }

func count(n int) cell { return textCell(strconv.Itoa(n)) }

// decimal has three more digits in CSV than on the page.
func decimal(x float64, digits int) cell {
	return cell{fixed(x, digits), []string{trimmed(x, digits+3)}}
}

// trimmed has at most so many digits behind the point, and no zeros at the end.
func trimmed(x float64, digits int) string {
	s := fixed(x, digits)
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// significant has five digits in all, or the digits before the point.
func significant(x float64) string {
	return trimmed(x, max(0, 4-int(math.Floor(math.Log10(max(math.Abs(x), 1e-9))))))
}

func fixed(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if zero := strconv.FormatFloat(0, 'f', digits, 64); s == "-"+zero {
		return zero
	}
	return s
}

// scaled has another unit on the page than in CSV.
func scaled(x, unit float64, digits int) cell {
	return cell{fixed(x/unit, digits), []string{fixed(x, 0)}}
}

func perCent(share float64) cell { return cell{fixed(100*share, 1), []string{trimmed(share, 6)}} }

func maybe(x *float64, digits int) cell {
	if x == nil {
		return absent(1)
	}
	return decimal(*x, digits)
}

func absent(columns int) cell { return cell{unknown, make([]string, columns)} }

func estimate(e *Estimate, digits int) cell {
	if e == nil || e.Of == 0 {
		return absent(3)
	}
	return cell{
		fmt.Sprintf("%s (%s to %s)", fixed(e.Mean, digits), fixed(e.Low, digits), fixed(e.High, digits)),
		[]string{trimmed(e.Mean, digits+3), trimmed(e.Low, digits+3), trimmed(e.High, digits+3)},
	}
}

func rate(r *Rate) cell {
	if r == nil {
		return absent(5)
	}
	return cell{
		fmt.Sprintf("%d of %d (%s to %s %%)", r.Count, r.Of, fixed(100*r.Low, 1), fixed(100*r.High, 1)),
		[]string{strconv.Itoa(r.Count), strconv.Itoa(r.Of), trimmed(r.Share, 6), trimmed(r.Low, 6), trimmed(r.High, 6)},
	}
}

// part is a share; unknown if all is 0.
func part(of, all int) cell {
	text := unknown
	if all > 0 {
		text = fixed(100*float64(of)/float64(all), 1) + " %"
	}
	return cell{text, []string{strconv.Itoa(of), strconv.Itoa(all)}}
}

// wrongCell counts the questions that got a wrong answer.
func wrongCell(b *Bank) cell {
	switch {
	case b.Served == 0:
		return textCell("0")
	case b.Wrong == nil:
		return absent(1)
	default:
		return cell{fmt.Sprintf("%d of %d", b.Wrong.Count, b.Checked), []string{strconv.Itoa(b.Wrong.Count)}}
	}
}

// bySystem makes a row for each system. The page has only the rows of systems that are not
// variants.
func (t *table) bySystem(r *Report, cells func(*Totals) []cell) {
	t.columns = append([]column{plain("system", "system")}, t.columns...)
	for i := range r.Systems {
		s := &r.Systems[i]
		if own := cells(&s.All); own != nil {
			t.add(s.Of != "", append([]cell{textCell(s.Name)}, own...)...)
		}
	}
}
