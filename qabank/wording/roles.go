package wording

import "slices"

// roles says why the same words do not stand for the same thing, or nothing.
func (c *comparison) roles() string {
	a, b := c.pairs()
	if a == nil {
		return "a word stands twice"
	}
	var back [2]map[int]bool
	back[0], back[1] = map[int]bool{}, map[int]bool{}
	moved := map[[2]string]bool{}
	for i := range a {
		wa, wb := a[i], b[i]
		if wa.asked != wb.asked {
			return "asked for: " + wa.key
		}
		if wa.verb != wb.verb && !english().is("act", wa.key) {
			return "verb and noun: " + wa.key
		}
		if done(wa) != done(wb) && !wa.verb && !wb.verb {
			return "time of: " + wa.key
		}
		if bareMark(wa.mark) && bareMark(wb.mark) || wa.mark == wb.mark {
			continue
		}
		if !c.weakly(wa, wb) {
			return wa.key + ": " + orNone(wa.mark) + " / " + orNone(wb.mark)
		}
		ma, mb := plainMark(wa.mark), plainMark(wb.mark)
		if moved[[2]string{mb, ma}] {
			return "which word is " + orNone(wa.mark) + ", which " + orNone(wb.mark)
		}
		moved[[2]string{ma, mb}] = true
		if bareMark(wa.mark) != bareMark(wb.mark) && wa.class != date {
			if bareMark(wb.mark) {
				back[0][wa.id] = true
			} else {
				back[1][wb.id] = true
			}
		}
	}
	sa, ok := c.a.sequence(back[0], b)
	sb, ok2 := c.b.sequence(back[1], a)
	if !ok || !ok2 {
		return "a word hangs on another"
	}
	if !slices.Equal(sa, sb) && !c.befalls(a, b) || !c.sameInside(a, b) {
		return order
	}
	return ""
}

// befalls says whether a question names one thing, and what befell it by a
// verb in one question and a noun in the other: nobody can do it to another.
func (c *comparison) befalls(a, b []word) bool {
	if c.a.kind == "who" || c.a.kind == "whose" || c.a.kind == "what" {
		return false
	}
	noun, rest := false, 0
	for i, w := range a {
		switch {
		case english().is("befall", w.key) && w.verb != b[i].verb:
			if noun {
				return false
			}
			noun = true
		case w.class == date:
		case w.class != content || !bareMark(w.mark) || w.asked || english().is("kin", w.key):
			return false
		default:
			rest++
		}
	}
	return noun && rest == 1
}

// done says whether a verb beside the main one tells of the past: the man who
// sold it, and who sells it.
func done(w word) bool { return w.form&(past|participle) != 0 && w.form&base == 0 }

// sameInside says whether words behind one kind of preposition keep their
// order, where they do so in both questions.
func (c *comparison) sameInside(a, b []word) bool {
	pa, pb := c.a.places(), c.b.places()
	for i := range a {
		for j := range i {
			same := !bareMark(a[i].mark) && a[i].mark == a[j].mark && !bareMark(b[i].mark) && b[i].mark == b[j].mark
			if same && (pa[a[i].id] < pa[a[j].id]) != (pb[b[i].id] < pb[b[j].id]) {
				return false
			}
		}
	}
	return true
}

// places gives each word's place in the order of who does what.
func (q *question) places() map[int]int {
	out := map[int]int{}
	for i, w := range q.words {
		out[w.id] = i
	}
	return out
}

// plainMark takes all marks that tie a word to its neighbour for one.
func plainMark(m string) string {
	if bareMark(m) {
		return ""
	}
	return m
}

func orNone(mark string) string {
	if mark == "" {
		return "-"
	}
	return mark
}

// pairs lines up the words of both questions, which are the same ones; nil if
// one stands twice, so that nobody can say which is which, unless all stand in
// the same order.
func (c *comparison) pairs() (a, b []word) {
	seen := map[string]int{}
	twice := false
	for i, w := range c.b.words {
		if _, ok := seen[bagKey(w)]; ok {
			twice = true
		}
		seen[bagKey(w)] = i
	}
	if twice {
		for i, w := range c.a.words {
			if i >= len(c.b.words) || bagKey(c.b.words[i]) != bagKey(w) {
				return nil, nil
			}
		}
		return c.a.words, c.b.words
	}
	for _, w := range c.a.words {
		a, b = append(a, w), append(b, c.b.words[seen[bagKey(w)]])
	}
	return a, b
}

// weakly says whether two prepositions before one word may mean the same.
func (c *comparison) weakly(a, b word) bool {
	if a.class == date {
		return true
	}
	m, n := a.mark, b.mark
	if bareMark(n) || !bareMark(m) && m > n {
		m, n = n, m
		a, b = b, a
	}
	switch {
	case m == "" && n == "for", m == "of" && n == "for", m == "for" && n == "of":
		return true
	case m == "'s" && n == "for":
		return c.amount()
	case m == "" && n == "about":
		return true
	case (m == "" || m == "of" || m == "about") && (n == "about" || n == "on") && c.speaks():
		return true
	case m == "" && (n == "at" || n == "in" || n == "on") && a.class == name:
		return true
	case bareMark(m) && m != held && (n == "at" || n == "in" || n == "on"):
		return a.class == content && b.class == content
	}
	return m == "at" && n == "in" || m == "for" && n == "on" && c.amount()
}

// speaks says whether something is in the questions that can be about a thing,
// on it or of it alike.
func (c *comparison) speaks() bool {
	return slices.ContainsFunc(c.a.words, func(w word) bool { return english().is("telling", w.key) })
}

// amount says whether the questions are about an amount, or something like it,
// that is for somebody as it is somebody's.
func (c *comparison) amount() bool {
	return slices.ContainsFunc(c.a.words, func(w word) bool {
		return english().is("amount", w.key) || w.key == "code" || w.key == "password" || w.key == "deadline" || w.key == "plan"
	})
}

// sequence is the order of the words that have no preposition on both sides.
// Those in back stand without one in the other question, so before the thing
// that they belong to; ok is false where they belong to none.
func (q *question) sequence(back map[int]bool, others []word) (out []string, ok bool) {
	list := slices.Clone(q.words)
	for _, g := range q.groups {
		moved := false
		for id := g.from; id < g.to; id++ {
			moved = moved || back[id]
		}
		if !moved {
			continue
		}
		if g.head < 0 {
			return nil, false
		}
		list = q.attach(list, q.behindOwner(g))
	}
	marked := map[string]bool{}
	for _, w := range others {
		marked[bagKey(w)] = !bareMark(w.mark)
	}
	for _, w := range list {
		if w.class == date || !bareMark(w.mark) && marked[bagKey(w)] {
			continue
		}
		out = append(out, w.key)
	}
	return out, true
}

// behindOwner lets a group stand right before the thing that it belongs to, behind whose it
// is: "Ana's budget for travel" is Ana's travel budget, and the travel budget of Ana.
func (q *question) behindOwner(g group) group {
	for _, w := range q.words {
		if w.id >= g.head && w.id < g.last && w.mark == "'s" {
			g.head = w.id + 1
		}
	}
	return g
}
