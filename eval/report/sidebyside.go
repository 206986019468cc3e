package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
)

// SideBySide writes side-by-side.md, side-by-side.csv and figures into a folder. They
// show several runs by machine and by model, and test nothing.
func SideBySide(dir string, runs []*eval.Results) error {
	if len(runs) < 2 {
		return fmt.Errorf("cannot compare %d run: name two or more", len(runs))
	}
	c := compareRuns(runs)
	t := c.table()
	figures := []eval.Figure{c.figure(byMachine), c.figure(byModel)}
	var page bytes.Buffer
	fmt.Fprint(&page, "# Runs side by side\n")
	for i, data := range c.runs {
		fmt.Fprintf(&page, "\n## Run %d: %s\n\n", i+1, safe(data.run.Dataset))
		h := data.header()
		list(&page, h.facts())
	}
	t.markdown(&page)
	if err := os.MkdirAll(filepath.Join(dir, figuresFolder), 0o755); err != nil {
		return err
	}
	for i := range figures {
		f := &figures[i]
		fmt.Fprintln(&page)
		picture(&page, f.ID, f.Title)
		fmt.Fprintf(&page, "\n%s\n", safe(f.Note))
	}
	return put(dir, append(figureFiles(figures),
		file{"side-by-side.csv", t.toCSV},
		file{"side-by-side.md", func(w io.Writer) error {
			_, err := page.WriteTo(w)
			return err
		}}))
}

// severalRuns are runs with the totals of their systems.
type severalRuns struct {
	results []*eval.Results
	runs    []*runData
	systems []string
	totals  map[string][]*Totals // by system, one for each run; nil: the run lacks it
}

func compareRuns(results []*eval.Results) *severalRuns {
	c := &severalRuns{results: results, totals: map[string][]*Totals{}}
	for i, r := range results {
		data := open(r)
		c.runs = append(c.runs, data)
		for j := range r.Run.Systems {
			s := &r.Run.Systems[j]
			if c.totals[s.Name] == nil {
				c.totals[s.Name] = make([]*Totals, len(results))
				c.systems = append(c.systems, s.Name)
			}
			sum := data.totals(s, "", data.responses[s.Name])
			c.totals[s.Name][i] = &sum
		}
	}
	return c
}

// table has a row for each system and two columns for each run.
func (c *severalRuns) table() *table {
	t := &table{
		title: "By system", columns: []column{plain("system", "system")},
		note: "Means with 95 % intervals, misses included. The runs differ in more than their systems: see above.",
	}
	for i := range c.runs {
		t.columns = append(t.columns,
			estimated(fmt.Sprintf("run %d: mean latency, ms", i+1), fmt.Sprintf("latency_ms_%d", i+1)),
			estimated(fmt.Sprintf("run %d: mean first token, ms", i+1), fmt.Sprintf("first_token_ms_%d", i+1)))
	}
	for _, name := range c.systems {
		cells := []cell{textCell(name)}
		for _, sum := range c.totals[name] {
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

const (
	byMachine = "machine"
	byModel   = "model"
)

// figure shows the runs by machine or by model; by model also their quality.
func (c *severalRuns) figure(by string) eval.Figure {
	f := eval.Figure{
		ID: "side-by-side-" + by, Title: "Average latency, " + by + " by " + by, Paper: "Figure 21",
		Note: "Means over all users and questions, misses included, with 95 % intervals. The runs are shown side by side and not tested.",
	}
	var systems []string
	for _, data := range c.runs {
		for i := range data.run.Systems {
			if s := &data.run.Systems[i]; s.Of == "" && !slices.Contains(systems, s.Name) {
				systems = append(systems, s.Name)
			}
		}
	}
	judged := by == byModel
	if judged {
		f.Title, f.Paper = "Average latency and quality, model by model", "Figure 22"
	}
	panel := func(title, unit string) eval.Panel {
		return eval.Panel{Title: title, XLabel: unit, Kind: eval.Bars, Horizontal: true, Labels: systems}
	}
	latency, ratio, quality := panel("latency", "ms"), panel("of naive's latency", "share"), panel("ROUGE-L", "")
	for i, name := range runNames(c.runs, by) {
		naive := math.NaN() // nothing is a share of it
		if sums := c.totals["naive"]; sums != nil && sums[i] != nil && sums[i].Latency.Mean > 0 {
			naive = sums[i].Latency.Mean
		}
		times, shares, scores := eval.Series{Name: name}, eval.Series{Name: name}, eval.Series{Name: name}
		for _, system := range systems {
			var mean, rouge *Estimate
			if sum := c.totals[system][i]; sum != nil && sum.Latency.Of > 0 {
				mean = &sum.Latency.Estimate
				if sum.Quality != nil {
					rouge = &sum.Quality.RougeL
				}
			}
			addEstimate(&times, mean)
			addEstimate(&scores, rouge)
			v, ok := times.Value(len(times.Y) - 1)
			if !ok {
				v = math.NaN()
			}
			shares.Y = append(shares.Y, v/naive)
		}
		latency.Series, ratio.Series, quality.Series = append(latency.Series, times), append(ratio.Series, shares), append(quality.Series, scores)
		if why := c.runs[i].noQuality(); judged && why != "" {
			judged = false
			f.Note += " " + name + ": " + why
		}
	}
	f.Panels = []eval.Panel{latency, ratio}
	if judged {
		f.Panels = append(f.Panels, quality)
	}
	if names := c.differing(); len(names) > 0 {
		f.Note += " They differ in: " + strings.Join(names, ", ") + "."
	}
	tidy(&f)
	return f
}

// differing names in what the runs differ from the first.
func (c *severalRuns) differing() (names []string) {
	for _, r := range c.results[1:] {
		for _, d := range differences(c.results[0], r) {
			if name, _, _ := strings.Cut(d, ":"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// runNames name the runs by machine or by model, and by their data if it is not the same. No
// two names are the same.
func runNames(runs []*runData, by string) (names []string) {
	of := func(r *runData) string { return r.run.Dataset }
	oneDataset := len(slices.CompactFunc(slices.Clone(runs), func(a, b *runData) bool { return of(a) == of(b) })) == 1
	for i, data := range runs {
		m := &data.run.Machine
		name := fmt.Sprintf("%s, %d CPUs", cmp.Or(m.CPU, m.OS+"/"+m.Arch), m.CPUs)
		if by == byModel {
			name = cmp.Or(data.run.Model.Name, "model without a name")
		}
		if !oneDataset {
			name += ", " + of(data)
		}
		if slices.Contains(names, name) {
			name += fmt.Sprintf(" (run %d)", i+1)
		}
		names = append(names, name)
	}
	return names
}
