package telemetry

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const rulesFolder = "../../packaging/prometheus/"

// The alerts query existing series, and docs/operations.md names each.
func TestRules(t *testing.T) {
	text, err := os.ReadFile(rulesFolder + "percached.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	operations, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	m := pedantic()
	busy(m)
	m.Request("ready", 503, 0)
	s := scrape(t, m)
	exprs := regexp.MustCompile(`(?m)^ +expr: (.+)$`).FindAllStringSubmatch(string(text), -1)
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(text), -1)
	if len(exprs) < 10 || len(exprs) != len(alerts) {
		t.Fatalf("%d expressions of %d alerts", len(exprs), len(alerts))
	}
	for _, e := range exprs {
		if !strings.HasPrefix(e[1], "up{") { // Prometheus makes this one
			s.answers(t, e[1])
		}
	}
	for _, a := range alerts {
		if !strings.Contains(string(operations), "`"+a[1]+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", a[1])
		}
	}
	for _, f := range selector.FindAllStringSubmatch(string(text), -1) { // descriptions name metrics too
		if s.kinds[strings.TrimSuffix(f[1], "_bucket")] == "" {
			t.Errorf("there is no %s", f[1])
		}
	}
}

// promtool accepts the alerts, and each fires when it should and only then.
func TestRulesByPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("promtool is not installed: apt-get install prometheus")
		}
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "percached.rules.yml"}, {"test", "rules", "percached.rules.test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = rulesFolder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
