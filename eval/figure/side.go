package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
)

// What runs can be set side by side by.
const (
	ByMachine = "machine"
	ByModel   = "model"
)

// SideBySide sets runs next to each other, by machine or by model. There are no charts
// of fewer than two runs.
func SideBySide(rs []*eval.Results, by string) []Chart {
	if len(rs) < 2 || by != ByMachine && by != ByModel {
		return nil
	}
	var systems []string
	for _, r := range rs {
		for _, name := range open(r).own() {
			if !slices.Contains(systems, name) {
				systems = append(systems, name)
			}
		}
	}
	c := Chart{
		ID: "side-by-side-" + by, Title: "Average latency, " + by + " by " + by, Paper: "Figure 21",
		Note: "Means over all users and questions, misses included, with 95 % intervals. Runs that differ stand side by side here; that is no test.",
	}
	times := Panel{Title: "latency", XLabel: "ms"}
	ratio := Panel{Title: "of naive's", XLabel: "share"}
	good := Panel{Title: "ROUGE-L"}
	judged := by == ByModel
	if judged {
		c.Title, c.Paper = "Average latency and quality, model by model", "Figure 22"
	}
	names := labels(rs, by)
	for i, results := range rs {
		r := open(results)
		var ms, quality []spread
		for _, name := range systems {
			ms = append(ms, r.times(r.answers(name, ""), latency))
			quality = append(quality, r.mean(r.answers(name, ""), rouge))
		}
		naive := r.times(r.answers("naive", ""), latency).mean
		if naive == 0 {
			naive = math.NaN() // nothing is a share of it
		}
		t, q, of := spreads(names[i], ms), spreads(names[i], quality), Series{Name: names[i]}
		for _, m := range ms {
			of.Y = append(of.Y, m.mean/naive)
		}
		for _, s := range []*Series{&t, &q, &of} {
			s.Colour = other(i)
		}
		times.Series, ratio.Series, good.Series = append(times.Series, t), append(ratio.Series, of), append(good.Series, q)
		if judged && !r.judged() {
			judged = false
			c.Note += " " + names[i] + ": " + r.unjudged()
		}
	}
	c.Panels = []Panel{times, ratio}
	if judged {
		c.Panels = append(c.Panels, good)
	}
	for i := range c.Panels {
		p := &c.Panels[i]
		p.Kind, p.Horizontal, p.Numbers, p.Labels = Grouped, true, true, systems
	}
	c.Note += differences(rs)
	return []Chart{c}
}

// labels are what runs go by; none is another's.
func labels(rs []*eval.Results, by string) (names []string) {
	for i, r := range rs {
		m := &r.Run.Machine
		name := fmt.Sprintf("%s, %d CPUs", cmp.Or(m.CPU, m.OS+"/"+m.Arch), m.CPUs)
		if by == ByModel {
			name = cmp.Or(r.Run.Model.Name, "model without a name")
		}
		if slices.Contains(names, name) {
			name += fmt.Sprintf(" (run %d)", i+1)
		}
		names = append(names, name)
	}
	return names
}

// differences says what runs differ in besides.
func differences(rs []*eval.Results) string {
	var in []string
	for _, one := range []struct {
		what string
		is   func(*eval.Run) string
	}{
		{"data set", func(r *eval.Run) string { return r.Dataset }},
		{"version", func(r *eval.Run) string { return r.Version + " " + r.Commit }},
		{"plan", func(r *eval.Run) string { return fmt.Sprint(r.Plan) }},
		{"machine", func(r *eval.Run) string { return fmt.Sprint(r.Machine) }},
		{"model", func(r *eval.Run) string { return r.Model.Name + " " + r.Model.Fingerprint }},
	} {
		if slices.ContainsFunc(rs, func(r *eval.Results) bool { return one.is(&r.Run) != one.is(&rs[0].Run) }) {
			in = append(in, one.what)
		}
	}
	if len(in) == 0 {
		return ""
	}
	return " They differ in: " + strings.Join(in, ", ") + "."
}
