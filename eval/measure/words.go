package measure

import (
	"slices"
	"strings"
)

// punctuation is what SQuAD leaves out.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// words are the words of a text that count.
func words(text string) []string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	return slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "a" || w == "an" || w == "the" })
}

// Exact says whether an answer is one of those that are right.
func Exact(answer string, gold []string) bool {
	said := words(answer)
	return slices.ContainsFunc(gold, func(g string) bool { return slices.Equal(said, words(g)) })
}

// F1 is how far an answer and the nearest right one share their words: the harmonic
// mean of precision and recall. Two texts without words that count are alike.
func F1(answer string, gold []string) float64 {
	best, said := 0.0, words(answer)
	for _, g := range gold {
		best = max(best, f1(said, words(g)))
	}
	return best
}

func f1(said, right []string) float64 {
	if len(said) == 0 || len(right) == 0 {
		if len(said) == len(right) {
			return 1
		}
		return 0
	}
	left, shared := map[string]int{}, 0
	for _, w := range right {
		left[w]++
	}
	for _, w := range said {
		if left[w] > 0 {
			left[w]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(said)+len(right))
}
