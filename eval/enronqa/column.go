package enronqa

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// column is one of texts, or of lists of them, however its writer laid lists out.
type column struct {
	leaf int
	// A value says how much of the way to it is there, in steps: optional ones and
	// lists. lists has for each list on that way the step at which it has an element,
	// full the last step.
	lists []int
	full  int
}

// columnOf follows a column down to its texts.
func columnOf(c *parquet.Column) (column, error) {
	var out column
	name := c.Name()
	for {
		switch {
		case c.Repeated():
			out.full++
			out.lists = append(out.lists, out.full)
		case c.Optional():
			out.full++
		}
		if c.Leaf() {
			break
		}
		in := c.Columns()
		if len(in) != 1 {
			return out, errors.New("it holds records, not text")
		}
		c = in[0]
	}
	out.leaf = c.Index()
	if slices.Contains(plain(), name) != (len(out.lists) == 0) {
		if len(out.lists) == 0 {
			return out, errors.New("it is not a list")
		}
		return out, errors.New("it is a list")
	}
	return out, nil
}

// cell is a value with its place in the lists of its row: with again 0 a row
// begins, with 1 an element of the outermost list, and so on.
type cell struct {
	again, steps int
	text         string
}

// read gives the value of each row of a group: text, lists of any, or nil. Of rows
// that are not wanted it gives nil.
func (c column) read(group parquet.RowGroup, wanted func(row int) bool, do func(any)) error {
	pages := group.ColumnChunks()[c.leaf].Pages()
	defer pages.Close() //nolint:errcheck // nothing was written
	row, want := -1, false
	var cells []cell
	flush := func() {
		if row < 0 {
			return
		}
		var v any
		if len(cells) > 0 {
			v = c.nest(cells, 0)
		}
		do(v)
		cells = cells[:0]
	}
	var some [256]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			flush()
			return nil
		}
		if err != nil {
			return err
		}
		values := page.Values()
		for {
			n, err := values.ReadValues(some[:])
			for _, v := range some[:n] {
				if v.RepetitionLevel() == 0 {
					flush()
					row++
					want = wanted(row)
				} else if row < 0 {
					return errors.New("the file is damaged: it begins within a row")
				}
				if !want {
					continue
				}
				one := cell{again: v.RepetitionLevel(), steps: v.DefinitionLevel()}
				switch k := v.Kind(); {
				case v.IsNull():
				case k == parquet.ByteArray || k == parquet.FixedLenByteArray:
					one.text = string(v.ByteArray()) // a copy: the page goes
				default:
					return fmt.Errorf("it holds %v, not text", k)
				}
				cells = append(cells, one)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && n == 0 {
				err = io.ErrNoProgress
			}
			if err != nil {
				return err
			}
		}
		parquet.Release(page)
	}
}

// nest makes lists of the cells of a row, or of an element of a list at a depth.
func (c column) nest(cells []cell, depth int) any {
	first := cells[0]
	if depth == len(c.lists) {
		if first.steps < c.full {
			return nil
		}
		return first.text
	}
	if first.steps < c.lists[depth]-1 {
		return nil // there is no list
	}
	out := []any{}
	if first.steps < c.lists[depth] {
		return out
	}
	begin := 0
	for i := 1; i <= len(cells); i++ {
		if i == len(cells) || cells[i].again <= depth+1 {
			out = append(out, c.nest(cells[begin:i], depth+1))
			begin = i
		}
	}
	return out
}
