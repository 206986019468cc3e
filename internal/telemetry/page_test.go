package telemetry

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed is a metric in docs/metrics.md.
type listed struct {
	Kind   string
	Labels []string
}

// page reads docs/metrics.md: metrics, label values and suggested queries.
func page(t *testing.T) (metrics map[string]listed, words map[string][]string, queries []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(s string) (out []string) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		return out
	}
	metrics, words = map[string]listed{}, map[string][]string{}
	var fence string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if lang, ok := strings.CutPrefix(line, "```"); ok {
			fence = lang
			continue
		}
		if fence == "promql" {
			queries = append(queries, line)
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		first := quoted(cells[0])
		switch {
		case len(cells) == 4 && len(first) == 1 && strings.TrimSpace(cells[3]) != "":
			metrics[first[0]] = listed{strings.TrimSpace(cells[1]), slices.Sorted(slices.Values(quoted(cells[2])))}
		case len(cells) == 2:
			words[strings.Join(first, " of ")] = slices.Sorted(slices.Values(quoted(cells[1])))
		default:
			t.Errorf("not understood: %s", line)
		}
	}
	return metrics, words, queries
}

// The page lists exactly the existing metrics with their labels and words.
func TestPage(t *testing.T) {
	m := pedantic()
	busy(m)
	s := scrape(t, m)
	there := map[string]listed{}
	for _, name := range s.own() {
		there[name] = listed{s.kinds[name], slices.Sorted(maps.Keys(s.words[name]))}
	}
	told, words, _ := page(t)
	if d := cmp.Diff(there, told); d != "" {
		t.Errorf("metrics (-there +told): %s", d)
	}
	used := map[string]bool{}
	for _, name := range s.own() {
		for label, have := range s.words[name] {
			switch label {
			case "operation", "status", "class": // begin with their first request
				continue
			}
			key := label + " of " + name
			if words[key] == nil {
				key = label
			}
			used[key] = true
			if d := cmp.Diff(slices.Sorted(maps.Keys(have)), words[key]); d != "" {
				t.Errorf("%s of %s (-there +told): %s", label, name, d)
			}
		}
	}
	for key := range words {
		if !used[key] {
			t.Errorf("no metric has the label %s", key)
		}
	}
}

// The suggested queries name existing series.
func TestPageQueries(t *testing.T) {
	m := pedantic()
	busy(m)
	s := scrape(t, m)
	_, _, queries := page(t)
	if len(queries) < 10 {
		t.Fatalf("%d queries", len(queries))
	}
	for _, q := range queries {
		s.answers(t, q)
	}
}

// The page for operators names existing metrics.
func TestOperationsPage(t *testing.T) {
	m := pedantic()
	busy(m)
	s := scrape(t, m)
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(percached_[a-z_]+)").FindAllStringSubmatch(string(text), -1)
	if len(named) < 5 {
		t.Fatalf("%d metrics", len(named))
	}
	for _, n := range named {
		if s.kinds[n[1]] == "" {
			t.Errorf("there is no %s", n[1])
		}
	}
}
