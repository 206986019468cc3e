package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// Pair names the compared systems: one of each run.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
}

// Comparison compares two runs, or two systems of one run.
type Comparison struct {
	// Differences names what differs between the runs. If it is not empty, nothing is
	// tested, because any of it may cause a difference between the systems.
	Differences []string   `json:"apart"`
	Tested      bool       `json:"tested"`
	Systems     []Compared `json:"systems"`
	OnlyA       []string   `json:"only_a"` // systems, if all are compared
	OnlyB       []string   `json:"only_b"`
}

// Compared is one pair of systems.
type Compared struct {
	Pair
	FailedA  int                 `json:"failed_a"`
	FailedB  int                 `json:"failed_b"`
	OnlyA    int                 `json:"only_a"` // questions that only one was asked
	OnlyB    int                 `json:"only_b"`
	Measures []MeasureComparison `json:"measures"`
}

// MeasureComparison compares one measure over the questions that both have.
type MeasureComparison struct {
	Name  string  `json:"name"`
	Pairs int     `json:"pairs"`
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Diff  float64 `json:"diff"` // B minus A
	Test  *Test   `json:"test,omitempty"`
}

// Test is a paired bootstrap over users and their questions.
type Test struct {
	measure.Interval         // of Diff
	P                float64 `json:"p"`
	Differ           bool    `json:"differ"` // P is below 0.05; a few questions cannot reach that
}

// Compare compares the results of a with those of b, question by question. Without pairs
// it compares every system that both have. With pairs, a and b may be the same run.
func Compare(a, b *eval.Results, pairs ...Pair) (*Comparison, error) {
	c := &Comparison{Differences: differences(a, b), Systems: []Compared{}, OnlyA: []string{}, OnlyB: []string{}}
	c.Tested = len(c.Differences) == 0
	if len(pairs) == 0 {
		for i := range a.Run.Systems {
			if name := a.Run.Systems[i].Name; has(&b.Run, name) {
				pairs = append(pairs, Pair{name, name})
			} else {
				c.OnlyA = append(c.OnlyA, name)
			}
		}
		for i := range b.Run.Systems {
			if name := b.Run.Systems[i].Name; !has(&a.Run, name) {
				c.OnlyB = append(c.OnlyB, name)
			}
		}
		if len(pairs) == 0 {
			return nil, fmt.Errorf("the runs have no system in common")
		}
	}
	x, y := open(a), open(b)
	for _, p := range pairs {
		if !has(&a.Run, p.A) {
			return nil, fmt.Errorf("the first run has no system %q", p.A)
		}
		if !has(&b.Run, p.B) {
			return nil, fmt.Errorf("the second run has no system %q", p.B)
		}
		c.Systems = append(c.Systems, compared(x, y, p, c.Tested))
	}
	return c, nil
}

func has(r *eval.Run, system string) bool {
	for i := range r.Systems {
		if r.Systems[i].Name == system {
			return true
		}
	}
	return false
}

// compared compares two systems. It takes the median of a question's repeats for times,
// and the mean for other measures.
func compared(x, y *runData, p Pair, test bool) Compared {
	a, b := x.responses[p.A], y.responses[p.B]
	out := Compared{Pair: p, Measures: []MeasureComparison{}}
	each := func(*response) (float64, bool) { return 0, true }
	all, rest := reduceRepeats(a, each, measure.Mean), reduceRepeats(b, each, measure.Mean)
	shared, _, _ := all.minus(rest)
	out.OnlyA, out.OnlyB = len(all.keys)-len(shared.keys), len(rest.keys)-len(shared.keys)
	for i := range a {
		if a[i].failed() {
			out.FailedA++
		}
	}
	for i := range b {
		if b[i].failed() {
			out.FailedB++
		}
	}
	for _, m := range []struct {
		name   string
		of     metric
		reduce func([]float64) float64
	}{
		{"latency_ms", latency, measure.Median},
		{"first_token_ms", firstToken, measure.Median},
		{"f1", right(func(s *scores) float64 { return s.f1 }), measure.Mean},
		{"rouge_l", right(func(s *scores) float64 { return s.rougeL }), measure.Mean},
		{"hit_rate", hits, measure.Mean},
	} {
		diff, mb, ma := reduceRepeats(b, m.of, m.reduce).minus(reduceRepeats(a, m.of, m.reduce))
		if len(diff.keys) == 0 {
			continue
		}
		line := MeasureComparison{Name: m.name, Pairs: len(diff.keys), A: ma, B: mb, Diff: mb - ma}
		if test {
			t := diff.test(x.run.Plan.Seed)
			line.Test = &Test{t.Interval, t.P, t.P < 0.05}
		}
		out.Measures = append(out.Measures, line)
	}
	return out
}

// JSON writes the comparison for programs.
func (c *Comparison) JSON(w io.Writer) error { return toJSON(w, c) }

// Text writes the comparison for people.
func (c *Comparison) Text(w io.Writer) error {
	var b bytes.Buffer
	if len(c.Differences) > 0 {
		fmt.Fprintln(&b, "The runs differ, so nothing is tested. Differences:")
		for _, l := range c.Differences {
			fmt.Fprintf(&b, "  %s\n", l)
		}
		fmt.Fprintln(&b)
	}
	t := &table{columns: []column{
		plain("system", ""), plain("measure", ""), plain("questions", ""), plain("A", ""), plain("B", ""), plain("B minus A", ""), plain("95 %", ""), plain("p", ""), plain("", ""),
	}}
	if c.Tested {
		t.columns[8].head = "result"
	} else {
		t.columns[6].head, t.columns[7].head = "", ""
	}
	for i := range c.Systems {
		s := &c.Systems[i]
		for _, m := range s.Measures {
			digits := 4
			if m.Name == "latency_ms" || m.Name == "first_token_ms" {
				digits = 2
			}
			interval, p, differ := textCell(unknown), textCell(unknown), textCell(unknown)
			if m.Test != nil {
				interval = textCell(fixed(m.Test.Low, digits) + " to " + fixed(m.Test.High, digits))
				p, differ = decimal(m.Test.P, 4), textCell(choose(m.Test.Differ, "differ", "no difference shown"))
			}
			t.add(false, textCell(s.sentence()), textCell(m.Name), count(m.Pairs), decimal(m.A, digits), decimal(m.B, digits), decimal(m.Diff, digits), interval, p, differ)
		}
	}
	t.text(&b)
	for i := range c.Systems {
		s := &c.Systems[i]
		if s.FailedA+s.FailedB > 0 {
			fmt.Fprintf(&b, "%s: %d requests failed in A, %d in B.\n", s.sentence(), s.FailedA, s.FailedB)
		}
		if s.OnlyA+s.OnlyB > 0 {
			fmt.Fprintf(&b, "%s: %s asked only in A, %d only in B; they are left out.\n", s.sentence(), plural(s.OnlyA, "question")+choose(s.OnlyA == 1, " was", " were"), s.OnlyB)
		}
	}
	for _, name := range c.OnlyA {
		fmt.Fprintf(&b, "%s: only in A\n", name)
	}
	for _, name := range c.OnlyB {
		fmt.Fprintf(&b, "%s: only in B\n", name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sentence names the compared systems.
func (p *Pair) sentence() string {
	if p.A == p.B {
		return p.A
	}
	return p.A + " and " + p.B
}

// differences names all differences of two runs that make a test of their systems
// meaningless.
func differences(first, second *eval.Results) []string {
	a, b, all := &first.Run, &second.Run, []string{}
	for _, f := range []struct {
		name string
		of   func(*eval.Run) any
	}{
		{"data set", func(r *eval.Run) any { return r.Dataset }},
		{"files and questions", func(r *eval.Run) any { return r.DataSum }},
		{"users", func(r *eval.Run) any { return users(r) }},
		{"model", func(r *eval.Run) any { return r.Model.Name + " " + r.Model.Fingerprint }},
		{"threads", func(r *eval.Run) any { return r.Model.Threads }},
		{"embedding model", func(r *eval.Run) any { return r.Embedder.Name + " " + r.Embedder.Fingerprint }},
		{"machine", func(r *eval.Run) any {
			m := r.Machine
			return fmt.Sprintf("%s/%s, %d CPUs (%s), %d bytes of memory", m.OS, m.Arch, m.CPUs, cmp.Or(m.CPU, "unknown model"), m.MemoryBytes)
		}},
		{"version", func(r *eval.Run) any { return r.Version }},
		{"commit", func(r *eval.Run) any { return r.Commit }},
		{"seed", func(r *eval.Run) any { return r.Plan.Seed }},
		{"repeats", func(r *eval.Run) any { return r.Plan.Repeats }},
		{"maximum questions per user", func(r *eval.Run) any { return r.Plan.Questions }},
		{"distinct questions only", func(r *eval.Run) any { return r.Plan.Distinct }},
		{"paraphrases", func(r *eval.Run) any { return r.Plan.Paraphrases }},
		{"warm-up questions", func(r *eval.Run) any { return r.Plan.Warmup }},
		{"rounds of prediction", func(r *eval.Run) any { return r.Plan.Rounds }},
		{"stride of prediction", func(r *eval.Run) any { return r.Plan.Stride }},
		{"byte limit", func(r *eval.Run) any { return r.Plan.LimitBytes }},
		{"users at a time", func(r *eval.Run) any { return max(r.Plan.AtOnce, 1) }},
		{"idle tokens before", func(r *eval.Run) any { return r.Plan.IdleTokensBefore }},
		{"idle tokens after", func(r *eval.Run) any { return r.Plan.IdleTokensAfter }},
		{"answers have a meaning", func(r *eval.Run) any { return !r.Plan.NoQuality }},
	} {
		if x, y := fmt.Sprint(f.of(a)), fmt.Sprint(f.of(b)); x != y {
			all = append(all, fmt.Sprintf("%s: %s; %s", f.name, cmp.Or(x, "unknown"), cmp.Or(y, "unknown")))
		}
	}
	if a.Commit == "" && b.Commit == "" && !a.Began.Equal(b.Began) {
		all = append(all, "commit: unknown for both runs")
	}
	if n := changedQuestions(first, second); n > 0 {
		all = append(all, fmt.Sprintf("questions: %d have another text or right answer", n))
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(append(sortedKeys(a.Settings), sortedKeys(b.Settings)...)))) {
		if x, y := a.Settings[key], b.Settings[key]; x != y {
			all = append(all, fmt.Sprintf("setting %s: %s; %s", key, cmp.Or(x, "default"), cmp.Or(y, "default")))
		}
	}
	for i := range a.Systems {
		for j := range b.Systems {
			if s, t := a.Systems[i], b.Systems[j]; s.Name == t.Name && settingsOf(&s) != settingsOf(&t) {
				all = append(all, fmt.Sprintf("settings of %s: not the same", s.Name))
			}
		}
	}
	return all
}

// users describes all users of a run.
func users(r *eval.Run) string {
	var all []string
	for _, u := range r.Users {
		all = append(all, fmt.Sprintf("%s (%s, %d files, %d questions)", u.Name, u.Kind, u.Files, u.Questions))
	}
	return strings.Join(all, ", ")
}

// changedQuestions counts the questions with the same number and another text or right
// answer.
func changedQuestions(a, b *eval.Results) (n int) {
	first := questionsAsked(a)
	for k, q := range questionsAsked(b) {
		if p := first[k]; p != nil && (p.Text != q.Text || !slices.Equal(p.Gold, q.Gold)) {
			n++
		}
	}
	return n
}

// questionsAsked are the questions that were asked, each once.
func questionsAsked(r *eval.Results) map[key]*eval.Asked {
	all := map[key]*eval.Asked{}
	for i := range r.Units {
		u, before := &r.Units[i], map[key]int{}
		for j := range u.Asked {
			k := key{user: u.User, number: u.Asked[j].Number, paraphrase: u.Asked[j].Paraphrase}
			before[k]++
			k.again = before[k] - 1
			if all[k] == nil {
				all[k] = &u.Asked[j]
			}
		}
	}
	return all
}

// settingsOf are all settings that decide what a system does.
func settingsOf(s *eval.System) string {
	said, _ := json.Marshal([]any{s.Settings, s.Idle, s.Forgets, s.Reference, s.Then})
	return string(said)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
