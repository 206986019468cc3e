package measure

import (
	"math"
	"strings"
	"unicode"
)

// order is that of the longest n-grams of BLEU.
const order = 4

// grams is what BLEU counts: by length of n-gram those of the answer, and those of
// them that a right answer has too; the words of the answer, and of the right one that
// is nearest in length.
type grams struct {
	shared, said  [order]int
	length, right int
}

// BLEU is the sentence BLEU-4 of an answer against all that are right together,
// 0 to 1. Of n-grams that are longer than the answer none are asked. Where none of a
// length are shared, the first such length counts as if half of one were, the next as
// if a quarter were, and so on; if no word is shared, it is 0.
func BLEU(answer string, gold []string) float64 {
	c := against(answer, gold)
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

func against(answer string, gold []string) (c grams) {
	said := tokens(answer)
	c.length = len(said)
	right := make([][]string, len(gold))
	for i, g := range gold {
		right[i] = tokens(g)
		n := len(right[i])
		if d, e := away(n, c.length), away(c.right, c.length); i == 0 || d < e || d == e && n < c.right {
			c.right = n
		}
	}
	for n := range order {
		most := map[string]int{} // how often a right answer has it at the most
		for _, r := range right {
			for g, k := range counts(r, n+1) {
				most[g] = max(most[g], k)
			}
		}
		for g, k := range counts(said, n+1) {
			c.said[n] += k
			c.shared[n] += min(k, most[g])
		}
	}
	return c
}

// brevity is the penalty for an answer that is shorter than the nearest right one.
func (c *grams) brevity() float64 {
	if c.length >= c.right {
		return 1
	}
	return math.Exp(1 - float64(c.right)/float64(c.length))
}

func away(a, b int) int { return max(a-b, b-a) }

// counts says how often a text has each of its n-grams.
func counts(words []string, n int) map[string]int {
	c := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		c[strings.Join(words[i:i+n], " ")]++
	}
	return c
}

// tokens parts a text as mteval's tokenisation 13a does: ASCII symbols stand alone,
// but for an apostrophe and a hyphen; a full stop and a comma stand alone unless
// between digits; a hyphen stands alone behind a digit. Case counts.
func tokens(text string) []string {
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
