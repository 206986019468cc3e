package likeness

import "slices"

// sameShare is the share of the shorter answer's content words that the longer one must
// have.
const sameShare = 0.6

// SameAnswer reports whether two answers to a question say the same: their numbers, dates,
// names, opposites and negations do not conflict, and the longer one has most content words
// of the shorter one. Words of the question count only if there are no others. Two refusals
// are the same.
func SameAnswer(a, b, question string) bool {
	x, y := factWords(a), factWords(b)
	if slices.EqualFunc(x, y, func(v, w word) bool { return v.text == w.text }) {
		return true
	}
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	asked := factWords(question)
	if rx, ry := refusal(x), refusal(y); rx || ry {
		return rx && ry
	}
	nameFirst(x, append(asked, y...))
	nameFirst(y, append(asked, x...))
	if (count(x, negation) > 0) != (count(y, negation) > 0) || opposed(x, y) || otherUnit(x, y) || otherPeople(x, y, asked) {
		return false
	}
	says := func(ws []word, least float64) (out []word) {
		for _, w := range ws {
			if w.weight > least && !has(asked, w) {
				out = append(out, w)
			}
		}
		return out
	}
	sx, sy := says(x, 0), says(y, 0)
	if len(sx) == 0 || len(sy) == 0 { // a short name
		sx, sy = says(x, -1), says(y, -1)
	}
	if len(sx) == 0 || len(sy) == 0 { // yes and no
		sx, sy = x, y
	}
	for _, of := range []func(word) bool{func(w word) bool { return w.number }, func(w word) bool { return w.kind == dated }} {
		if onlyIn(sx, sy, of) && onlyIn(sy, sx, of) {
			return false
		}
	}
	return len(sx) <= len(sy) && agree(sx, sy) >= sameShare || len(sy) <= len(sx) && agree(sy, sx) >= sameShare
}

// has reports whether one of the words is the same word or a form of it.
func has(ws []word, w word) bool {
	return slices.ContainsFunc(ws, func(v word) bool { return stemLikeness(v.text, w.text) >= formOf })
}

// onlyIn reports whether a has such a word that b lacks.
func onlyIn(a, b []word, of func(word) bool) bool {
	return slices.ContainsFunc(a, func(w word) bool { return of(w) && !has(b, w) })
}

// agree is the share of the words of a that b has.
func agree(a, b []word) float64 {
	n := 0
	for _, w := range a {
		if has(b, w) {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
