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

// parquetRows reads a parquet file, one of its groups of rows at a time. Groups
// without a user who is kept are read no further than to know that.
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

// footed says how large a parquet file is, and that its end lies within it:
// parquet-go makes room for the end first.
func footed(in *os.File) (int64, error) {
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	var end [8]byte
	if size < 12 {
		return 0, errors.New("not a parquet file: it is too short")
	}
	if _, err := in.ReadAt(end[:], size-8); err != nil {
		return 0, err
	}
	if string(end[4:]) != "PAR1" || int64(binary.LittleEndian.Uint32(end[:])) > size-12 {
		return 0, errors.New("not a parquet file, or its end is missing")
	}
	return size, nil
}

// guarded makes an error of a panic: parquet-go panics on some damaged files.
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
	columns map[string]column // those that are read, and others with what is wrong with them
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

// rows reads a group: rows that are not kept have no columns.
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
			err = fmt.Errorf("the file is damaged: there are %d rows and not %d", n, len(kept))
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}
