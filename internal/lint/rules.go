package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule is one rule of the repository.
type Rule struct {
	Name  string
	Check func(t *Tree, report Report)
}

// Report receives one finding of a rule.
type Report func(path string, line int, format string, args ...any)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"imports", imports},
		{"vendors", vendors},
		{"cgo", cgo},
		{"length", length},
		{"names", names},
		{"package doc", packageDoc},
		{"exported doc", exportedDoc},
		{"init", noInit},
		{"globals", globals},
		{"stored context", storedContext},
		{"sleep", sleep},
		{"machine path", machinePath},
		{"make targets", makeTargets},
	}
}

// Check applies rules to a tree and returns the findings, sorted by path and line.
func Check(t *Tree, rules []Rule) []Finding {
	var found []Finding
	for _, r := range rules {
		r.Check(t, func(path string, line int, format string, args ...any) {
			found = append(found, Finding{Rule: r.Name, Path: path, Line: line, Text: fmt.Sprintf(format, args...)})
		})
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return found
}
