package trial

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/percached/percached/api/client"
)

const maxNamed = 20 // of many things that are alike; report.json has all

// table is rows under a head.
type table struct {
	title string
	rows  [][]string // the first one is the head
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// Text writes it for people at a terminal.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	for _, l := range r.facts() {
		fmt.Fprintln(&b, l)
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n%s\n", t.title)
		columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range t.rows {
			fmt.Fprintln(columns, strings.Join(row, "\t"))
		}
		columns.Flush() //nolint:errcheck // into memory
	}
	fmt.Fprintln(&b)
	for _, l := range r.remarks() {
		fmt.Fprintln(&b, l)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Markdown writes the same as a page.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	safe := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "`", "'")
	lines := func(list []string) {
		for _, l := range list {
			fmt.Fprintf(&b, "- %s\n", safe.Replace(l))
		}
	}
	fmt.Fprintf(&b, "# Evaluation of percached, %s\n\n", r.Began.Format("2006-01-02 15:04 MST"))
	lines(r.facts())
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n", t.title)
		for i, row := range t.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
	}
	fmt.Fprint(&b, "\n## Remarks\n\n")
	lines(r.remarks())
	_, err := w.Write(b.Bytes())
	return err
}

// facts say what was tried, with what.
func (r *Report) facts() []string {
	d, m := &r.Data, &r.Machine
	asked := fmt.Sprintf("%d", d.Tried)
	if d.Tried < d.Questions {
		asked = fmt.Sprintf("the first %d of %d", d.Tried, d.Questions)
	}
	memory := ""
	if m.MemoryBytes > 0 {
		memory = fmt.Sprintf(", %.1f GiB of memory", float64(m.MemoryBytes)/(1<<30))
	}
	facts := []string{
		fmt.Sprintf("percached: %s, commit %s", r.Version, cmp.Or(r.Commit, "unknown")),
		fmt.Sprintf("machine: %s/%s, %d CPUs (%s)%s", m.OS, m.Arch, m.CPUs, cmp.Or(m.CPU, "of unknown name"), memory),
		fmt.Sprintf("model: %s, %.1f M parameters, %d threads, K/V %s/%s; embedder %s", r.Model.Name, float64(r.Model.Parameters)/1e6, r.Model.Threads,
			r.Model.KeyType, r.Model.ValueType, r.Embedder.Name),
		fmt.Sprintf("data (%s): %d documents, %d chunks; questions: %s (%d with a right answer, %d with its document), %d paraphrases",
			r.Dataset, d.Documents, d.Chunks, asked, d.Gold, d.Located, d.Paraphrases),
	}
	if len(r.Settings) > 0 {
		var set []string
		for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
			set = append(set, fmt.Sprintf("%s=%q", key, r.Settings[key]))
		}
		facts = append(facts, "settings beside the defaults: "+strings.Join(set, " "))
	}
	return append(facts, fmt.Sprintf("took: %.1f s", r.Seconds))
}

// tables have the figures.
func (r *Report) tables() []*table {
	speed, quality := &table{title: "Latency and reuse"}, &table{title: "Quality"}
	speed.row("round", "outcome", "answers", "mean ms", "median", "p90", "first token", "chunks reused", "tokens reused")
	quality.row("round", "asked", "failed", "refusals", "exact match", "F1", "retrieval recall")
	for _, round := range r.Rounds {
		for _, outcome := range []client.Outcome{client.OutcomeAnswerHit, client.OutcomeTensorHit, client.OutcomeMiss} {
			if f, ok := round.Outcomes[outcome]; ok {
				speed.figures(round.Name, string(outcome), f)
			}
		}
		speed.figures(round.Name, "all", round.All)
		quality.row(round.Name, fmt.Sprint(round.Asked), fmt.Sprint(round.Failed), fmt.Sprint(round.Refused),
			round.Exact.String(), round.F1.String(), round.Recalled.String())
	}
	return []*table{speed, quality}
}

func (t *table) figures(round, outcome string, f Figures) {
	first := "-"
	if f.FirstToken.Count > 0 {
		first = fmt.Sprintf("%.2f", f.FirstToken.Median)
	}
	t.row(round, outcome, fmt.Sprint(f.Latency.Count), fmt.Sprintf("%.2f", f.Latency.Mean), fmt.Sprintf("%.2f", f.Latency.Median), fmt.Sprintf("%.2f", f.Latency.P90),
		first, reused(f.Chunks.Stored, f.Chunks.All), reused(f.Tokens.Reused, f.Tokens.All))
}

// reused is a part of what stood in prompts; stored answers have none.
func reused(part, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", part, all)
}

func (s Share) String() string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f (of %d)", s.Mean, s.Of)
}

// remarks say what to know when reading the figures, and what did not go well.
func (r *Report) remarks() (said []string) {
	line := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	s, d := &r.Served, &r.Data
	line("Latency is until the whole answer was there; \"all\" is with misses. The first token's is a median. What failed counts as a wrong answer.")
	line("The bank served %d answers; %d of %d checked differ from what the model computes.", s.Answers, len(s.Differing), s.Checked)
	named(line, "perhaps wrong", s.Differing, Failed.String)
	named(line, "not checked", s.Unchecked, Failed.String)
	named(line, "failed", r.Failures, Failed.String)
	named(line, "not taken in", d.Unread, func(f client.Failure) string { return f.Name + ": " + f.Reason })
	if len(d.LeftOut) > 0 {
		line("%d parts of documents were left out, such as pictures.", len(d.LeftOut))
	}
	for _, skip := range d.Skipped {
		line("skipped: %s: %s", skip.Where, skip.Reason)
	}
	named(line, "its document is none of those taken in", d.Nowhere, func(n int) string { return fmt.Sprintf("question %d", n) })
	for _, name := range slices.Sorted(maps.Keys(d.PassedOver)) {
		line("passed over: the field %q of %d questions", name, d.PassedOver[name])
	}
	return said
}

// named tells the first of many things.
func named[T any](line func(string, ...any), what string, all []T, words func(T) string) {
	for i, one := range all {
		if i == maxNamed {
			line("%s: and %d more; report.json has all", what, len(all)-i)
			return
		}
		line("%s: %s", what, words(one))
	}
}

func (f Failed) String() string {
	at := fmt.Sprintf("question %d (%s)", f.Number, f.Round)
	if f.Paraphrase > 0 {
		at = fmt.Sprintf("question %d, paraphrase %d", f.Number, f.Paraphrase)
	}
	if f.Reason != "" {
		at += ": " + f.Reason
	}
	return at
}
