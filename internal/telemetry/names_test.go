package telemetry

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Every metric has help, a name by Prometheus' conventions, and the base unit of its values.
func TestNames(t *testing.T) {
	m := pedantic()
	busy(m)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]*regexp.Regexp{
		"_seconds": regexp.MustCompile(`_(duration|saved|spent|seconds)`),
		"_bytes":   regexp.MustCompile(`_(written|limit|bytes)`),
	}
	seen := map[string]bool{}
	for _, f := range families {
		name, help := f.GetName(), f.GetHelp()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		kind := strings.ToLower(f.GetType().String())
		bare := strings.TrimSuffix(name, "_total")
		switch {
		case !strings.HasPrefix(name, "percached_"):
			t.Errorf("%s is not of percached's own", name)
		case (kind == "counter") != (name != bare):
			t.Errorf("%s is a %s", name, kind)
		case kind == "histogram" && !strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_tokens"):
			t.Errorf("%s has no unit", name)
		case len(strings.Fields(help)) < 2 || !strings.HasSuffix(help, ".") || seen[help]:
			t.Errorf("%s says of itself %q", name, help)
		}
		seen[help] = true
		for unit, wants := range units {
			if wants.MatchString(name) && !strings.HasSuffix(bare, unit) {
				t.Errorf("%s is not in%s", name, strings.ReplaceAll(unit, "_", " "))
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d metrics", len(seen))
	}
}
