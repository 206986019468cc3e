package telemetry

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	selector = regexp.MustCompile(`(percached_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`(\w+)(!=|=~|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// answers checks a query: it names existing series, labels and words, and uses a rate where
// possible. It returns the labels of the result.
func (s scraped) answers(t *testing.T, q string) map[string]bool {
	t.Helper()
	labels := map[string]bool{"instance": true} // Prometheus adds it
	for _, f := range selector.FindAllStringSubmatch(q, -1) {
		name, kind := f[1], s.kinds[f[1]]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && s.kinds[base] == "histogram" {
				name, kind = base, "histogram"
				labels["le"] = labels["le"] || suffix == "_bucket"
			}
		}
		if kind == "" || kind == "histogram" && name == f[1] {
			t.Errorf("%s: there is no %s", q, f[1])
		}
		if rated := strings.Contains(q, "rate("+f[1]) || strings.Contains(q, "increase("+f[1]); rated != (kind != "gauge") {
			t.Errorf("%s: %s is a %s", q, f[1], kind)
		}
		for label := range s.words[name] {
			labels[label] = true
		}
		for _, l := range matcher.FindAllStringSubmatch(f[2], -1) {
			for word := range strings.SplitSeq(l[3], "|") {
				if !s.words[name][l[1]][word] && l[1] != "status" {
					t.Errorf("%s: %s is never %s", q, l[1], word)
				}
			}
		}
	}
	if !strings.Contains(q, "percached_") && !strings.Contains(q, "process_") {
		t.Errorf("%s asks for nothing", q)
	}
	kept := labels
	for i, by := range grouping.FindAllStringSubmatch(q, -1) {
		if i == 0 {
			kept = map[string]bool{}
		}
		for label := range strings.SplitSeq(by[1], ", ") {
			if kept[label] = true; !labels[label] {
				t.Errorf("%s: nothing in it has the label %s", q, label)
			}
		}
	}
	if strings.Count(q, "(") != strings.Count(q, ")") {
		t.Errorf("%s: brackets", q)
	}
	return kept
}

// board is the checked part of docs/grafana.json.
type board struct {
	Schema     int `json:"schemaVersion"`
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		Targets                  []struct {
			RefID, Expr, LegendFormat string
			Datasource                struct{ Type, UID string }
		}
	}
}

// The dashboard queries existing series, lets the user choose the data source, and places each
// panel separately.
func TestBoard(t *testing.T) {
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	m := pedantic()
	busy(m)
	s := scrape(t, m)
	if len(b.Templating.List) != 1 || b.Templating.List[0].Name != "DS_PROMETHEUS" || b.Templating.List[0].Type != "datasource" || b.Schema == 0 {
		t.Errorf("%+v", b.Templating)
	}
	ids, places, asked := map[int]bool{}, map[[2]int]string{}, map[string]bool{}
	for _, p := range b.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its number %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Description == "" {
			t.Errorf("%s: %+v", p.Title, p)
		}
		for _, q := range p.Targets {
			labels := s.answers(t, q.Expr)
			for _, l := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !labels[l[1]] {
					t.Errorf("%s: nothing has the label %s", p.Title, l[1])
				}
			}
			if q.Datasource.UID != "${DS_PROMETHEUS}" || q.Datasource.Type != "prometheus" || q.RefID == "" {
				t.Errorf("%s: %+v", p.Title, q)
			}
			for _, f := range selector.FindAllStringSubmatch(q.Expr, -1) {
				asked[f[1]] = true
			}
		}
	}
	if len(asked) < 25 {
		t.Errorf("it shows %d metrics", len(asked))
	}
}
