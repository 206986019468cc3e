package wording

import (
	"strings"
	"testing"
)

// A word stands in one group only: else the order of the lines would decide
// what it means.
func TestGroupsAreApart(t *testing.T) {
	in := map[string]string{}
	lines("groups", func(l string) {
		name, _, _ := strings.Cut(l, "|")
		name = strings.TrimSpace(name)
		seen := map[string]bool{}
		for _, w := range strings.Split(l, "|") {
			w = strings.TrimSpace(w)
			if other, twice := in[w]; twice && other != name || seen[w] || w == "" {
				t.Errorf("%q is in %q and in %q", w, other, name)
			}
			in[w], seen[w] = name, true
		}
	})
	if len(in) < 500 {
		t.Errorf("%d words in groups", len(in))
	}
}

// No group holds both words of an opposite.
func TestOppositesAreApart(t *testing.T) {
	n := 0
	lines("opposites", func(l string) {
		f := strings.Fields(l)
		if len(f) != 2 {
			t.Fatalf("%q is no pair", l)
		}
		n++
		if english().group(f[0]) == english().group(f[1]) {
			t.Errorf("%q stand for each other", l)
		}
	})
	if n < 100 {
		t.Errorf("%d opposites", n)
	}
}

func TestLemma(t *testing.T) {
	for _, tt := range []struct {
		word, lemma string
		form        form
	}{
		{"bought", "buy", past | participle},
		{"went", "go", past},
		{"gone", "go", participle},
		{"cut", "cut", past | participle | base},
		{"planned", "plan", past | participle},
		{"tried", "try", past | participle},
		{"cancelled", "cancel", past | participle},
		{"moving", "move", ing},
		{"lying", "lie", ing},
		{"running", "running", 0},
		{"training", "training", 0},
		{"costs", "cost", third},
		{"boxes", "box", 0},
		{"cities", "city", 0},
		{"children", "child", 0},
		{"bus", "bus", 0},
		{"glass", "glass", 0},
		{"news", "news", 0},
		{"was", "be", past},
		{"are", "be", third},
		{"has", "have", third},
		{"xyzed", "xyzed", 0},
		{"s", "s", 0},
		{"", "", 0},
		{"ed", "ed", 0},
	} {
		if l, f := english().lemma(tt.word); l != tt.lemma || f != tt.form {
			t.Errorf("%q is %q %b, want %q %b", tt.word, l, f, tt.lemma, tt.form)
		}
	}
}

// Numbers, dates and times have one form each, however they are written.
func TestOneForm(t *testing.T) {
	for _, same := range [][]string{
		{"21", "twenty-one", "twenty one"},
		{"105", "one hundred and five", "a hundred and five"},
		{"1500", "1,500", "1.5k", "fifteen hundred", "1.5 thousand"},
		{"5 January 2025", "January 5, 2025", "5th of January 2025", "2025-01-05", "Jan 5th 2025"},
		{"16:10", "4:10 pm", "4.10 pm", "4:10pm"},
		{"2nd", "second"},
		{"$5", "5 dollars", "five dollars", "5 USD"},
		{"10kg", "10 kg", "ten kilograms"},
		{"q3", "third quarter", "Q3"},
		{"12:00", "noon", "12 pm"},
		{"monday", "Mondays", "Mon"},
	} {
		for _, s := range same[1:] {
			if d := Compare("Who comes on "+same[0]+"?", "Who comes on "+s+"?"); len(d) != 0 {
				t.Errorf("%q and %q differ: %v", same[0], s, d)
			}
		}
	}
	for _, other := range [][2]string{
		{"1.10", "1.1"},
		{"1,5", "15"},
		{"5 January", "5 February"},
		{"4 o'clock", "4 pm"},
		{"second", "two"},
		{"5 January 2025", "5 January"},
		{"twenty", "twelve"},
		{"one hundred and five", "one hundred and fifty"},
		{"may 5", "march 5"},
		{"3b", "3a"},
		{"12:10", "0:10"},
	} {
		if d := Compare("Who comes on "+other[0]+"?", "Who comes on "+other[1]+"?"); len(d) == 0 {
			t.Errorf("%q and %q do not differ", other[0], other[1])
		}
	}
}
