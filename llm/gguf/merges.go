package gguf

import "unicode"

// merge joins two neighbouring pieces into one.
type merge struct{ left, right string }

// trainMerges finds up to n merges as byte-pair encoding does: again and again
// the commonest neighbours become one piece. The corpus is the word list, its
// first words counting most; letter gives the piece for one letter of a word
// and space what a word begins with inside a sentence.
func trainMerges(n int, space string, letter func(rune) string) []merge {
	type word struct {
		pieces []int32
		weight int
	}
	var (
		names  []string
		ids    = map[string]int32{}
		corpus []word
	)
	id := func(piece string) int32 {
		n, ok := ids[piece]
		if !ok {
			n = int32(len(names))
			ids[piece] = n
			names = append(names, piece)
		}
		return n
	}
	add := func(lead, text string, weight int) {
		var pieces []int32
		if lead != "" {
			pieces = append(pieces, id(lead))
		}
		for _, r := range text {
			pieces = append(pieces, id(letter(r)))
		}
		corpus = append(corpus, word{pieces, weight})
	}
	for i, w := range words() {
		weight := 1 << 20 / (i + 40)
		add(space, w, weight)
		add("", w, weight/16)
		add(space, string(unicode.ToUpper(rune(w[0])))+w[1:], weight/16)
	}
	counts := map[[2]int32]int{}
	count := func(w word, sign int) {
		for i := 1; i < len(w.pieces); i++ {
			pair := [2]int32(w.pieces[i-1 : i+1])
			if counts[pair] += sign * w.weight; counts[pair] == 0 {
				delete(counts, pair)
			}
		}
	}
	for _, w := range corpus {
		count(w, 1)
	}
	var merges []merge
	for len(merges) < n && len(counts) > 0 {
		var best [2]int32
		top := 0
		for m, c := range counts {
			// Equal counts: the pair of older pieces, so that the order of the
			// map does not matter.
			if c > top || c == top && (m[0] < best[0] || m[0] == best[0] && m[1] < best[1]) {
				best, top = m, c
			}
		}
		m := merge{names[best[0]], names[best[1]]}
		merges = append(merges, m)
		joined := id(m.left + m.right)
		for i, w := range corpus {
			if !holds(w.pieces, best) {
				continue
			}
			count(w, -1)
			corpus[i].pieces = join(w.pieces, best, joined)
			count(corpus[i], 1)
		}
	}
	return merges
}

func holds(pieces []int32, pair [2]int32) bool {
	for i := 1; i < len(pieces); i++ {
		if pieces[i-1] == pair[0] && pieces[i] == pair[1] {
			return true
		}
	}
	return false
}

// join replaces each pair by one piece, in place.
func join(pieces []int32, pair [2]int32, by int32) []int32 {
	out := pieces[:0]
	for i := 0; i < len(pieces); i++ {
		if i+1 < len(pieces) && pieces[i] == pair[0] && pieces[i+1] == pair[1] {
			out = append(out, by)
			i++
			continue
		}
		out = append(out, pieces[i])
	}
	return out
}
