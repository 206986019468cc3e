package static

import (
	"bytes"
	"slices"
	"strings"
)

// mark precedes the first piece of a word.
const mark = "\u2581"

// vocabulary maps words to rows. It is a trie over the bytes of the tokens, stored level
// by level, so that the children of a node are adjacent: from its own first to that of
// the next node.
type vocabulary struct {
	nodes  []node
	labels []byte // the byte that leads to each node
	marked int32  // the node after the mark, -1 if there is none
	tokens int
	hashed int
}

type node struct {
	first int32 // child
	row   int32 // of the token that ends here, -1 if none does
}

const root = 0

// newVocabulary requires distinct, non-empty tokens.
func newVocabulary(tokens []string, hashed int) *vocabulary {
	order := make([]int32, len(tokens))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(tokens[a], tokens[b]) })

	v := &vocabulary{labels: []byte{0}, tokens: len(tokens), hashed: hashed}
	// A node is a range of sorted tokens with the same prefix.
	type span struct{ from, to int32 }
	level, next := []span{{0, int32(len(order))}}, []span(nil)
	for depth := 0; len(level) > 0; depth++ {
		for _, s := range level {
			n := node{first: int32(len(v.labels)), row: -1}
			if t := order[s.from]; len(tokens[t]) == depth {
				n.row = t
				s.from++
			}
			v.nodes = append(v.nodes, n)
			for s.from < s.to {
				child := span{s.from, s.from}
				label := tokens[order[s.from]][depth]
				for child.to < s.to && tokens[order[child.to]][depth] == label {
					child.to++
				}
				v.labels = append(v.labels, label)
				next = append(next, child)
				s.from = child.to
			}
		}
		level, next = next, level[:0]
	}
	v.nodes = append(v.nodes, node{first: int32(len(v.labels)), row: -1})
	v.marked = root
	for i := 0; i < len(mark) && v.marked >= 0; i++ {
		v.marked = v.child(v.marked, mark[i])
	}
	return v
}

// child is the node that a byte leads to, -1 if none.
func (v *vocabulary) child(at int32, b byte) int32 {
	from, to := v.nodes[at].first, v.nodes[at+1].first
	labels := v.labels[from:to]
	if len(labels) == 1 { // the most frequent case
		if labels[0] == b {
			return from
		}
		return -1
	}
	if i := bytes.IndexByte(labels, b); i >= 0 {
		return from + int32(i)
	}
	return -1
}

// longest returns the row of the longest token that begins s, starting at a node, and its
// length; the row is -1 if there is none.
func (v *vocabulary) longest(at int32, s []byte) (row int32, n int) {
	row = -1
	for i := 0; at >= 0; i++ {
		if r := v.nodes[at].row; r >= 0 {
			row, n = r, i
		}
		if i == len(s) {
			break
		}
		at = v.child(at, s[i])
	}
	return row, n
}

// tokenize appends the rows of a text to rows, up to limit in all.
func (v *vocabulary) tokenize(rows []int32, text string, limit int) []int32 {
	words(text, func(w []byte) bool {
		rows = v.word(rows, w, limit)
		return len(rows) < limit
	})
	return rows
}

// word appends the rows of a word, up to limit in all.
func (v *vocabulary) word(rows []int32, w []byte, limit int) []int32 {
	had := len(rows)
	row, n := v.longest(v.marked, w)
	whole := n == len(w)
	for rest := w; row >= 0; row, n = v.longest(root, rest) {
		if len(rows) < limit {
			rows = append(rows, row)
		}
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
	}
	if row < 0 {
		rows = rows[:had] // the pieces do not cover the word
	}
	if !whole && v.hashed > 0 && len(rows) < limit {
		rows = append(rows, int32(v.tokens+int(fnv1a(w)%uint32(v.hashed))))
	}
	return rows
}

// fnv1a is the 32-bit FNV-1a hash. hash/fnv would need an interface.
func fnv1a(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
