package wording

import "slices"

// loose stands before the mark of a preposition that has its thing elsewhere,
// and so cannot be left out.
const loose = "~"

// bareMark says whether a mark ties a word to its neighbour and no more.
func bareMark(m string) bool { return m == "" || m == "'s" || m == "of" || m == held }

// held is the mark of the other side of a contract or a meeting: it may be
// named before it, the agency contract, and is nobody that it is for.
const held = "with's"

// settle brings the words into the order of who does what, and the question's
// kind into the plainest one.
func (r *reader) settle() {
	q := r.q
	r.strand()
	r.moveOf()
	verb := slices.IndexFunc(q.words, func(w word) bool { return w.verb })
	switch {
	case q.passive && verb >= 0:
		r.active(verb)
	case verb >= 0 && r.objectAsked(verb):
		q.words = movedBack(q.words, func(w word) bool { return w.asked && bareMark(w.mark) })
	case verb < 0 && (q.kind == "what" || q.kind == "noun"):
		r.copular()
	}
	r.amounts()
	if q.kind == "long" {
		q.words = slices.DeleteFunc(q.words, func(w word) bool { return w.key == "take" })
	}
}

// strand gives a preposition without a thing behind it to what is asked for:
// "which gate does it leave from" and "from which gate does it leave".
func (r *reader) strand() {
	q := r.q
	for _, g := range q.groups {
		if !g.stranded {
			continue
		}
		found, mark := false, g.mark
		if r.x.is("weak", mark) {
			mark = loose + mark
		}
		for i := range q.words {
			if q.words[i].asked {
				q.words[i].mark, found = mark, true
			}
		}
		if !found {
			if q.kind == "where" && (g.mark == "at" || g.mark == "in") || dayLike(q.kind) && g.mark == "on" {
				continue
			}
			r.add(word{key: "?", mark: mark})
		}
	}
}

// moveOf puts what stands behind "of" where 's would have it.
func (r *reader) moveOf() {
	for _, g := range r.q.groups {
		if g.mark != "of" || g.head < 0 || g.stranded {
			continue
		}
		head := r.q.words[slices.IndexFunc(r.q.words, func(w word) bool { return w.id == g.head })]
		for i, w := range r.q.words {
			if w.id >= g.from && w.id < g.to {
				r.q.words[i].asked = head.asked
				if !bareMark(head.mark) {
					r.q.words[i].mark = head.mark
				}
			}
		}
		r.q.words, r.q.of = r.q.attach(r.q.words, g), true
	}
}

// attach moves a group's words before the thing they belong to; late, before
// its last word: the latest firmware version.
func (q *question) attach(list []word, g group) []word {
	in := func(w word) bool { return w.id >= g.from && w.id < g.to }
	var moved, rest []word
	for _, w := range list {
		if in(w) {
			moved = append(moved, w)
		} else {
			rest = append(rest, w)
		}
	}
	head := g.head
	if q.late && !slices.ContainsFunc(rest, func(w word) bool {
		return w.id >= g.head && w.id < g.last && !english().is("which", w.key) && w.class != number
	}) {
		head = g.last
	}
	to := slices.IndexFunc(rest, func(w word) bool { return w.id == head })
	if to < 0 {
		return list
	}
	return slices.Insert(rest, to, moved...)
}

// active turns a passive sentence: who did it, did, what.
func (r *reader) active(verb int) {
	var agent, done, rest []word
	for i, w := range r.q.words {
		switch {
		case w.mark == "by" && w.class != date && w.class != number:
			w.mark = ""
			agent = append(agent, w)
		case i < verb && bareMark(w.mark) && w.class != negation && !(w.key == "last" && i == verb-1):
			done = append(done, w)
		default:
			rest = append(rest, w)
		}
	}
	at := slices.IndexFunc(rest, func(w word) bool { return w.verb })
	out := append(agent, rest[:at+1]...)
	out = append(out, done...)
	r.q.words = append(out, rest[at+1:]...)
}

// objectAsked says whether somebody else than what is asked for does the verb.
func (r *reader) objectAsked(verb int) bool {
	helped := false
	for i := r.slot + 1; i < r.main; i++ {
		helped = helped || r.auxiliary(i)
	}
	if !helped || !r.slotted() || r.q.kind == "noun" {
		return false
	}
	return slices.ContainsFunc(r.q.words[:verb], func(w word) bool {
		return !w.asked && bareMark(w.mark) && w.class != negation && w.class != date
	})
}

// movedBack puts some words behind all others.
func movedBack(words []word, which func(word) bool) []word {
	var front, back []word
	for _, w := range words {
		if which(w) {
			back = append(back, w)
		} else {
			front = append(front, w)
		}
	}
	return append(front, back...)
}

// copular makes "what colour is the door" of "what is the colour of the door".
func (r *reader) copular() {
	q := r.q
	if len(q.words) == 0 || q.words[0].key == "?" || !q.words[0].asked || r.main >= 0 {
		return
	}
	if last := len(q.words) - 1; q.words[last].key == "have" {
		q.words = q.words[:last] // which colour does it have
	}
	q.words = movedBack(q.words, func(w word) bool { return w.asked && bareMark(w.mark) })
	for i := range q.words {
		q.words[i].asked = false
	}
	q.words = append([]word{{key: "?", asked: true, id: -1}}, q.words...)
}

// paidFor makes "we pay for it" into "it costs".
func (r *reader) paidFor() {
	q := r.q
	at := slices.IndexFunc(q.words, func(w word) bool { return w.verb && w.key == "pay" })
	if at < 0 || q.kind == "what" && !slices.ContainsFunc(q.words, func(w word) bool { return w.key == "?" }) {
		return
	}
	for gi, g := range q.groups {
		if g.mark != "for" || g.from != q.words[at].id+1 || g.stranded || q.words[at].asked {
			continue
		}
		q.words[at].key = "cost"
		verb := q.words[at]
		for i, w := range q.words {
			if w.id >= g.from && w.id < g.to {
				q.words[i].mark = ""
			}
		}
		q.groups[gi].head = -1
		rest := slices.DeleteFunc(slices.Clone(q.words), func(w word) bool { return w.id == verb.id })
		end := slices.IndexFunc(rest, func(w word) bool { return w.id == g.to-1 })
		q.words = slices.Insert(rest, end+1, verb)
		return
	}
}

// amounts makes questions for an amount alike, whatever words ask.
func (r *reader) amounts() {
	q := r.q
	if q.kind == "much" || q.kind == "what" {
		r.paidFor()
	}
	open := slices.ContainsFunc(q.words, func(w word) bool { return w.key == "?" })
	verb, amount := "", false
	for _, w := range q.words {
		if w.verb {
			verb = w.key
		}
		amount = amount || r.x.is("amount", w.key) && bareMark(w.mark)
	}
	if q.kind == "what" || q.kind == "noun" {
		if open && (verb == "" && amount || r.x.is("priced", verb)) {
			q.kind = "much"
		}
	}
	if q.kind == "much" && open {
		q.words = slices.DeleteFunc(q.words, func(w word) bool { return w.key == "?" && bareMark(w.mark) })
		if verb == "" && !amount && len(q.words) > 0 {
			r.add(word{key: "cost"})
		}
	}
	if q.kind == "much" && verb == "weigh" {
		q.kind = "what"
		for i := range q.words {
			if q.words[i].verb {
				q.words[i].key, q.words[i].verb = "weight", false
			}
		}
		q.words = append([]word{{key: "?", asked: true, id: -1}}, q.words...)
	}
}
