package persona

import (
	"fmt"
	"slices"
	"strings"
)

// summary is one sentence about a text. Like a small model it omits facts and adds filler.
func (g *guesser) summary(text string) string {
	var parts []string
	for _, f := range g.facts(text) {
		parts = append(parts, f.sentence)
	}
	if len(parts) > 1 && g.rand.IntN(8) == 0 {
		parts = slices.Delete(parts, 0, 1)
	}
	if len(parts) == 0 {
		parts = []string{g.longest(text)}
	}
	out := strings.Join(parts, "; ") + "."
	if g.rand.IntN(12) == 0 {
		return "Here is a summary: " + out
	}
	return out
}

// longest is the longest sentence of a text, without the part before a colon.
func (g *guesser) longest(text string) string {
	best := "There is nothing to summarize"
	for i, s := range sentences(text) {
		if j := strings.LastIndex(s, ": "); j >= 0 {
			s = s[j+2:]
		}
		if i == 0 || len(s) > len(best) {
			best = s
		}
	}
	return strings.TrimRight(best, ".!?")
}

// fromKnowledge predicts questions from the facts of an abstract. Without a fact it returns
// filler.
func (g *guesser) fromKnowledge(abstract string, count int) string {
	var pool []string
	for _, f := range g.facts(abstract) {
		for _, a := range f.subject.tale.asks {
			pool = append(pool, f.subject.question(a, g.rand.IntN(len(a.lines))))
		}
	}
	return g.list(pool, count)
}

// fromHistory predicts further questions about subjects of the history, and sometimes mixes
// them up.
func (g *guesser) fromHistory(history string, count int) string {
	var pool []string
	var before []asked
	seen := map[string]bool{}
	for q := range strings.SplitAfterSeq(history, "?") {
		if a, ok := g.asks[plain(q)]; ok {
			before = append(before, a)
			seen[plain(q)] = true
		}
	}
	for _, q := range before {
		t := q.subject.tale
		for i, a := range t.asks {
			if i != q.ask {
				pool = append(pool, q.subject.question(a, g.rand.IntN(len(a.lines))))
			}
		}
		if other := pick(g.rand, before); other.subject.tale == t && g.rand.IntN(2) == 0 {
			names := slices.Clone(q.subject.names)
			names[t.named[0]] = other.subject.names[t.named[0]]
			pool = append(pool, t.fill(t.asks[q.ask].lines[q.wording], names))
		}
	}
	pool = slices.DeleteFunc(pool, func(q string) bool { return seen[plain(q)] })
	return g.list(pool, count)
}

// list prints questions like a small model: usually in the requested form.
func (g *guesser) list(pool []string, count int) string {
	r := g.rand
	if len(pool) == 0 {
		return "I am sorry, but the content does not suggest any questions."
	}
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	switch r.IntN(8) {
	case 0:
		count--
	case 1:
		count += 2
	}
	asks := pool[:max(1, min(count, len(pool)))]
	if r.IntN(4) == 0 {
		asks = append(asks, asks[0])
	}
	if r.IntN(4) == 0 {
		asks = append(asks, pick(r, g.month.lex.talk["unsupported"]))
	}
	if r.IntN(8) == 0 {
		asks = append(asks, "General questions about the content.")
	}
	numbered := func(end string) string {
		var b strings.Builder
		for i, q := range asks {
			fmt.Fprintf(&b, "%d. %s%s", i+1, q, end)
		}
		return strings.TrimSuffix(b.String(), end)
	}
	switch r.IntN(24) {
	case 0:
		return "- " + strings.Join(asks, "\n- ")
	case 1:
		return strings.Join(asks, "\n")
	case 2:
		return fmt.Sprintf("Sure! Here are %d questions users might ask:\n\n%s", count, numbered("\n"))
	case 3:
		return numbered("; ") + "\n\nI hope this helps! Let me know if you need more."
	case 4:
		return "The user might want to know more about the people and dates in the content."
	case 5:
		return ""
	case 6:
		all := numbered("; ")
		return all[:len(all)-8]
	}
	return numbered("; ")
}
