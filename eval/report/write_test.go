package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// all are the files that WriteAll writes, by path.
func all(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := r.WriteAll(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The same results give the same bytes, whatever the order of the units. The files have no
// text of questions or answers.
func TestWriteAll(t *testing.T) {
	res := tiny()
	files := all(t, report.Make(res))
	for path, text := range files {
		for _, secret := range []string{"secret question", "room 7", "room 9", "hall 8", "hall 9", "made up"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q", path, secret)
			}
		}
	}
	slices.Reverse(res.Units)
	again := all(t, report.Make(res))
	for _, path := range []string{"report.md", "report.json"} {
		if d := cmp.Diff(files[path], again[path]); d != "" {
			t.Errorf("%s is another: %s", path, d)
		}
	}
	var back report.Report
	if err := json.Unmarshal([]byte(files["report.json"]), &back); err != nil {
		t.Error(err)
	}
	if back.Headline.Ours != "percached" || back.Headline.Best.Latency.Ours != 50 || len(back.Header.Failures) != 1 || len(back.Systems) != 0 {
		t.Errorf("%+v", back)
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(slices.Values(append(back.Files, "report.json", "report.md")))); d != "" {
		t.Error("the files that it lists:", d)
	}
	for _, f := range report.Make(tiny()).Figures {
		for _, end := range []string{".svg", "-dark.svg"} {
			if path := "figures/" + f.ID + end; len(files[path]) == 0 || !strings.Contains(files["report.md"], `="`+path+`"`) {
				t.Errorf("no figure %s, or not on the page", path)
			}
		}
	}
	for _, name := range []string{"systems", "latency", "users", "outcomes", "stages", "compute", "idle", "storage", "quality", "uncached", "bank", "same_text", "paper", "failures", "questions"} {
		rows, err := csv.NewReader(strings.NewReader(files["tables/"+name+".csv"])).ReadAll()
		if name == "questions" && len(rows) != 1+30 {
			t.Errorf("%d rows of questions", len(rows))
		}
		if err != nil || len(rows) < 2 {
			t.Errorf("%s: %v, %d rows", name, err, len(rows))
			continue
		}
		if heads := slices.Sorted(slices.Values(rows[0])); len(slices.Compact(heads)) != len(rows[0]) {
			t.Errorf("%s has two columns of one name: %v", name, rows[0])
		}
	}
}

// WriteAll removes the files of an earlier report, and no others.
func TestWriteAllAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs [1]", "report")
	mine := []string{"tables/mine.csv", "tables/failures.csv.bak", "figures/mine-dark.svg", "figures/mine.svg", "mine.csv", "../mine.csv"}
	write := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			at := filepath.Join(dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte("mine"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(res *eval.Results) *report.Report {
		t.Helper()
		r := report.Make(res)
		if err := r.WriteAll(dir); err != nil {
			t.Fatal(err)
		}
		return r
	}
	there := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Error(err)
			}
		}
	}
	write(mine...)
	figures := put(tiny()).Figures
	there(append(mine, "tables/failures.csv", "figures/"+figures[0].ID+"-dark.svg")...)
	nothing := tiny()
	nothing.Units = nil // so that nothing failed
	put(nothing)
	there(append(mine, "tables/systems.csv")...)
	for _, path := range []string{"tables/failures.csv", "figures/" + figures[0].ID + "-dark.svg", "figures/" + figures[0].ID + ".svg"} {
		if _, err := os.Stat(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	// A list with other places, or a file that is not a report, removes nothing.
	for _, text := range []string{
		`{"files":["mine.csv","../mine.csv","tables/../mine.csv","tables/..","tables","","/tables/mine.csv","figures/../../mine.csv"]}`,
		`[]`, `mine`, `{"files":7}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		put(nothing)
		there(mine...)
	}
}

// Quote adds the words of one question.
func TestQuote(t *testing.T) {
	res := tiny()
	r := report.Make(res)
	r.Quote(res)
	page := written(t, r.Markdown)
	for _, want := range []string{"> secret question one", "- right: room 7", "- percached: room 7"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "question two") {
		t.Error("another question is quoted as well")
	}
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page has the headline and the problems before its tables. The first table has a
// column for each measure and a row for each system.
func TestMarkdown(t *testing.T) {
	page := written(t, report.Make(tiny()).Markdown)
	at := 0
	for _, section := range []string{"# ", "\n## Headline\n", "\n## Problems\n", "\n## By system\n", "\n## Figures\n", "\n## Systems\n"} {
		next := strings.Index(page[at:], section)
		if next < 0 {
			t.Fatalf("no %q, or not in its place:\n%s", section, page)
		}
		at += next
	}
	const table = `
| system | mean latency, ms | mean first token, ms | stored answers, % | verified, % | stored tensors, % | misses, % | tokens reused | wrong served | ROUGE-L | idle tokens | failed |
|---|---|---|---|---|---|---|---|---|---|---|---|
| naive | 203.33 (132.50 to 300.00) | 122.00 (79.50 to 180.00) | 0.0 | 0.0 | 0.0 | 100.0 | 0.0 % | 0 | 0.8750 (0.7500 to 1.0000) | 0 | 0 |
| naive-parallel | 210.00 (135.00 to 310.00) | 126.00 (81.00 to 186.00) | 0.0 | 0.0 | 0.0 | 100.0 | 0.0 % | 0 | 1.0000 (1.0000 to 1.0000) | 0 | 0 |
| ragcache | 100.00 (100.00 to 100.00) | 53.33 (50.00 to 60.00) | 0.0 | 0.0 | 66.7 | 33.3 | 40.0 % | 0 | 1.0000 (1.0000 to 1.0000) | 0 | 0 |
| meancache | 95.00 (23.25 to 194.00) | 57.13 (14.25 to 116.40) | 33.3 | 0.0 | 0.0 | 66.7 | 0.0 % | 1 of 1 | 0.6250 (0.5000 to 0.7500) | 0 | 0 |
| percached | 50.00 (14.75 to 97.00) | 28.73 (8.50 to 58.20) | 33.3 | 0.0 | 33.3 | 16.7 | 40.0 % | 0 of 1 | 1.0000 (1.0000 to 1.0000) | 118 | 1 |
`
	if !strings.Contains(page, table) {
		t.Error(page)
	}
}
