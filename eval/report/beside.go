package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

// Beside puts runs next to each other, machine by machine and model by model: into a
// folder go side-by-side.md, side-by-side.csv and figures. Nothing is tested.
func Beside(dir string, runs []*eval.Results) error {
	if len(runs) < 2 {
		return fmt.Errorf("%d run is not side by side with another", len(runs))
	}
	var charts []figure.Chart
	for _, by := range []string{figure.ByMachine, figure.ByModel} {
		charts = append(charts, figure.SideBySide(runs, by)...)
	}
	t := beside(runs)
	var page bytes.Buffer
	fmt.Fprint(&page, "# Runs side by side\n")
	for i, r := range runs {
		fmt.Fprintf(&page, "\n## Run %d: %s\n\n", i+1, safe(r.Run.Dataset))
		h := open(r).header()
		list(&page, h.facts())
	}
	t.markdown(&page)
	if err := os.MkdirAll(filepath.Join(dir, figuresFolder), 0o755); err != nil {
		return err
	}
	for i := range charts {
		c := &charts[i]
		fmt.Fprintf(&page, "\n![%s](%s/%s.svg)\n\n%s\n", safe(c.Title), figuresFolder, c.ID, safe(c.Note))
	}
	return put(dir, append(drawings(charts),
		file{"side-by-side.csv", t.toCSV},
		file{"side-by-side.md", func(w io.Writer) error {
			_, err := page.WriteTo(w)
			return err
		}}))
}

// beside has a row for each system and two columns for each run.
func beside(runs []*eval.Results) *table {
	t := &table{
		title: "By system", columns: []column{plain("system", "system")},
		note: "Means with 95 % intervals, misses included. Runs differ in more than their systems: see above.",
	}
	var systems []string
	of := map[string][]*Totals{}
	for i, r := range runs {
		t.columns = append(t.columns,
			estimated(fmt.Sprintf("run %d: mean latency, ms", i+1), fmt.Sprintf("latency_ms_%d", i+1)),
			estimated(fmt.Sprintf("run %d: mean first token, ms", i+1), fmt.Sprintf("first_token_ms_%d", i+1)))
		b := open(r)
		for j := range r.Run.Systems {
			s := &r.Run.Systems[j]
			if of[s.Name] == nil {
				of[s.Name] = make([]*Totals, len(runs))
				systems = append(systems, s.Name)
			}
			sum := b.totals(s, "", b.askings[s.Name])
			of[s.Name][i] = &sum
		}
	}
	for _, name := range systems {
		cells := []cell{words(name)}
		for _, sum := range of[name] {
			if sum == nil {
				cells = append(cells, absent(3), absent(3))
				continue
			}
			cells = append(cells, estimate(&sum.Latency.Estimate, 2), estimate(&sum.FirstToken.Estimate, 2))
		}
		t.add(false, cells...)
	}
	return t
}
