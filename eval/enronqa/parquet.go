package enronqa

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// parquetRows reads a parquet file, one row group at a time. It skips a group without a
// chosen user.
func parquetRows(path, name string, keep func(string) bool, do func(row)) (about, error) {
	a := about{columns: map[string]bool{}}
	in, err := os.Open(path)
	if err != nil {
		return a, err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	size, err := footed(in)
	if err != nil {
		return a, err
	}
	var t table
	err = guarded(func() error { return t.open(in, size) })
	if err != nil {
		return a, err
	}
	for c := range t.columns {
		a.columns[c] = true
	}
	for i := range t.groups {
		var rows []row
		err := guarded(func() error { return t.rows(i, keep, &rows) })
		if err != nil {
			return a, fmt.Errorf("row group %d: %w", i+1, err)
		}
		for _, r := range rows {
			if r.columns != nil {
				r.where = fmt.Sprintf("%s row %d", name, a.rows+1)
				r.others = t.others
				do(r)
			}
			a.rows++
		}
	}
	return a, nil
}

// footed is the size of a parquet file. It checks that the footer lies within the file,
// because parquet-go allocates the footer first.
func footed(in *os.File) (int64, error) {
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	var end [8]byte
	if size < 12 {
		return 0, errors.New("not a parquet file: too short")
	}
	if _, err := in.ReadAt(end[:], size-8); err != nil {
		return 0, err
	}
	if string(end[4:]) != "PAR1" || int64(binary.LittleEndian.Uint32(end[:])) > size-12 {
		return 0, errors.New("not a parquet file, or its footer is missing")
	}
	return size, nil
}

// guarded turns a panic into an error: parquet-go panics on some damaged files.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return do()
}

// table is an open parquet file.
type table struct {
	groups  []parquet.RowGroup
	columns map[string]column // the known columns
	others  []string
}

func (t *table) open(in io.ReaderAt, size int64) error {
	f, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(256<<10))
	if err != nil {
		return err
	}
	t.groups, t.columns = f.RowGroups(), map[string]column{}
	for _, c := range f.Root().Columns() {
		if !slices.Contains(columns(), c.Name()) {
			t.others = append(t.others, c.Name())
			continue
		}
		if t.columns[c.Name()], err = columnOf(c); err != nil {
			return fmt.Errorf("column %s: %w", c.Name(), err)
		}
	}
	return nil
}

// rows reads a row group. Rows that are not kept have no columns.
func (t *table) rows(group int, keep func(string) bool, rows *[]row) error {
	var kept []bool
	if c, ok := t.columns["user"]; ok {
		err := c.read(t.groups[group], func(int) bool { return true }, func(v any) {
			user, _ := text(v)
			kept = append(kept, keep(user))
		})
		if err != nil {
			return fmt.Errorf("column user: %w", err)
		}
	}
	*rows = make([]row, len(kept))
	if !slices.Contains(kept, true) {
		return nil
	}
	for i := range *rows {
		if kept[i] {
			(*rows)[i].columns = map[string]any{}
		}
	}
	for name, c := range t.columns {
		n := 0
		err := c.read(t.groups[group], func(i int) bool { return i < len(kept) && kept[i] }, func(v any) {
			if n < len(kept) && kept[n] {
				(*rows)[n].columns[name] = v
			}
			n++
		})
		if err == nil && n != len(kept) {
			err = fmt.Errorf("the file is damaged: %d rows, expected %d", n, len(kept))
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}

// column is a column of texts, or of lists of texts, in any list layout.
type column struct {
	leaf int
	// Definition levels: lists has, for each list on the way to a value, the level at
	// which it has an element; full is the level of a value.
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
			return out, errors.New("it has records, not text")
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

// cell is a value with its repetition level (again) and definition level (steps). With
// again 0 a row begins, with 1 an element of the outermost list, and so on.
type cell struct {
	again, steps int
	text         string
}

// read passes the value of each row of a group to do: text, lists of any, or nil. Rows
// that are not wanted are nil.
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
					return errors.New("the file is damaged: it begins in the middle of a row")
				}
				if !want {
					continue
				}
				one := cell{again: v.RepetitionLevel(), steps: v.DefinitionLevel()}
				switch k := v.Kind(); {
				case v.IsNull():
				case k == parquet.ByteArray || k == parquet.FixedLenByteArray:
					one.text = string(v.ByteArray()) // a copy: the page is released
				default:
					return fmt.Errorf("it has %v, not text", k)
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

// nest makes lists of the cells of a row, or of a list element at a depth.
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
