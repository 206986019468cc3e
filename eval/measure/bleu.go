package measure

import (
	"math"
	"strings"
	"unicode"
)

// order is that of the longest n-grams of BLEU.
const order = 4

// grams is what BLEU counts: by length of n-gram those of the answers, and those of
// them that a right answer has too, and words in all.
type grams struct {
	shared, said  [order]int
	length, right int
}

// BLEU is the sentence BLEU-4 of an answer against all that are right together,
// 0 to 1. Of n-grams that are longer than the answer none are asked. Where none of a
// length are shared, the first such length counts as if half of one were, the next as
// if a quarter were, and so on; if no word is shared, it is 0.
func BLEU(answer string, gold []string) float64 {
	var c grams
	c.add(answer, gold)
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

// CorpusBLEU is the BLEU-4 of all answers as one corpus, as it was first
// published: unsmoothed, 0 to 1. Each has its list of right ones; answers without
// any are left out.
func CorpusBLEU(answers []string, gold [][]string) float64 {
	var c grams
	for i, a := range answers {
		c.add(a, gold[i])
	}
	sum := 0.0
	for n := range order {
		if c.shared[n] == 0 {
			return 0
		}
		sum += math.Log(float64(c.shared[n]) / float64(c.said[n]))
	}
	return c.brevity() * math.Exp(sum/order)
}

func (c *grams) add(answer string, gold []string) {
	if len(gold) == 0 {
		return
	}
	said, nearest := tokens(answer), 0
	right := make([][]string, len(gold))
	for i, g := range gold {
		right[i] = tokens(g)
		n, best := len(right[i]), nearest
		if d, e := away(n, len(said)), away(best, len(said)); i == 0 || d < e || d == e && n < best {
			nearest = n
		}
	}
	c.length += len(said)
	c.right += nearest
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
}

// brevity is the penalty for answers that are shorter than the nearest right ones.
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
