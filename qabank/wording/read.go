package wording

import (
	"slices"
	"strings"
)

// word is one that carries something, in its role.
type word struct {
	key   string
	class class
	mark  string // the preposition that governs it, or 's
	asked bool   // the question word belongs to it: which parts
	verb  bool   // the main one
	// subject: a pronoun that does what the main verb says.
	subject bool
	form    form // of a verb that is not the main one
	id      int  // its place as it was written
}

// question is a question in its plain form.
type question struct {
	kind    string
	tense   string
	modal   string
	passive bool
	now     bool   // a plan in the present tense
	words   []word // in the order of who does what
	groups  []group
	more    bool // there was too much to read
	english bool
	late    bool // see attach
	of      bool // something in it stands behind "of"
	bare    bool // no word in it asks
	mine    bool // it speaks of me, of what is mine
	ours    bool // it speaks of us, of what is ours
	// embedded: it stood in a polite sentence, which may have taken its order.
	embedded bool
	tokens   []token
}

// read brings a question into its plain form. names are the words that are
// names in either of two questions.
func read(t []token, more, late bool, names map[string]bool) *question {
	q := &question{more: more, late: late, tokens: t}
	for _, w := range t {
		q.english = q.english || asks(w.raw) || english().is("determiner", w.raw) || w.raw == "is" || w.raw == "are" || w.raw == "do" || w.raw == "did"
	}
	rest, embedded := strip(t)
	for _, w := range rest {
		q.mine = q.mine || w.raw == "my" || w.raw == "mine" || w.raw == "me" || w.raw == "myself"
		q.ours = q.ours || w.raw == "our" || w.raw == "ours" || w.raw == "us" || w.raw == "ourselves"
	}
	rest = plainly(rewrite(partOf(rest)))
	kind, from, to := kindAt(rest)
	q.kind = kind
	q.embedded = embedded
	before, after := items(rest[:from], names), items(rest[to:], names)
	r := reader{q: q, x: english(), it: append(append(before, item{key: "?", fixed: true, raw: join(rest[from:to])}), after...), slot: len(before)}
	r.run()
	return q
}

// reader goes over the items of one question.
type reader struct {
	q    *question
	x    *lexicon
	it   []item
	slot int  // where the question word stood
	main int  // the main verb, or -1
	past bool // it is about what was done, whatever the verbs say
}

func (r *reader) is(list string, i int) bool {
	return i >= 0 && i < len(r.it) && !(r.it[i].fixed && r.it[i].class != date) && (r.x.is(list, r.it[i].raw) || r.x.is(list, r.it[i].key))
}

func (r *reader) key(i int) string {
	if i < 0 || i >= len(r.it) {
		return ""
	}
	return r.it[i].key
}

func (r *reader) run() {
	r.frame()
	r.helpers()
	r.statement()
	r.collect()
	r.settle()
}

// frame turns question words with an adjective or a derived noun behind them
// into the plain question for the same thing.
func (r *reader) frame() {
	next := r.slot + 1
	if r.q.kind == "how" && next < len(r.it) {
		if m := r.x.measures[r.it[next].raw]; m != "" {
			r.q.kind = "what"
			r.it[next] = fixed(token{raw: r.it[next].raw}, m, content)
		}
	}
	if r.q.kind == "noun" {
		r.q.kind, r.q.bare = "what", true
	}
	if last := len(r.it) - 1; r.q.kind == "what" && last > next && (r.it[last].raw == "called" || r.it[last].raw == "named") {
		r.it[last] = fixed(token{raw: r.it[last].raw}, "name", content)
	}
	// what is the NOUN of
	for i := next; i < len(r.it); i++ {
		for k := min(2, len(r.it)-i); k > 0; k-- {
			raws := r.it[i].raw
			if k == 2 {
				raws += " " + r.it[i+1].raw
			}
			d, ok := r.x.derived[raws]
			if !ok || d.from != r.q.kind || r.key(next) != "be" && next != 0 && r.it[r.slot].raw != "" {
				continue
			}
			r.q.kind = d.to
			keep := r.it[i+k:]
			if len(keep) > 0 && (keep[0].key == "of" || keep[0].key == "for") {
				keep = keep[1:]
			}
			head := append([]item{}, r.it[:i]...)
			if n := len(head) - 1; n > 0 && (head[n].key == "'s" || r.x.is("determiner", head[n].raw)) {
				head = head[:n]
			}
			tail := append([]item{}, keep...)
			if d.verb != "" {
				verb := fixed(token{}, r.x.group(d.verb), content)
				verb.form = d.form
				if d.to == "who" {
					head = append(head, verb)
					r.past = d.form == past
				} else {
					tail = append(tail, verb)
				}
			}
			r.it = append(head, tail...)
			return
		}
	}
}

// noun says whether the word at i stands where only a noun can.
func (r *reader) noun(i int) bool {
	if i == 0 {
		return false
	}
	p := r.it[i-1]
	return p.key == "'s" || !p.fixed && (r.x.is("determiner", p.raw) || r.is("weak", i-1) || p.key == "from" || p.key == "by") || p.class == number
}

func (r *reader) verbal(i int) bool {
	w := r.it[i]
	phrase := r.x.verbs[w.key] && strings.Contains(w.raw, " ")
	return (w.form != 0 || phrase) && w.class == content && w.key != "be" && w.key != "do" && w.key != "have" && !r.noun(i)
}

// helpers reads time, obligation and voice off the verbs.
func (r *reader) helpers() {
	q := r.q
	q.tense = "present"
	r.got()
	aux, perfect, did := -1, false, 0
	for i, w := range r.it {
		if w.fixed {
			continue
		}
		switch {
		case r.x.is("future", w.raw):
			q.tense = "future"
			aux = max(aux, i)
		case w.key == "be" && r.key(i+1) == "go" && r.key(i+2) == "to" || w.key == "be" && r.key(i+2) == "go" && r.key(i+3) == "to" && r.verbAfter(i+4):
			if w.form&past != 0 {
				q.tense = "past future"
			} else {
				q.tense = "future"
			}
			aux = max(aux, i)
		case w.key == "do" && did == 0 && !r.noun(i):
			did++
			aux = max(aux, i)
			if w.raw == "did" {
				q.tense = "past"
			}
		case w.key == "have" && !r.noun(i):
			if r.perfect(i) {
				perfect, aux = true, max(aux, i)
			} else if w.raw == "had" {
				q.tense = "past"
			}
		case w.key == "be" && w.form&past != 0 && q.tense == "present":
			q.tense = "past"
			aux = max(aux, i)
		case w.key == "be":
			aux = max(aux, i)
		}
		r.modal(i)
	}
	if perfect || r.past {
		q.tense = "past"
	}
	r.main = r.mainVerb()
	if r.main < 0 {
		return
	}
	w := r.it[r.main]
	if aux < 0 && w.form&past != 0 && w.form&base == 0 {
		q.tense = "past"
	}
	be := -1
	for i := range r.main {
		if r.it[i].key == "be" && !r.it[i].fixed {
			be = i
		}
	}
	q.passive = be >= 0 && w.form&participle != 0 && w.form&ing == 0
	q.now = w.form&ing != 0 && be >= 0 && (r.x.is("planned", w.key) || r.x.is("performed", w.key) && slices.ContainsFunc(r.it, func(it item) bool { return r.x.is("event", it.key) }))
}

// got: "have you got" has no more in it than "have you".
func (r *reader) got() {
	for i, w := range r.it { // it got repaired
		if w.key == "get" && !w.fixed && i+1 < len(r.it) && r.it[i+1].form&participle != 0 && r.it[i+1].form&base == 0 && !r.noun(i) {
			r.it[i].key = "be"
		}
	}
	for i, w := range r.it {
		for j := i + 1; w.key == "have" && j < len(r.it) && j < i+4; j++ {
			if r.it[j].raw == "got" && r.key(j+1) != "to" {
				r.it = append(r.it[:j:j], r.it[j+1:]...)
				return
			}
		}
	}
}

func (r *reader) verbAfter(i int) bool { return i < len(r.it) && r.it[i].form&base != 0 }

// perfect says whether the "have" at i helps a participle.
func (r *reader) perfect(i int) bool {
	for _, w := range r.it[:i] {
		if !w.fixed && (w.raw == "do" || w.raw == "does" || w.raw == "did") {
			return false // which parts does he have replaced
		}
	}
	for j := i + 1; j < len(r.it) && j < i+7; j++ {
		w := r.it[j]
		if w.form&participle != 0 && !w.fixed && (j == i+1 || !r.noun(j)) {
			return j == i+1 || i == r.slot+1 || i == 0 || w.key == "be" || r.it[j-1].key == "not" || r.inverted(i)
		}
		if j == i+1 && (r.x.is("determiner", w.raw) && i != r.slot+1 && i != 0 || w.key == "to") {
			return false
		}
	}
	return false
}

// inverted says whether what is asked for alone stands before the "have" at i,
// and who does it behind: which parts have you ordered.
func (r *reader) inverted(i int) bool {
	if r.it[i].raw == "having" || i <= r.slot+1 || !r.slotted() {
		return false
	}
	for j := r.slot + 1; j < i; j++ {
		it := r.it[j]
		if it.fixed || it.comma || it.key == "'s" || r.x.is("determiner", it.raw) || r.is("weak", j) || r.is("strict", j) || r.x.is("future", it.raw) ||
			it.key == "be" || it.key == "do" || it.key == "to" || it.key == "(helper)" || r.x.is("me", it.raw) || r.x.is("you", it.raw) || r.x.is("they", it.raw) {
			return false
		}
	}
	it := r.it[i+1]
	return it.class == name || it.class == person || r.x.is("determiner", it.raw) || r.x.is("me", it.raw) || r.x.is("you", it.raw) ||
		r.x.is("he", it.raw) || r.x.is("she", it.raw) || r.x.is("they", it.raw)
}

func (r *reader) modal(i int) {
	w, q := r.it[i], r.q
	switch {
	case (r.x.is("can", w.raw) || w.key == "allowed") && !(w.key == "allowed" && r.noun(i)):
		q.modal = "can"
	case r.x.is("must", w.raw), (w.key == "have" || w.key == "need") && r.toVerb(i), w.raw == "required" && r.toVerb(i):
		q.modal = "must"
	case r.x.is("should", w.raw), (w.raw == "supposed" || w.raw == "meant") && r.toVerb(i):
		q.modal = "should"
	case w.raw == "would":
		q.modal = "would"
	default:
		return
	}
	r.it[i].key = "(helper)"
	if strings.Contains(w.raw, " not ") {
		r.it[i].key = w.key
	}
}

// statement: a sentence with a verb and no question word wants a yes or a no.
func (r *reader) statement() {
	if !r.q.bare || r.q.embedded {
		return
	}
	for i, w := range r.it {
		if i == r.main || !w.fixed && (w.key == "be" || w.key == "have" || w.key == "(helper)") {
			r.q.kind = "whether"
		}
	}
}

// toVerb: the word at i is followed by "to" and a verb.
func (r *reader) toVerb(i int) bool {
	return r.key(i+1) == "to" && i+2 < len(r.it) && (r.it[i+2].form&base != 0 || r.it[i+2].key == "be" || r.it[i+2].key == "have" || r.it[i+2].key == "do" || r.x.verbs[r.it[i+2].key])
}

// mainVerb is the first verb that can be one, behind the question word where
// there is one behind it.
func (r *reader) mainVerb() int {
	for i := r.slot + 1; i < len(r.it); i++ {
		if r.it[i].key == "last" && i+1 < len(r.it) && r.it[i+1].form != 0 {
			continue // when did we last change it
		}
		if r.verbal(i) && !r.helped(i) && !r.inAsked(i) && r.finite(i) {
			if i+1 < len(r.it) && i > 1 && r.x.is("plain", r.it[i+1].key) && r.it[i].form&base != 0 && r.verbal(i+1) && r.it[i+1].form&base != 0 {
				return i + 1 // what did the repair cost
			}
			return i
		}
	}
	return -1
}

// inAsked: in "which tests did it pass", tests is no verb.
func (r *reader) inAsked(i int) bool {
	if k := r.q.kind; k != "what" && k != "many" && k != "much" && k != "whose" && k != "whatkind" {
		return false
	}
	for j := i + 1; j < len(r.it); j++ {
		it := r.it[j]
		if !it.fixed && (it.key == "be" || it.key == "do" || it.key == "have" || it.key == "(helper)" || r.x.is("future", it.raw)) {
			return true
		}
		if it.comma || it.key == "'s" || r.x.is("determiner", it.raw) || r.is("weak", j) || r.is("strict", j) || it.class == name {
			return false
		}
	}
	return false
}

// finite: behind "is", with nothing else to help it, a verb in its base form
// is a noun, and so it is before a helper.
func (r *reader) finite(i int) bool {
	if r.it[i].form&^(base|third) != 0 || r.it[i].form == 0 || r.key(i-1) == "to" && r.key(i-2) == "go" {
		return true
	}
	if next := r.key(i + 1); next == "be" || next == "do" || next == "have" || next == "(helper)" {
		return false // the receipts are
	}
	if r.q.bare && r.it[i].form&third == 0 {
		return false
	}
	be := false
	for j := range i {
		it := r.it[j]
		if it.fixed {
			continue
		}
		if it.key == "do" || it.key == "(helper)" || r.x.is("future", it.raw) {
			return true
		}
		be = be || it.key == "be"
	}
	return !be
}

// helped says whether the verb at i is one of "going to", not a main verb.
func (r *reader) helped(i int) bool {
	return r.it[i].key == "(helper)" || r.it[i].key == "go" && r.key(i+1) == "to" && r.verbAfter(i+2)
}
