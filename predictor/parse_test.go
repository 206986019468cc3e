package predictor

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the parser finds into testdata/printed.txt")

const (
	printedFile = "testdata/printed.txt"
	caseMark    = "==== "
	foundMark   = ">>>>"
)

// printed is one output of a model, and what the parser finds in it.
type printed struct {
	head  string // name, "want N", and "stopped" if the model was
	text  string
	found string
}

func readPrinted(t testing.TB) []printed {
	t.Helper()
	b, err := os.ReadFile(printedFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []printed
	for i, c := range strings.Split("\n"+string(b), "\n"+caseMark) {
		if i == 0 {
			continue // before the first one
		}
		head, rest, _ := strings.Cut(c, "\n")
		text, found, ok := strings.Cut("\n"+rest, "\n"+foundMark+"\n")
		if !ok {
			t.Fatalf("%s: no %s", head, foundMark)
		}
		all = append(all, printed{head, strings.TrimPrefix(text, "\n"), strings.TrimRight(found, "\n") + "\n"})
	}
	return all
}

func (c *printed) parse(t testing.TB) string {
	_, rest, _ := strings.Cut(c.head, "| want ")
	n, stopped, _ := strings.Cut(rest, " ")
	want, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(c.head, err)
	}
	questions, dropped := parse(c.text, want, stopped == "")
	var out strings.Builder
	for _, q := range questions {
		fmt.Fprintln(&out, q)
	}
	for _, d := range slices.Sorted(maps.Keys(dropped)) {
		fmt.Fprintf(&out, "- %s %d\n", d, dropped[d])
	}
	return out.String()
}

// The parser's results for outputs of models. After a change, -update rewrites the file
// for review.
func TestPrinted(t *testing.T) {
	all := readPrinted(t)
	if len(all) < 60 {
		t.Errorf("only %d outputs", len(all))
	}
	var out strings.Builder
	for _, c := range all {
		got := c.parse(t)
		fmt.Fprintf(&out, "%s%s\n%s\n%s\n%s\n", caseMark, c.head, c.text, foundMark, got)
		if d := cmp.Diff(c.found, got); d != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", c.head, d)
		}
	}
	if *update {
		if err := os.WriteFile(printedFile, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Cases that a file of lines cannot show, one for each rule.
func TestParse(t *testing.T) {
	long := "1. What is " + strings.Repeat("x", maxQuestion) + "?"
	tests := []struct {
		name, text string
		want       int
		questions  []string
		dropped    map[Drop]int
	}{
		{"nothing", "", 5, nil, map[Drop]int{Empty: 1}},
		{"blank", " \n\t\r\n", 5, nil, map[Drop]int{Empty: 1}},
		{"none asked for", "1. Who came?", 0, nil, map[Drop]int{Surplus: 1}},
		{"fewer than none", "1. Who came?", -1, nil, map[Drop]int{Surplus: 1}},
		{"lines of Windows", "1. Who came?\r\n2. Who left?\r\n", 5, []string{"Who came?", "Who left?"}, nil},
		{"old lines", "1. Who came?\r2. Who left?", 5, []string{"Who came?", "Who left?"}, nil},
		{"hard spaces", "1. Who\u00a0came\u202fhome?", 5, []string{"Who came home?"}, nil},
		{"invisible", "1.\u200b Who\u200d came\x00 ho\x1bme?\ufeff", 5, []string{"Who came home?"}, nil},
		{"broken UTF-8", "1. Who c\xffame?\xc3", 5, []string{"Who came?"}, nil},
		{"over and over", "1. What is the time of the time of the day?\n2. Is it that that it is?", 5, []string{"Is it that that it is?"}, map[Drop]int{Stutter: 1}},
		{"too long", long + "\n2. Who came?", 5, []string{"Who came?"}, map[Drop]int{TooLong: 1}},
		{"as long as may be", "What " + strings.Repeat("x", maxQuestion-6) + "?", 5, []string{"What " + strings.Repeat("x", maxQuestion-6) + "?"}, nil},
		{"accents in two forms", "Where is the cafe\u0301?\nWhere is the café?", 5, []string{"Where is the cafe\u0301?"}, map[Drop]int{Repeated: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			questions, dropped := parse(tt.text, tt.want, true)
			if d := cmp.Diff(tt.questions, questions); d != "" {
				t.Errorf("questions (-want +got):\n%s", d)
			}
			if len(dropped) == 0 {
				dropped = nil
			}
			if d := cmp.Diff(tt.dropped, dropped); d != "" {
				t.Errorf("dropped (-want +got):\n%s", d)
			}
		})
	}
}

// If the engine knows whether a list was cut, it decides.
func TestParseStopped(t *testing.T) {
	const list = "1. Who came\n2. Who wrote the"
	if q, d := parse(list, 5, true); len(q) != 2 || len(d) != 0 {
		t.Errorf("whole: %q, %v", q, d)
	}
	if q, d := parse(list, 5, false); len(q) != 1 || d[Cut] != 1 {
		t.Errorf("stopped: %q, %v", q, d)
	}
	if q, d := parse("1. Who came?", 5, false); len(q) != 1 || len(d) != 0 {
		t.Errorf("stopped behind a question: %q, %v", q, d)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range readPrinted(f) {
		f.Add(c.text, 5, true)
	}
	f.Add("？¿?\u3000１．\u2028-1.5?", 1, false)
	f.Fuzz(func(t *testing.T, text string, want int, whole bool) {
		questions, dropped := parse(text, want, whole)
		if len(questions) > max(want, 0) {
			t.Errorf("%d questions where %d were asked for", len(questions), want)
		}
		seen := map[string]bool{}
		for _, q := range questions {
			if !isQuestion(q) || !utf8.ValidString(q) || strings.ContainsAny(q, "\r\n") || q != strings.TrimSpace(q) {
				t.Errorf("%q is no question in one line", q)
			}
			if seen[normalise(q)] {
				t.Errorf("%q twice", q)
			}
			seen[normalise(q)] = true
		}
		if len(questions) == 0 && len(dropped) == 0 {
			t.Error("nothing came of it, and nobody knows why")
		}
		for why, n := range dropped {
			if !slices.Contains(Drops(), why) || n < 1 {
				t.Errorf("%d dropped for %q", n, why)
			}
		}
	})
}
