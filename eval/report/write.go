package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

const (
	reportName    = "report.json"
	tablesFolder  = "tables"
	figuresFolder = "figures"
)

// WriteAll writes report.md, report.json, tables and figures into a folder. It replaces
// the files that an earlier report lists as its own.
func (r *Report) WriteAll(dir string) error {
	var files []file
	for _, t := range r.tables() {
		files = append(files, file{filepath.Join(tablesFolder, t.name+".csv"), t.toCSV})
	}
	files = append(files, figureFiles(r.figures)...)
	// The tables have every number of systems, and the page has the texts about figures.
	listed := *r
	listed.Systems, listed.Sweeps, listed.Walk = nil, nil, nil
	listed.Figures, listed.NoFigures, listed.Notes = nil, nil, nil
	for _, f := range files {
		listed.Files = append(listed.Files, filepath.ToSlash(f.path))
	}
	if err := removeListed(dir); err != nil {
		return err
	}
	for _, sub := range []string{tablesFolder, figuresFolder} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	// The list is written first: if the writing is interrupted, every file is listed.
	return put(dir, append([]file{{reportName, listed.JSON}, {"report.md", r.Markdown}}, files...))
}

// file is one file of a report.
type file struct {
	path  string // below the report's folder
	write func(io.Writer) error
}

// figureFiles are the drawings of figures, each for a light and for a dark page.
func figureFiles(figures []eval.Figure) (files []file) {
	for i := range figures {
		f := &figures[i]
		for end, colours := range map[string]figure.Palette{".svg": figure.Light(), "-dark.svg": figure.Dark()} {
			files = append(files, file{filepath.Join(figuresFolder, f.ID+end), func(w io.Writer) error { return figure.Draw(w, f, "svg", colours) }})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files
}

// picture shows both drawings of a figure: the reader's page chooses.
func picture(b *bytes.Buffer, id, title string) {
	at := figuresFolder + "/" + id
	fmt.Fprintf(b, "<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"%s-dark.svg\"><img alt=\"%s\" src=\"%s.svg\"></picture>\n", at, html.EscapeString(title), at)
}

// put writes files; each is rendered in memory first.
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

// removeListed removes the tables and figures that an earlier report lists as its own.
// Other files stay.
func removeListed(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old struct{ Files []string }
	if json.Unmarshal(text, &old) != nil {
		return nil // it is not a report and lists nothing
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

// JSON writes the whole report for programs.
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

// Text writes the summary for people at a terminal.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	for _, l := range r.Header.facts() {
		fmt.Fprintln(&b, l)
	}
	t := r.mainTable()
	fmt.Fprintf(&b, "\n%s\n", t.title)
	t.text(&b)
	fmt.Fprintf(&b, "%s\n\n", t.note)
	for _, l := range r.Headline.Lines {
		fmt.Fprintln(&b, l)
	}
	for _, l := range r.problems() {
		fmt.Fprintln(&b, l)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// text writes a table in columns.
func (t *table) text(b *bytes.Buffer) {
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, line := range t.page() {
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	columns.Flush() //nolint:errcheck // into memory
}

// page is the visible part of a table: its head, then its rows.
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

// Markdown writes the report as a page, with the figures in their folder beside it.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Evaluation of percached on %s, %s\n\n", safe(r.Header.Dataset), r.Header.Began.Format("2006-01-02"))
	list(&b, r.Header.facts())
	fmt.Fprint(&b, "\n## Headline\n\n")
	list(&b, r.Headline.Lines)
	if problems := r.problems(); len(problems) > 0 {
		fmt.Fprint(&b, "\n## Problems\n\n")
		list(&b, problems)
	}
	for _, t := range r.tables() {
		if t.shown() {
			t.markdown(&b)
			if t.name == "one_question" {
				r.Walk.quoted(&b)
			}
		}
	}
	fmt.Fprint(&b, "\n## Figures\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "\n### %s\n\n", safe(f.Title))
		picture(&b, f.ID, f.Title)
		var caption []string
		if f.Paper != "" {
			caption = append(caption, "Follows "+f.Paper+" of the paper.")
		}
		if f.Note != "" {
			caption = append(caption, f.Note)
		}
		if len(caption) > 0 {
			fmt.Fprintf(&b, "\n%s\n", safe(strings.Join(caption, " ")))
		}
	}
	if len(r.NoFigures) > 0 {
		fmt.Fprint(&b, "\nMissing figures:\n\n")
		list(&b, r.NoFigures)
	}
	fmt.Fprint(&b, "\n## How to read the numbers\n\n")
	list(&b, r.Notes)
	fmt.Fprint(&b, "\n## Systems\n\n")
	for i := range r.Systems {
		fmt.Fprintf(&b, "- %s: %s\n", safe(r.Systems[i].Name), safe(r.Systems[i].About))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// safe escapes text for Markdown.
func safe(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(s)
}

func list(b *bytes.Buffer, lines []string) {
	for _, l := range lines {
		fmt.Fprintf(b, "- %s\n", safe(l))
	}
}

func (t *table) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", safe(t.title))
	for i, line := range t.page() {
		for _, c := range line {
			fmt.Fprintf(b, "| %s ", safe(c))
		}
		fmt.Fprintln(b, "|")
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(line)))
		}
	}
	if t.note != "" {
		fmt.Fprintf(b, "\n%s\n", safe(t.note))
	}
}

// quoted adds the texts of the question, if Quote was called.
func (w *Walk) quoted(b *bytes.Buffer) {
	if w.Question == "" {
		return
	}
	fmt.Fprintf(b, "\n> %s\n\n", safe(w.Question))
	if w.Gold != "" {
		fmt.Fprintf(b, "- right: %s\n", safe(w.Gold))
	}
	for i := range w.Steps {
		fmt.Fprintf(b, "- %s: %s\n", safe(w.Steps[i].System), safe(w.Steps[i].Answer))
	}
}

// problems say what failed. The tables and report.json have all of it.
func (r *Report) problems() (said []string) {
	h := &r.Header
	line := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	some(line, "not finished", h.Undone)
	some(line, "not in the results", h.Absent)
	if n := len(h.Failures); n > 0 {
		line("%s failed and counts as wrong; see the table of failures.", plural(n, "request"))
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		if c := s.All.Check; c != nil && c.Differ > 0 && s.Name != wholePrompt {
			line("%s computed %d of %d answers with another text than %s, which is an error.", s.Name, c.Differ, c.Compared, s.Reference)
		}
	}
	var unread []string
	for _, u := range h.Unread {
		unread = append(unread, fmt.Sprintf("%s of %s: %s", u.Name, u.User, u.Reason))
	}
	some(line, "not read", unread)
	for _, reason := range sortedKeys(h.LeftOut) {
		line("%d parts of documents were left out: %s", h.LeftOut[reason], reason)
	}
	var skipped []string
	for _, s := range h.Skipped {
		skipped = append(skipped, s.Where+": "+s.Reason)
	}
	some(line, "skipped", skipped)
	for _, name := range sortedKeys(h.PassedOver) {
		line("ignored: the field %q, %d times", name, h.PassedOver[name])
	}
	return said
}

// some lists the first items of a list.
func some(line func(string, ...any), what string, all []string) {
	for i, one := range all {
		if i == maxNamed {
			line("%s: and %d more; see report.json", what, len(all)-i)
			return
		}
		line("%s: %s", what, one)
	}
}
