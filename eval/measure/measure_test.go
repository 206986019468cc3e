package measure_test

import (
	"math"
	"testing"

	"github.com/percached/percached/eval/measure"
)

// Worked by hand: of s words said and r right ones of which c are shared, F1 is
// 2c/(s+r).
func TestAgainstGold(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string
		gold   []string
		exact  bool
		f1     float64
	}{
		{"the same", "room 1.12", []string{"room 1.12"}, true, 1},
		{"case, punctuation, article, space", "  The ROOM  1.12! ", []string{"room 1.12"}, true, 1},
		{"a, an", "a cat and an ox", []string{"cat and ox"}, true, 1},
		{"an article within a word", "theatre", []string{"atre"}, false, 0},
		{"another", "room 7", []string{"hall 8"}, false, 0},
		{"a sentence around it: 2 of 6 and 2", "He takes it to room 12", []string{"room 12"}, false, 0.5},
		{"1 of 3 and 1", "it is $46,000", []string{"46,000"}, false, 0.5},
		{"2 of 3 and 4", "on 28 February", []string{"by Friday 28 February"}, false, 0.5714},
		{"a word twice is shared once: 1 of 2 and 1", "no no", []string{"no"}, false, 0.6667},
		{"twice on both sides: 2 of 3 and 2", "no no never", []string{"no no"}, false, 0.8},
		{"the nearest counts: 1 of 1 and 2, 1 of 1 and 3", "Maren", []string{"Cato's sister Maren", "sister Maren"}, false, 0.6667},
		{"one of several", "Maren", []string{"Cato's sister Maren", "Maren"}, true, 1},
		{"a hyphen goes", "twenty-one", []string{"twentyone"}, true, 1},
		{"other scripts", "Zürich–Genf", []string{"zürich–genf"}, true, 1},
		{"nothing said", "", []string{"room 12"}, false, 0},
		{"nothing said that counts, nothing right that counts", "The.", []string{"a"}, true, 1},
		{"nothing right", "room 12", []string{"the"}, false, 0},
		{"no gold", "room 12", nil, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := measure.Exact(tc.answer, tc.gold); got != tc.exact {
				t.Errorf("exact: %v", got)
			}
			if got := math.Round(measure.F1(tc.answer, tc.gold)*1e4) / 1e4; got != tc.f1 {
				t.Errorf("F1: %v, want %v", got, tc.f1)
			}
		})
	}
}
