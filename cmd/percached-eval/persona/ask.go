package persona

import (
	"slices"
	"strings"
	"time"
)

// memory is the number of latest questions that the user may ask again.
const memory = 40

// questions are the user's questions so far.
type questions struct {
	asked    []asked         // the latest, without odd and general ones
	oddities map[string]bool // pairs of words asked about, and whole questions
}

// asked is a question about a subject.
type asked struct {
	text    string
	subject *subject
	ask     int // of the tale
	wording int
}

// ask draws a question and its expectation.
func (m *Month) ask(at time.Time) {
	p, x := m.profile, m.rand.Float64()
	var ok bool
	for _, way := range []struct {
		share float64
		ask   func(at time.Time) bool
	}{{p.Repeats, m.repeat}, {p.Paraphrases, m.paraphrase}, {p.Near, m.near}, {p.Foreign, m.foreign}, {1, m.first}} {
		if m.profile.Oddly {
			m.odd(at)
			return
		}
		if x -= way.share; x < 0 {
			ok = way.ask(at)
			break
		}
	}
	if !ok && !m.first(at) {
		m.foreign(at)
	}
}

// addQuestion adds the event of a question, and remembers the question.
func (m *Month) addQuestion(at time.Time, q asked, r Relation, of string) {
	a := q.subject.tale.asks[q.ask]
	text := m.typed(q.text)
	m.add(Event{At: at, Kind: Asked, Question: text, Expect: q.subject.expect(r, of, a.slot)})
	q.text = text
	q.subject.asked |= 1 << a.slot
	m.asked = append(m.asked, q)
	if len(m.asked) > memory {
		m.asked = m.asked[1:]
	}
}

// typed adds typing habits to a question.
func (m *Month) typed(q string) string {
	switch m.rand.IntN(12) {
	case 0:
		return strings.TrimSuffix(q, "?")
	case 1:
		return strings.ToLower(q[:1]) + q[1:]
	}
	return q
}

// first asks for something new, preferably of recent documents.
func (m *Month) first(at time.Time) bool {
	var late, any []*subject
	for _, s := range m.all {
		if s.paper == nil || s.asked == s.slots() {
			continue
		}
		any = append(any, s)
		if at.Sub(s.came) < 48*time.Hour {
			late = append(late, s)
		}
	}
	if len(late) > 0 && m.rand.Float64() < m.profile.Recent {
		any = late
	}
	if len(any) == 0 {
		return false
	}
	s := pick(m.rand, any)
	for {
		i := m.rand.IntN(len(s.tale.asks))
		if a := s.tale.asks[i]; s.asked&(1<<a.slot) == 0 {
			w := m.rand.IntN(len(a.lines))
			m.addQuestion(at, asked{s.question(a, w), s, i, w}, First, "")
			return true
		}
	}
}

// slots returns everything that can be asked for, as bits.
func (s *subject) slots() uint {
	var out uint
	for _, a := range s.tale.asks {
		out |= 1 << a.slot
	}
	return out
}

func (m *Month) repeat(at time.Time) bool {
	if len(m.asked) == 0 {
		return false
	}
	q := pick(m.rand, m.asked)
	of := q.text
	q.text = capital(q.text)
	m.addQuestion(at, q, Repeat, of)
	return true
}

func (m *Month) paraphrase(at time.Time) bool {
	if len(m.asked) == 0 {
		return false
	}
	q := pick(m.rand, m.asked)
	a, of := q.subject.tale.asks[q.ask], q.text
	q.wording = (q.wording + 1 + m.rand.IntN(len(a.lines)-1)) % len(a.lines)
	q.text = q.subject.question(a, q.wording)
	m.addQuestion(at, q, Paraphrase, of)
	return true
}

// near asks the same of another subject, which may be unknown.
func (m *Month) near(at time.Time) bool {
	if len(m.asked) == 0 {
		return false
	}
	q := pick(m.rand, m.asked)
	t := q.subject.tale
	names := slices.Clone(q.subject.names)
	i := pick(m.rand, t.named)
	for names[i] == q.subject.names[i] {
		names[i] = m.draw(t.slots[i].list, at)
	}
	other := m.subjects[known(t, names)]
	if other == nil {
		other = m.register(t, names)
	}
	of := q.text
	q.subject = other
	q.text = other.question(t.asks[q.ask], q.wording)
	m.addQuestion(at, q, Near, of)
	return true
}

// foreign asks what no document answers: general knowledge, or a subject that a later document
// may mention.
func (m *Month) foreign(at time.Time) bool {
	if m.rand.IntN(2) == 0 {
		m.add(Event{At: at, Kind: Asked, Question: pick(m.rand, m.lex.talk["foreign"]), Expect: Expect{Relation: Foreign}})
		return true
	}
	s := m.newSubject(at)
	i := m.rand.IntN(len(s.tale.asks))
	w := m.rand.IntN(len(s.tale.asks[i].lines))
	m.addQuestion(at, asked{s.question(s.tale.asks[i], w), s, i, w}, Foreign, "")
	if m.rand.IntN(2) == 0 {
		s.came = at.Add(time.Duration(6+m.rand.IntN(40)) * time.Hour)
		m.due = append(m.due, s)
	}
	return true
}

// odd asks about a new pair of words of old letters.
func (m *Month) odd(at time.Time) {
	for {
		words := map[string]string{}
		for _, gap := range []string{"a", "b", "c"} {
			words[gap] = pick(m.rand, m.lex.words["relic"])
		}
		a, b := min(words["a"], words["b"]), max(words["a"], words["b"])
		if a == b || words["c"] == a || words["c"] == b || m.oddities[a+" "+b] || !m.written(a) || !m.written(b) {
			continue
		}
		q := gaps(pick(m.rand, m.lex.letters["odd"]), func(gap string) string { return words[gap] })
		m.oddities[a+" "+b], m.oddities[plain(q)] = true, true
		m.add(Event{At: at, Kind: Asked, Question: q, Expect: Expect{Relation: Odd}})
		return
	}
}

// written says whether a letter has the word.
func (m *Month) written(word string) bool {
	for _, p := range m.papers[:m.profile.Archive] {
		for _, b := range p.source.Blocks {
			if strings.Contains(b.Text, " "+word) {
				return true
			}
		}
	}
	return false
}
