package measure

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// punctuation is what SQuAD leaves out.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// words are the words of a text that SQuAD compares.
func words(text string) []string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	return slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "a" || w == "an" || w == "the" })
}

// Exact says whether an answer is one of the right answers.
func Exact(answer string, gold []string) bool {
	said := words(answer)
	return slices.ContainsFunc(gold, func(g string) bool { return slices.Equal(said, words(g)) })
}

// Contains says whether an answer contains a right answer: all its words in a row, compared as
// by Exact. A right answer without words is contained in nothing.
func Contains(answer string, gold []string) bool {
	said := words(answer)
	return slices.ContainsFunc(gold, func(g string) bool {
		right := words(g)
		for at := 0; len(right) > 0 && at+len(right) <= len(said); at++ {
			if slices.Equal(said[at:at+len(right)], right) {
				return true
			}
		}
		return false
	})
}

// F1 is the harmonic mean of precision and recall of the words that an answer shares with
// the nearest right one. Two texts without words are equal.
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

// RougeL is the ROUGE-L of an answer against the nearest right one: the harmonic mean of
// precision and recall of their longest common subsequence, with the whole text as one
// sentence. It is 0 without words.
func RougeL(answer string, gold []string) float64 {
	best, said := 0.0, rougeWords(answer)
	for _, g := range gold {
		if right := rougeWords(g); len(said)+len(right) > 0 {
			best = max(best, 2*float64(longestCommonSubsequence(said, right))/float64(len(said)+len(right)))
		}
	}
	return best
}

// rougeWords are the runs of a-z and 0-9 in a text, in lower case, as in the package
// rouge-score. Letters with accents separate words.
func rougeWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// longestCommonSubsequence is the length of that subsequence.
func longestCommonSubsequence(a, b []string) int {
	row := make([]int, len(b)+1) // row[j]: of the words of a so far, and b[:j]
	for _, w := range a {
		slant := 0 // row[j] before w
		for j, v := range b {
			above := row[j+1]
			if w == v {
				row[j+1] = slant + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			slant = above
		}
	}
	return row[len(b)]
}

// order is the length of BLEU's longest n-grams.
const order = 4

// gramCounts is what BLEU counts: by length, the n-grams of the answer and those it shares
// with a right answer; the words of the answer, and of the right answer with the nearest
// length.
type gramCounts struct {
	shared, said  [order]int
	length, right int
}

// BLEU is the sentence BLEU-4 of an answer against all right answers together, from 0 to
// 1. N-grams longer than the answer do not count. The first length without a shared n-gram
// counts as half of one, the next as a quarter, and so on. It is 0 if no word is shared.
func BLEU(answer string, gold []string) float64 {
	c := countGrams(answer, gold)
	if c.shared[0] == 0 {
		return 0
	}
	sum, lengths, part := 0.0, 0, 1.0
	for n := 0; n < order && c.said[n] > 0; n++ {
		shared := float64(c.shared[n])
		if shared == 0 {
			part /= 2
			shared = part
		}
		sum += math.Log(shared / float64(c.said[n]))
		lengths++
	}
	return c.brevity() * math.Exp(sum/float64(lengths))
}

func countGrams(answer string, gold []string) (c gramCounts) {
	said := bleuTokens(answer)
	c.length = len(said)
	right := make([][]string, len(gold))
	for i, g := range gold {
		right[i] = bleuTokens(g)
		n := len(right[i])
		if d, e := distance(n, c.length), distance(c.right, c.length); i == 0 || d < e || d == e && n < c.right {
			c.right = n
		}
	}
	for n := range order {
		most := map[string]int{} // highest count in any right answer
		for _, r := range right {
			for g, k := range countNGrams(r, n+1) {
				most[g] = max(most[g], k)
			}
		}
		for g, k := range countNGrams(said, n+1) {
			c.said[n] += k
			c.shared[n] += min(k, most[g])
		}
	}
	return c
}

// brevity is the penalty for an answer shorter than the nearest right one.
func (c *gramCounts) brevity() float64 {
	if c.length >= c.right {
		return 1
	}
	return math.Exp(1 - float64(c.right)/float64(c.length))
}

func distance(a, b int) int { return max(a-b, b-a) }

// countNGrams counts each n-gram of a text.
func countNGrams(words []string, n int) map[string]int {
	c := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		c[strings.Join(words[i:i+n], " ")]++
	}
	return c
}

// bleuTokens tokenizes a text as mteval's 13a: ASCII symbols stand alone, without
// apostrophe and hyphen. A full stop and a comma stand alone unless between digits. A
// hyphen stands alone after a digit. Case counts.
func bleuTokens(text string) []string {
	const apart = "!\"#$%&()*+/:;<=>?@[\\]^_`{|}~"
	rs := []rune(text)
	digit := func(i int) bool { return i >= 0 && i < len(rs) && rs[i] >= '0' && rs[i] <= '9' }
	var b strings.Builder
	for i, r := range rs {
		alone := strings.ContainsRune(apart, r) ||
			(r == '.' || r == ',') && !(digit(i-1) && digit(i+1)) ||
			r == '-' && digit(i-1)
		switch {
		case alone:
			b.WriteString(" " + string(r) + " ")
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.Fields(b.String())
}
