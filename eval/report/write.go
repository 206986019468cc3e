package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/percached/percached/eval/figure"
)

const (
	reportName    = "report.json"
	tablesFolder  = "tables"
	figuresFolder = "figures"
)

// WriteAll puts report.md, report.json, tables and figures into a folder, in place of
// those that an earlier report lists as its own.
func (r *Report) WriteAll(dir string) error {
	var files []file
	for _, t := range r.tables() {
		files = append(files, file{filepath.Join(tablesFolder, t.name+".csv"), t.toCSV})
	}
	files = append(files, drawings(r.charts)...)
	listed := *r
	for _, f := range files {
		listed.Files = append(listed.Files, filepath.ToSlash(f.path))
	}
	if err := withdraw(dir); err != nil {
		return err
	}
	for _, sub := range []string{tablesFolder, figuresFolder} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	// The list comes first, so that one that was cut off leaves nothing unlisted.
	return put(dir, append([]file{{reportName, listed.JSON}, {"report.md", r.Markdown}}, files...))
}

// file is one of a report.
type file struct {
	path  string // below the report's folder
	write func(io.Writer) error
}

// drawings are the files of charts.
func drawings(charts []figure.Chart) (files []file) {
	for i := range charts {
		c := &charts[i]
		files = append(files,
			file{filepath.Join(figuresFolder, c.ID+".svg"), c.SVG},
			file{filepath.Join(figuresFolder, c.ID+".png"), c.PNG})
	}
	return files
}

// put writes files, each when all of it is there.
func put(dir string, files []file) error {
	for _, f := range files {
		var b bytes.Buffer
		err := f.write(&b)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.path), b.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// withdraw removes the tables and drawings that an earlier report lists as its own. All
// else may be somebody's.
func withdraw(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old struct{ Files []string }
	if json.Unmarshal(text, &old) != nil {
		return nil // it is no report, and lists nothing
	}
	for _, name := range old.Files {
		sub := path.Dir(name)
		if name != path.Clean(name) || sub != tablesFolder && sub != figuresFolder || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// JSON writes all of it for programs.
func (r *Report) JSON(w io.Writer) error { return toJSON(w, r) }

func toJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// toCSV writes every row and number of a table.
func (t *table) toCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range t.columns {
		head = append(head, c.csv...)
	}
	rows := [][]string{head}
	for _, r := range t.rows {
		var line []string
		for _, c := range r.cells {
			line = append(line, c.csv...)
		}
		rows = append(rows, line)
	}
	return out.WriteAll(rows)
}

// Text writes what to read first, for people at a terminal.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	for _, l := range r.Header.facts() {
		fmt.Fprintln(&b, l)
	}
	t := r.main()
	fmt.Fprintf(&b, "\n%s\n", t.title)
	t.text(&b)
	fmt.Fprintf(&b, "%s\n\n", t.note)
	for _, l := range r.Headline.Words {
		fmt.Fprintln(&b, l)
	}
	for _, l := range r.troubles() {
		fmt.Fprintln(&b, l)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// text lays a table out in columns.
func (t *table) text(b *bytes.Buffer) {
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, line := range t.page() {
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	columns.Flush() //nolint:errcheck // into memory
}

// page is what a page shows of a table: its head, then its rows.
func (t *table) page() [][]string {
	line := func(of func(int) string) (shown []string) {
		for i, c := range t.columns {
			if c.head != "" {
				shown = append(shown, of(i))
			}
		}
		return shown
	}
	rows := [][]string{line(func(i int) string { return t.columns[i].head })}
	for _, r := range t.rows {
		if !r.detail {
			rows = append(rows, line(func(i int) string { return r.cells[i].text }))
		}
	}
	return rows
}
