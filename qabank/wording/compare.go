package wording

import (
	"slices"
	"strings"
)

// Kind is what two questions may differ in.
type Kind string

// The kinds, in the order in which they are reported.
const (
	Negation Kind = "negation"
	Number   Kind = "number"
	Date     Kind = "date"
	Name     Kind = "name"
	Role     Kind = "role"
	Opposite Kind = "opposite"
	Asked    Kind = "question" // who, when, why
	Tense    Kind = "tense"    // was, is, will, may, must
	Scope    Kind = "scope"    // all, any, only, more
	Topic    Kind = "topic"    // a word without its like
)

// Kinds lists them all.
func Kinds() []Kind {
	return []Kind{Negation, Number, Date, Name, Role, Opposite, Asked, Tense, Scope, Topic}
}

// Difference is one thing in which two questions differ.
type Difference struct {
	Kind   Kind
	Detail string // in words of the questions
}

// Compare tells what two questions differ in, as far as their words show. It
// gives nothing where each is a wording of the other.
func Compare(a, b string) []Difference {
	ta, moreA := split(a)
	tb, moreB := split(b)
	ta, tb = expand(ta), expand(tb)
	names := map[string]bool{}
	for _, t := range append(slices.Clone(ta), tb...) {
		if t.name && !english().is("kin", t.raw) && !english().is("currency", t.raw) && !strings.ContainsAny(t.raw, "0123456789") {
			names[t.raw] = true
		}
	}
	var first []Difference
	for i, late := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		c := comparison{a: read(ta, moreA, late[0], names), b: read(tb, moreB, late[1], names), names: names}
		c.run()
		if i == 0 {
			first = c.found
		}
		// "The latest version of the plan" may be the latest plan version, but
		// never the version of the latest plan.
		if i > 0 && (late[0] && c.b.of || late[1] && c.a.of) {
			continue
		}
		if len(c.found) == 0 {
			return nil
		}
		if i == 0 && (len(c.found) > 1 || c.found[0].Kind != Role || c.found[0].Detail != order) {
			break
		}
	}
	return first
}

// order is the detail of a difference that another reading of "of" may undo.
const order = "the order of the words"

type comparison struct {
	a, b  *question
	names map[string]bool
	found []Difference
}

func (c *comparison) differ(k Kind, detail string) {
	c.found = append(c.found, Difference{k, detail})
}

func (c *comparison) run() {
	a, b := c.a, c.b
	if a.more || b.more {
		c.differ(Topic, "too long to compare")
		return
	}
	if !a.english && !b.english {
		if join(a.tokens) != join(b.tokens) || len(a.tokens) == 0 {
			c.differ(Topic, "other words, or others in another order")
		}
		return
	}
	if !sameKind(a.kind, b.kind) {
		c.differ(Asked, a.kind+" / "+b.kind)
	}
	if !c.sameTense() {
		c.differ(Tense, a.tense+" / "+b.tense)
	}
	if !c.sameModal() {
		c.differ(Tense, "obligation: "+a.modal+" / "+b.modal)
	}
	if a.mine && b.ours && !a.ours && !b.mine || a.ours && b.mine && !a.mine && !b.ours {
		c.differ(Name, "mine / ours")
	}
	restA, restB := c.unmatched()
	c.report(restA, restB)
	if len(restA)+len(restB) > 0 {
		return
	}
	if len(a.words) == 0 || !slices.ContainsFunc(a.words, func(w word) bool { return w.key != "?" && w.class != person }) {
		c.differ(Topic, "nothing that could be compared")
		return
	}
	if why := c.roles(); why != "" {
		c.differ(Role, why)
	}
}

// sameKind: "when" leaves open whether a day or an hour is wanted.
func sameKind(a, b string) bool {
	if a == "when" {
		a, b = b, a
	}
	return a == b || b == "when" && (dayLike(a) || a == "year" || a == "month")
}

func dayLike(kind string) bool { return kind == "when" || kind == "day" || kind == "time" }

func (c *comparison) sameTense() bool {
	a, b := c.a, c.b
	if a.tense == b.tense {
		return true
	}
	if a.tense == "past" || b.tense == "past" || a.tense == "past future" || b.tense == "past future" {
		return false
	}
	if dayLike(a.kind) && dayLike(b.kind) || a.tense == "present" && a.now || b.tense == "present" && b.now {
		return true
	}
	if a.kind == "where" && slices.ContainsFunc(a.words, func(w word) bool { return english().is("event", w.key) }) {
		return true
	}
	dated := func(w word) bool { return w.class == date && strings.HasPrefix(w.key, "date ") }
	return slices.ContainsFunc(a.words, dated) && slices.ContainsFunc(b.words, dated)
}

func (c *comparison) sameModal() bool {
	x, y := c.a.modal, c.b.modal
	if x == y {
		return true
	}
	if x > y {
		x, y = y, x
	}
	kind := c.a.kind
	switch {
	case x == "must" && y == "should":
		return kind != "whether"
	case x == "" && y == "can":
		return kind == "how" || kind == "where"
	case x == "" && y == "must":
		return kind == "often" || kind == "long" || kind == "much" || kind == "many"
	}
	return false
}

// bagKey is what must be on both sides: the word, and a preposition that
// changes what it does.
func bagKey(w word) string {
	if english().is("strict", w.mark) || strings.HasPrefix(w.mark, loose) {
		return w.mark + " " + w.key
	}
	return w.key
}

// unmatched gives the words of each question that the other lacks.
func (c *comparison) unmatched() (restA, restB []word) {
	have := map[string]int{}
	for _, w := range c.b.words {
		have[bagKey(w)]++
	}
	for _, w := range c.a.words {
		if have[bagKey(w)] > 0 {
			have[bagKey(w)]--
			continue
		}
		restA = append(restA, w)
	}
	for i := len(c.b.words) - 1; i >= 0; i-- {
		if w := c.b.words[i]; have[bagKey(w)] > 0 {
			have[bagKey(w)]--
			restB = append(restB, w)
		}
	}
	// Both are looked at before either is changed, so that it is all one which
	// question comes first.
	spareA, spareB := c.a.spares(restA, c.b), c.b.spares(restB, c.a)
	return c.a.without(restA, spareA), c.b.without(restB, spareB)
}

// spares gives the IDs of the words that may stand on one side only.
func (q *question) spares(rest []word, other *question) map[int]bool {
	out := map[int]bool{}
	for _, w := range rest {
		if q.spare(w, other) {
			out[w.id] = true
		}
	}
	return out
}

// without drops words from the question, and from the rest of it.
func (q *question) without(rest []word, ids map[int]bool) []word {
	dropped := func(w word) bool { return ids[w.id] }
	q.words = slices.DeleteFunc(q.words, dropped)
	return slices.DeleteFunc(rest, dropped)
}

// spare says whether a word may stand in one of two questions only.
func (q *question) spare(w word, other *question) bool {
	x := english()
	switch {
	case w.class == person && !w.subject:
		return false
	case w.class == person && w.key == "me":
		return q.general(other) && w.mark == ""
	case w.class == person && w.key == "they":
		return other.passive && w.mark == "" && q.kind != "who" && !slices.ContainsFunc(other.words, func(o word) bool { return o.class == person || o.mark == "by" })
	case w.class == person && w.key == "you":
		return q.kind == "how" && w.mark == ""
	case w.class != content && w.class != date:
		return false
	case x.is("filler", w.key):
		return true
	case w.key == "now":
		return q.tense == "present"
	case w.key == "have", w.key == "take place", w.key == "happen", w.key == "hold" && q.passive:
		return (dayLike(q.kind) || q.kind == "where" || q.kind == "many" && w.key == "have") && (w.verb || w.key != "hold")
	case w.key == "project":
		return q.beside(w, func(n word) bool { return n.class == name })
	case w.key == "money":
		return q.kind == "much"
	case w.key == "thing", w.key == "person":
		return w.asked
	}
	return x.is("title", w.key) && !slices.ContainsFunc(other.words, func(o word) bool { return x.is("title", o.key) })
}

// general says whether "I" and "we" mean anybody here: no other person is
// named, and it is not asked who or what.
func (q *question) general(other *question) bool {
	for _, s := range []*question{q, other} {
		for _, w := range s.words {
			if w.class == person && w.key != "me" {
				return false
			}
		}
		switch s.kind {
		case "who", "whose":
			return false
		case "what", "whether", "whatkind":
			if !other.passive && !q.passive {
				return false
			}
		}
	}
	return true
}

// beside says whether a neighbour of w is such a word.
func (q *question) beside(w word, such func(word) bool) bool {
	i := slices.IndexFunc(q.words, func(x word) bool { return x.id == w.id })
	return i > 0 && such(q.words[i-1]) || i >= 0 && i+1 < len(q.words) && such(q.words[i+1])
}

// report names the words without their like.
func (c *comparison) report(restA, restB []word) {
	x := english()
	paired := map[int]bool{}
	for _, a := range restA {
		opposed := false
		for j, b := range restB {
			if x.opposites[[2]string{a.key, b.key}] || x.opposites[[2]string{a.mark, b.mark}] {
				c.differ(Opposite, a.key+" / "+b.key)
				opposed, paired[j] = true, true
				break
			}
		}
		if !opposed {
			c.differ(c.kindOf(a), bagKey(a))
		}
	}
	for j, b := range restB {
		if !paired[j] {
			c.differ(c.kindOf(b), bagKey(b))
		}
	}
}

func (c *comparison) kindOf(w word) Kind {
	switch w.class {
	case number:
		return Number
	case date:
		return Date
	case name, person:
		return Name
	case scope:
		return Scope
	case negation:
		return Negation
	}
	switch {
	case w.key == "?":
		return Asked
	case c.names[w.key]:
		return Name
	case w.mark != "" && english().is("strict", w.mark):
		return Role
	}
	return Topic
}
