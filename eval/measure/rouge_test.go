package measure_test

import (
	"math"
	"testing"

	"github.com/percached/percached/eval/measure"
)

func four(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Worked by hand: of s words said and r right ones whose longest common subsequence
// has c words, ROUGE-L is 2c/(s+r).
func TestRougeL(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string
		gold   []string
		want   float64
	}{
		{"the same", "room twelve", []string{"room twelve"}, 1},
		{"police, the, gunman: 3 of 4 and 4", "police kill the gunman", []string{"police killed the gunman"}, 0.75},
		{"the gunman: 2 of 4 and 4; order counts", "the gunman kill police", []string{"police killed the gunman"}, 0.5},
		{"either half alone: 2 of 4 and 4", "the gunman police killed", []string{"police killed the gunman"}, 0.5},
		{"gaps may lie between: tent, on, Friday: 3 of 6 and 3", "the tent goes out on Friday", []string{"tent on Friday"}, 0.6667},
		{"case and punctuation go: room 1 12: 3 of 5 and 3", "The ROOM is 1.12!", []string{"room 1-12"}, 0.75},
		{"articles stay: hut: 1 of 2 and 2", "the hut", []string{"a hut"}, 0.5},
		{"no stemming: 1 of 2 and 2", "two tents", []string{"two tent"}, 0.5},
		{"an apostrophe parts: don, t, know: 3 of 4 and 3", "I don't know", []string{"don t know"}, 0.8571},
		{"a letter with an accent parts: z, rich: 2 of 2 and 2", "Zürich", []string{"z rich"}, 1},
		{"a word twice is shared once: 1 of 2 and 1", "no no", []string{"no"}, 0.6667},
		{"long against short: 2 of 9 and 2", "it is said that room twelve is quite warm", []string{"room twelve"}, 0.3636},
		{"the nearest counts: 2 of 2 and 3, not 1 of 2 and 1", "sister Maren", []string{"Maren", "Cato's sister", "sister of Maren"}, 0.8},
		{"nothing shared", "room 7", []string{"hall 8"}, 0},
		{"nothing said", "", []string{"room"}, 0},
		{"no words on either side", "!", []string{"?"}, 0},
		{"no gold", "room", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := four(measure.RougeL(tc.answer, tc.gold)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
