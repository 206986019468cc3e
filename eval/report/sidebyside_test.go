package report_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// On the second of two machines everything takes twice as long and meancache did not run.
// Each machine has its columns; missing values are empty.
func TestBeside(t *testing.T) {
	quick, slow := tiny(), tiny()
	slow.Run.Machine.CPU = "slow CPU"
	slow.Run.Systems = append(slow.Run.Systems[:3:3], slow.Run.Systems[4])
	each(slow, func(_ string, _ int, a *eval.Answer) { a.TotalMS, a.FirstMS = 2*a.TotalMS, 2*a.FirstMS })
	read := func() map[string]string {
		dir := filepath.Join(t.TempDir(), "new")
		if err := report.SideBySide(dir, []*eval.Results{quick, slow}); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, name := range []string{"side-by-side.md", "side-by-side.csv"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(b)
		}
		drawings, err := filepath.Glob(filepath.Join(dir, "figures", "*"))
		if err != nil || len(drawings) != 4 {
			t.Errorf("two figures have the drawings %v: %v", drawings, err)
		}
		for _, path := range drawings {
			if !strings.Contains(files["side-by-side.md"], `="figures/`+filepath.Base(path)+`"`) {
				t.Errorf("the page does not show %s", path)
			}
		}
		return files
	}
	files := read()
	if d := cmp.Diff(files, read()); d != "" {
		t.Errorf("the same runs give something else: %s", d)
	}
	for _, want := range []string{
		"## Run 1: plain", "## Run 2: plain", "2 CPUs (slow CPU)", "| ragcache | 100.00 (100.00 to 100.00) |", "| 200.00 (200.00 to 200.00) |",
		"| meancache | 95.00 (23.25 to 194.00) | 57.13 (14.25 to 116.40) | - | - |",
	} {
		if !strings.Contains(files["side-by-side.md"], want) {
			t.Errorf("no %q in\n%s", want, files["side-by-side.md"])
		}
	}
	rows, err := csv.NewReader(strings.NewReader(files["side-by-side.csv"])).ReadAll()
	if err != nil || len(rows) != 6 || len(rows[0]) != 1+2*2*3 {
		t.Fatalf("%v, %q", err, rows)
	}
	for _, row := range rows[1:] {
		if row[0] == "ragcache" && (row[1] != "100" || row[7] != "200") || row[0] == "meancache" && row[7] != "" {
			t.Errorf("%q of %q", row, rows[0])
		}
	}
	if err := report.SideBySide(t.TempDir(), []*eval.Results{quick}); err == nil {
		t.Error("one run stands beside itself")
	}
}

// Runs over different data are named by their data.
func TestBesideByData(t *testing.T) {
	one, other := tiny(), tiny()
	other.Run.Dataset = "locomo"
	dir := t.TempDir()
	if err := report.SideBySide(dir, []*eval.Results{one, other}); err != nil {
		t.Fatal(err)
	}
	drawing, err := os.ReadFile(filepath.Join(dir, "figures", "side-by-side-model.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{", plain<", ", locomo<"} {
		if !strings.Contains(string(drawing), want) {
			t.Errorf("no %q in %s", want, drawing)
		}
	}
}
