package measure

import "strings"

// RougeL is the ROUGE-L of an answer against the nearest right one: the harmonic
// mean of precision and recall of their longest common subsequence, the whole text
// taken as one sentence. A text without words is like none.
func RougeL(answer string, gold []string) float64 {
	best, said := 0.0, runs(answer)
	for _, g := range gold {
		if right := runs(g); len(said)+len(right) > 0 {
			best = max(best, 2*float64(common(said, right))/float64(len(said)+len(right)))
		}
	}
	return best
}

// runs are the runs of a to z and 0 to 9 of a text, in lower case, as the package
// rouge-score has them: letters with accents part words.
func runs(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1) // row[j]: of what was seen of a, and b[:j]
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
