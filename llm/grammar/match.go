package grammar

import (
	"slices"
	"unicode/utf8"
)

// maxItems bounds the work behind one character, and maxCalls the calls of rules in a whole
// text that may still return.
const maxItems, maxCalls = 1 << 15, 1 << 20

// An item is an instruction in a call of a rule.
type item struct {
	pc int32
	of *call // nil: of the root
}

// A call is a rule that begins behind one character. All who call it there share it.
type call struct {
	rule  int32
	empty bool   // the rule matched nothing, too
	back  []item // where it goes on
}

// state is what a matcher knows behind a text.
type state struct {
	items []item // each before a character
	end   bool   // the text may end here
	part  [utf8.UTFMax]byte
	parts int // bytes of a character that is not complete
}

// Matcher follows one text. It belongs to one goroutine.
type Matcher struct {
	g      *Grammar
	now    state
	trial  [2]state
	open   []*call // by rule: the calls that begin at this character
	opened []int32
	work   []item
	seen   []item
	many   map[item]struct{} // in place of seen, when there are many
	calls  int               // so far
	over   bool
}

// Matcher returns a matcher before the first character.
func (g *Grammar) Matcher() *Matcher {
	m := &Matcher{g: g, open: make([]*call, len(g.start)), many: map[item]struct{}{}}
	m.begin()
	m.work = append(m.work, item{pc: g.start[g.root]})
	m.close(&m.now)
	return m
}

// Allows reports whether a text may come next. The text may end within a character. One with
// too many readings is not allowed.
func (m *Matcher) Allows(text []byte) bool {
	over, calls := m.over, m.calls
	allowed := m.run(text) != nil
	m.over, m.calls = over, calls
	return allowed
}

// Accept adds a text; false: it is not allowed, and nothing changed.
func (m *Matcher) Accept(text []byte) bool {
	s := m.run(text)
	if s == nil {
		return false
	}
	m.now.items = append(m.now.items[:0], s.items...)
	m.now.end, m.now.part, m.now.parts = s.end, s.part, s.parts
	return true
}

// MayEnd reports whether the text may end here.
func (m *Matcher) MayEnd() bool { return m.now.end && m.now.parts == 0 }

// MustEnd reports whether the text is complete and nothing may come next.
func (m *Matcher) MustEnd() bool { return m.MayEnd() && len(m.now.items) == 0 }

// Over reports whether the text had too many readings: then nothing is allowed any more.
func (m *Matcher) Over() bool { return m.over }

// First returns the bytes with which the next text may begin. Some may be wrong, none
// is missing.
func (m *Matcher) First() *[256]bool {
	var first [256]bool
	for b := range first {
		switch {
		case m.now.parts > 0:
			first[b] = b >= utf8.RuneSelf
		case b < utf8.RuneSelf:
			first[b] = slices.ContainsFunc(m.now.items, func(it item) bool { return m.g.code[it.pc].set.has(rune(b)) })
		case b >= 0xC2 && b <= 0xF4:
			first[b] = m.meets(&m.now, []byte{byte(b)})
		}
	}
	return &first
}

// run follows a text from the present state; nil: it is not allowed.
func (m *Matcher) run(text []byte) *state {
	from, free := &m.now, 0
	for i, b := range text {
		if m.over {
			return nil
		}
		to := &m.trial[free]
		if from.parts == 0 && b < utf8.RuneSelf {
			if !m.step(from, to, rune(b)) {
				return nil
			}
			from, free = to, 1-free
			continue
		}
		part, n := from.part, from.parts
		part[n] = b
		n++
		if !utf8.FullRune(part[:n]) {
			if from == &m.now { // it must not change
				to.items, to.end = append(to.items[:0], from.items...), from.end
				from, free = to, 1-free
			}
			from.part, from.parts = part, n
			if i == len(text)-1 && !m.meets(from, part[:n]) {
				return nil
			}
			continue
		}
		r, size := utf8.DecodeRune(part[:n])
		if r == utf8.RuneError && size == 1 || !m.step(from, to, r) {
			return nil
		}
		from, free = to, 1-free
	}
	if from == &m.now {
		return nil // an empty text goes nowhere
	}
	return from
}

// meets reports whether an incomplete character can become one that is allowed.
func (m *Matcher) meets(s *state, part []byte) bool {
	low, high := completions(part)
	return slices.ContainsFunc(s.items, func(it item) bool { return m.g.code[it.pc].set.meets(low, high) })
}

// step follows one character; false: it is not allowed.
func (m *Matcher) step(from, to *state, r rune) bool {
	m.begin()
	for _, it := range from.items {
		if m.g.code[it.pc].set.has(r) {
			m.work = append(m.work, item{it.pc + 1, it.of})
		}
	}
	if len(m.work) == 0 {
		return false
	}
	m.close(to)
	return len(to.items) > 0 || to.end
}

// begin forgets what belongs to the character before.
func (m *Matcher) begin() {
	for _, rule := range m.opened {
		m.open[rule] = nil
	}
	clear(m.many)
	m.opened, m.work, m.seen = m.opened[:0], m.work[:0], m.seen[:0]
}

// close follows everything that takes no character.
func (m *Matcher) close(s *state) {
	s.items, s.end, s.parts = s.items[:0], false, 0
	for count := 0; len(m.work) > 0; count++ {
		it := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		if count > maxItems || m.calls > maxCalls {
			m.over = true
			s.items, s.end = s.items[:0], false
			return
		}
		if m.visited(it) {
			continue
		}
		switch in := &m.g.code[it.pc]; in.op {
		case opSet:
			s.items = append(s.items, it)
		case opSplit:
			m.work = append(m.work, item{in.y, it.of}, item{in.x, it.of})
		case opJump:
			m.work = append(m.work, item{in.x, it.of})
		case opCall:
			m.call(in.x, item{it.pc + 1, it.of})
		case opReturn:
			if it.of == nil {
				s.end = true
				continue
			}
			if m.open[it.of.rule] == it.of {
				it.of.empty = true // whoever calls it later goes on at once
			}
			m.work = append(m.work, it.of.back...)
		}
	}
}

// call begins a rule, which returns to an item.
func (m *Matcher) call(rule int32, back item) {
	c := m.open[rule]
	if c == nil {
		c = &call{rule: rule}
		m.calls++
		m.open[rule] = c
		m.opened = append(m.opened, rule)
		m.work = append(m.work, item{m.g.start[rule], c})
	}
	// An item is followed once, so that none is here twice.
	c.back = append(c.back, back)
	if c.empty {
		m.work = append(m.work, back)
	}
}

// visited reports whether an item was followed before, and remembers it.
func (m *Matcher) visited(it item) bool {
	const few = 24
	if len(m.seen) < few {
		if slices.Contains(m.seen, it) {
			return true
		}
		m.seen = append(m.seen, it)
		return false
	}
	if len(m.many) == 0 {
		for _, s := range m.seen {
			m.many[s] = struct{}{}
		}
	}
	if _, ok := m.many[it]; ok {
		return true
	}
	m.many[it] = struct{}{}
	return false
}
