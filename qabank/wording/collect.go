package wording

import "slices"

// group is a run of words behind one preposition: "at the old mill".
type group struct {
	mark string
	from int // index of its first word
	to   int // behind its last
	// head is the index of the first word of the words before the preposition,
	// if those are a thing; else -1.
	head     int
	last     int // the last of those
	stranded bool
}

// collect makes words of the items, with their marks.
func (r *reader) collect() {
	asked := r.askedItems()
	var groups []group
	var open *group // the preposition at work
	run := -1       // first word of the thing that goes on
	shut := func() {
		if open != nil {
			open.to = len(r.q.words)
			open.stranded = open.from == open.to
			groups = append(groups, *open)
			open = nil
		}
	}
	for i, it := range r.it {
		if it.comma || i == r.slot || i == r.main {
			shut()
			run = -1
		}
		switch {
		case i == r.slot:
			if r.slotted() && !asked[i+1] {
				r.add(word{key: "?", asked: true})
			}
			continue
		case r.preposition(i):
			head := run
			shut()
			run = -1
			if it.key == "to" && r.toVerb(i-1) || r.key(i) == "to" && i+1 < len(r.it) && i+1 == r.main {
				continue
			}
			open = &group{mark: it.key, from: len(r.q.words), head: head, last: len(r.q.words) - 1}
			if head < 0 && r.key(i-1) == "be" && r.is("weak", i) {
				open.mark = loose + it.key // what is in it is not what it is
			}
			continue
		case r.silent(i):
			if r.auxiliary(i) || r.x.is("determiner", it.raw) {
				run = -1
			}
			if r.auxiliary(i) {
				shut()
			}
			continue
		}
		w := word{class: r.classOf(i), asked: asked[i], verb: i == r.main}
		w.key = r.it[i].key
		w.subject = r.subject(i, asked)
		if !w.verb {
			w.form = it.form
		}
		if r.key(i+1) == "'s" {
			w.mark = "'s"
		}
		if open != nil {
			w.mark = open.mark
		}
		r.add(w)
		if i == r.main {
			run = -1
		} else if run < 0 {
			run = len(r.q.words) - 1
		}
	}
	shut()
	r.q.groups = groups
	r.belong()
}

// belong makes "the contract with the agency" the agency's contract.
func (r *reader) belong() {
	for gi, g := range r.q.groups {
		if g.head < 0 || g.stranded {
			continue
		}
		last, words := r.q.words[g.last].key, r.q.words[g.from:g.to]
		if g.mark != "with" || !r.x.is("withs", last) ||
			slices.ContainsFunc(words, func(w word) bool { return w.class != content }) {
			continue
		}
		r.q.groups[gi].mark = "of"
		for i := range words {
			words[i].mark = held
		}
	}
}

// subject says whether a pronoun stands where only who does it can: behind a
// helper or the question word, before the main verb. Whom somebody wants to do
// it stands behind a verb.
func (r *reader) subject(i int, asked map[int]bool) bool {
	switch r.it[i].raw {
	case "i", "we", "you", "they":
		return i > 0 && (r.main < 0 || i < r.main) && (i-1 == r.slot || asked[i-1] || r.auxiliary(i-1))
	}
	return false
}

func (r *reader) add(w word) {
	w.id = len(r.q.words)
	r.q.words = append(r.q.words, w)
}

// slotted: the question word stands for somebody or something in the sentence.
func (r *reader) slotted() bool {
	switch r.q.kind {
	case "who", "whose", "what", "much", "many", "noun":
		return true
	}
	return false
}

// askedItems are those that the question word belongs to: which parts.
func (r *reader) askedItems() map[int]bool {
	out := map[int]bool{}
	if !r.slotted() || r.q.kind == "who" || r.q.kind == "noun" {
		return out
	}
	for i := r.slot + 1; i < len(r.it); i++ {
		if i == r.main || r.auxiliary(i) || r.preposition(i) || r.it[i].comma || r.x.is("determiner", r.it[i].raw) || r.x.is("me", r.it[i].raw) ||
			r.x.is("you", r.it[i].raw) || r.x.is("she", r.it[i].raw) || r.x.is("he", r.it[i].raw) || r.x.is("they", r.it[i].raw) || r.x.is("it", r.it[i].raw) {
			break
		}
		if i == r.slot+1 && r.it[i].class == name && r.it[r.slot].raw == "what" && i+1 < len(r.it) && (r.auxiliary(i+1) || i+1 == r.main) {
			break // "tell me what Ana is doing"
		}
		out[i] = true
	}
	return out
}

func (r *reader) preposition(i int) bool {
	return !r.it[i].fixed && (r.is("weak", i) || r.is("strict", i)) && i != r.main
}

// auxiliary says whether the item at i is a verb that only helps.
func (r *reader) auxiliary(i int) bool {
	it := r.it[i]
	if it.fixed {
		return false
	}
	switch it.key {
	case "(helper)", "be":
		return true
	case "do":
		return !r.does(i)
	case "have":
		return r.perfect(i)
	}
	return r.x.is("future", it.raw) || it.key == "go" && r.helped(i)
}

// does says whether "do" is the verb itself: what did she do?
func (r *reader) does(i int) bool {
	for j := range i {
		k := r.it[j].key
		if !r.it[j].fixed && (k == "do" || k == "(helper)" || k == "be" || k == "have" || r.x.is("future", r.it[j].raw)) || k == "to" && j == i-1 {
			return true
		}
	}
	return false
}

// silent says whether an item carries nothing, or what it carries has been
// read already.
func (r *reader) silent(i int) bool {
	it := r.it[i]
	if it.fixed {
		return false
	}
	switch {
	case r.auxiliary(i), it.key == "'s", it.raw == "and", r.is("empty", i):
		return true
	case it.raw == "any" && i > 0 && r.it[i-1].raw == "there":
		return true
	case it.raw == "my", it.raw == "our", it.raw == "this", it.raw == "these", it.raw == "those":
		return true
	}
	return false
}

func (r *reader) classOf(i int) class {
	it := r.it[i]
	if it.fixed {
		return it.class
	}
	switch {
	case r.x.is("negation", it.raw):
		return negation
	case r.is("scope", i):
		return scope
	}
	for _, p := range []string{"me", "you", "he", "she", "they", "it", "anyone", "everyone"} {
		if r.x.is(p, it.raw) {
			r.it[i].key = p
			if p != "me" && r.x.is("determiner", it.raw) && it.raw != "her" {
				r.it[i].key = p + "'s"
			}
			return person
		}
	}
	return content
}
