package likeness

import (
	"math"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank/wording"
)

// Question is one of the two questions that are compared.
type Question struct {
	Text string
	// Chunks are those that were found for it, most relevant first.
	Chunks []percached.ChunkID
}

// Pair is an asked question and a stored one.
type Pair struct {
	Asked, Stored Question
	Similarity    float64 // cosine of their vectors
	Answer        string  // to the stored question
	// Rest is the cosine of the vectors of the two texts that Rests returns, if both have
	// words.
	Rest float64
	// Second is the similarity of the next stored question with another answer; 0: none.
	Second float64
}

// Names are the names of the features, in order.
func Names() []string {
	names := []string{
		"similarity", "best chunk", "own best in evidence", "evidence best in own", "overlap",
		"numbers conflict", "number missing", "dates conflict", "date missing", "negation", "asks else", "asks unclear",
		"worst asked", "worst stored", "mean asked", "mean stored", "unmatched asked", "unmatched stored",
		"strange asked", "strange stored", "names asked", "names stored", "order", "length", "small words", "second", "one word", "one word near",
		"rest", "one rest", "answer unfit", "answer told",
	}
	for _, k := range wording.Kinds() {
		names = append(names, "wording "+string(k))
	}
	return append(names, "wording")
}

// Features compares two questions.
func Features(p Pair) []float64 { return features(p, split(p.Asked.Text), split(p.Stored.Text)) }

// features compares two questions with these words.
func features(p Pair, a, b []word) []float64 {
	ab, ba := align(a, b), align(b, a)
	f := []float64{p.Similarity}
	f = append(f, chunkFeatures(p.Asked.Chunks, p.Stored.Chunks)...)
	f = append(f, differ(a, b, func(w word) bool { return w.number })...)
	f = append(f, differ(a, b, func(w word) bool { return w.kind == dated })...)
	f = append(f, math.Abs(float64(count(a, negation)-count(b, negation))))
	f = append(f, asks(a, b)...)
	f = append(f, ab.worst, ba.worst, ab.mean, ba.mean, ab.unmatched, ba.unmatched, ab.strange, ba.strange, ab.names, ba.names)
	f = append(f, inversions(ab.at), lengthRatio(a, b), smallWords(a, b), p.Second)
	one, oneNear := 0.0, 0.0
	if ab.count == 1 && ba.count == 1 {
		one, oneNear = 1, min(ab.worst, ba.worst)
	}
	f = append(f, one, oneNear)
	f = append(f, rest(a, b, p.Rest)...)
	f = append(f, answerFits(a, b, p.Answer)...)
	return append(f, wordings(p.Asked.Text, p.Stored.Text)...)
}

// Rests returns the words that each of the two questions has alone.
func Rests(asked, stored string) (ofAsked, ofStored string) {
	a, b := split(asked), split(stored)
	return strings.Join(without(a, b), " "), strings.Join(without(b, a), " ")
}

// without returns the words of a that have no like in b.
func without(a, b []word) (out []string) {
	for _, w := range a {
		if !has(b, w) {
			out = append(out, w.text)
		}
	}
	return out
}

// rest is how near the rests of the questions are, and whether only one has a rest.
func rest(a, b []word, near float64) []float64 {
	switch x, y := without(a, b), without(b, a); {
	case len(x) == 0 && len(y) == 0:
		return []float64{1, 0}
	case len(x) == 0 || len(y) == 0:
		return []float64{0, 1}
	}
	return []float64{near, 0}
}

// wordings counts what the wordings of the two questions differ in, by kind, and in all.
func wordings(asked, stored string) []float64 {
	f := make([]float64, len(wording.Kinds())+1)
	for _, d := range wording.Compare(stored, asked) {
		f[slices.Index(wording.Kinds(), d.Kind)]++
		f[len(f)-1]++
	}
	return f
}

// answerFits says whether the stored answer lacks what the asked question wants, a date or
// a name, and how many words it has that stand in the asked question alone.
func answerFits(a, b []word, answer string) []float64 {
	dateOrNumber, name := false, false
	told := 0.0
	for i, w := range split(answer) {
		dateOrNumber = dateOrNumber || w.number || w.kind == dated
		name = name || w.name || i == 0 && w.weight > 0
		if w.weight > 0 && has(a, w) && !has(b, w) {
			told++
		}
	}
	unfit := 0.0
	switch asks := asked(a); {
	case asks == "when" && !dateOrNumber, asks == "who" && !name:
		unfit = 1
	}
	return []float64{unfit, told}
}

func chunkFeatures(own, evidence []percached.ChunkID) []float64 {
	if len(own) == 0 || len(evidence) == 0 {
		return make([]float64, 4)
	}
	rank := func(of percached.ChunkID, in []percached.ChunkID) float64 {
		for i, c := range in {
			if c == of {
				return 1 / float64(i+1)
			}
		}
		return 0
	}
	shared := 0.0
	for _, c := range own {
		if rank(c, evidence) > 0 {
			shared++
		}
	}
	same := 0.0
	if own[0] == evidence[0] {
		same = 1
	}
	return []float64{same, rank(own[0], evidence), rank(evidence[0], own), shared / float64(len(own))}
}

// differ compares the words of one kind: both questions have such words and they differ,
// or one of them lacks what the other has.
func differ(a, b []word, of func(word) bool) []float64 {
	same := func(w, v word) bool { // Sept is September
		return w.text == v.text || !w.number && len(w.text) >= 3 && len(v.text) >= 3 && w.text[:3] == v.text[:3]
	}
	lacks := func(x, y []word) bool {
		return slices.ContainsFunc(x, func(w word) bool {
			return of(w) && !slices.ContainsFunc(y, func(v word) bool { return of(v) && same(w, v) })
		})
	}
	switch inA, inB := lacks(a, b), lacks(b, a); {
	case inA && inB:
		return []float64{1, 0}
	case inA || inB:
		return []float64{0, 1}
	}
	return []float64{0, 0}
}

func count(ws []word, k kind) (n int) {
	for _, w := range ws {
		if w.kind == k {
			n++
		}
	}
	return n
}

// asks compares what the questions ask for.
func asks(a, b []word) []float64 {
	x, y := asked(a), asked(b)
	switch {
	case x == y:
		return []float64{0, 0}
	case x == "" || y == "" || x == "what" || y == "what":
		return []float64{0, 1}
	}
	return []float64{1, 0}
}

// asked is what a question asks for: its first asking word, with the word behind how.
func asked(ws []word) string {
	i := slices.IndexFunc(ws, func(w word) bool { return w.kind == asking })
	if i < 0 {
		return ""
	}
	next := ""
	if i+1 < len(ws) {
		next = ws[i+1].text
	}
	switch w := ws[i].text; w {
	case "whom", "whose":
		return "who"
	case "how", "wie":
		switch next {
		case "much", "many", "long", "far", "often", "old", "high", "big", "large", "viel", "viele", "lange", "oft":
			return w + " " + next
		}
		return w
	case "what", "which":
		switch next {
		case "time", "day", "date", "hour", "month", "year":
			return "when"
		}
		return "what"
	default:
		return w
	}
}

// alignment is how the words of one question are found in the other.
type alignment struct {
	at                        []int   // for each matched word, where its like stands
	worst, mean               float64 // likeness of the content words' best matches
	unmatched, strange, names float64 // content words without a like of the same stem; those without a near one; names
	count                     int
}

func align(a, b []word) alignment {
	r := alignment{worst: 1}
	var sum, weights float64
	for _, w := range a {
		best, at := 0.0, -1
		for j, v := range b {
			if s := stemLikeness(w.text, v.text); s > best {
				best, at = s, j
			}
		}
		if at >= 0 && best >= formOf {
			r.at = append(r.at, at)
		}
		if w.weight == 0 {
			continue
		}
		sum += w.weight * best
		weights += w.weight
		r.worst = min(r.worst, 1-w.weight*(1-best))
		if best < formOf {
			r.unmatched += w.weight
			r.count++
			if best < 0.5 {
				r.strange += w.weight
			}
			if w.name {
				r.names++
			}
		}
	}
	r.mean = 1
	if weights > 0 {
		r.mean = sum / weights
	}
	r.unmatched, r.strange, r.names = min(r.unmatched, 5), min(r.strange, 5), min(r.names, 3)
	return r
}

// formOf is the likeness of stems from which two words count as forms of one.
const formOf = 0.7

// stemLikeness is 1 for equal words, and the share of the common beginning for words that
// may be forms of one another.
func stemLikeness(a, b string) float64 {
	if a == b {
		return 1
	}
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	if n < 3 || strings.ContainsAny(a+b, "0123456789") {
		return 0
	}
	return float64(n) / float64(max(len(x), len(y)))
}

// inversions is the share of pairs of matched words that stand in another order.
func inversions(at []int) float64 {
	pairs, inverted := 0.0, 0.0
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			if at[i] == at[j] {
				continue
			}
			pairs++
			if at[i] > at[j] {
				inverted++
			}
		}
	}
	if pairs == 0 {
		return 0
	}
	return inverted / pairs
}

func lengthRatio(a, b []word) float64 {
	x, y := float64(len(a)), float64(len(b))
	if max(x, y) == 0 {
		return 1
	}
	return min(x, y) / max(x, y)
}

// smallWords is the share of the small words that only one question has.
func smallWords(a, b []word) float64 {
	set := map[string]int{}
	for _, w := range a {
		if w.weight == 0 {
			set[w.text] |= 1
		}
	}
	for _, w := range b {
		if w.weight == 0 {
			set[w.text] |= 2
		}
	}
	if len(set) == 0 {
		return 0
	}
	n := 0.0
	for _, s := range set {
		if s != 3 {
			n++
		}
	}
	return n / float64(len(set))
}

// SameWording reports whether the wordings of two questions differ in nothing that is
// understood.
func SameWording(asked, stored string) bool { return len(wording.Compare(stored, asked)) == 0 }
