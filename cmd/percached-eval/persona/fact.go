package persona

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// subject is the subject of facts: the names that its questions use. Its values change with
// the documents.
type subject struct {
	tale  *tale
	names []string // by slot; empty for other slots
	facts []*fact  // oldest first
	paper *paper   // document of the latest fact, or nil
	came  time.Time
	asked uint // slots, as bits
}

// fact is a statement about a subject.
type fact struct {
	subject  *subject
	values   []string // by slot
	sentence string   // the sentence without its period
}

// pick draws an element of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// within draws a number of the span.
func (s Span) within(r *rand.Rand) int { return s.Least + r.IntN(s.Most-s.Least+1) }

// draw draws a value of a slot. Days are near the date.
func (m *Month) draw(list string, date time.Time) string {
	r := m.rand
	switch list {
	case "day":
		return date.AddDate(0, 0, 2+r.IntN(24)).Format("Monday 2 January")
	case "time":
		return fmt.Sprintf("%02d:%02d", 7+r.IntN(14), 5*r.IntN(12))
	case "amount":
		return fmt.Sprintf("%d euros", 110+r.IntN(880))
	case "code":
		return fmt.Sprint(1000 + r.IntN(9000))
	case "parcel":
		return fmt.Sprintf("%c%c-%05d", 'A'+r.IntN(26), 'A'+r.IntN(26), 10000+r.IntN(90000))
	case "platform":
		return fmt.Sprintf("platform %d", 1+r.IntN(19))
	case "person":
		return pick(r, m.lex.words["first"]) + " " + pick(r, m.lex.words["last"])
	}
	return pick(r, m.lex.words[list])
}

// newSubject makes a new subject.
func (m *Month) newSubject(date time.Time) *subject {
	for {
		t := pick(m.rand, m.lex.tales)
		names := make([]string, len(t.slots))
		for _, i := range t.named {
			names[i] = m.draw(t.slots[i].list, date)
		}
		if m.subjects[known(t, names)] == nil {
			return m.register(t, names)
		}
	}
}

// register registers a subject, so that no other has the same names.
func (m *Month) register(t *tale, names []string) *subject {
	s := &subject{tale: t, names: names}
	m.subjects[known(t, names)] = s
	m.all = append(m.all, s)
	return s
}

func known(t *tale, names []string) string { return t.name + "\x00" + strings.Join(names, "\x00") }

// newFact invents a fact about a subject. The new sentence contains none of the old values.
func (m *Month) newFact(s *subject, date time.Time) *fact {
	f := &fact{subject: s, values: slices.Clone(s.names)}
	for i, sl := range s.tale.slots {
		if f.values[i] == "" {
			f.values[i] = m.draw(sl.list, date)
		}
	}
	f.sentence = s.tale.fill(s.tale.says, f.values)
	return f
}

// change makes a fact that differs in one slot with questions.
func (m *Month) change(old *fact, date time.Time) *fact {
	t := old.subject.tale
	for {
		f := &fact{subject: old.subject, values: slices.Clone(old.values)}
		i := pick(m.rand, t.asks).slot
		f.values[i] = m.draw(t.slots[i].list, date)
		f.sentence = t.fill(t.says, f.values)
		if !slices.ContainsFunc(old.subject.facts, f.repeats) {
			return f
		}
	}
}

// repeats says whether the sentence contains an old value, or equals the old fact.
func (f *fact) repeats(old *fact) bool {
	for i, v := range old.values {
		if v != f.values[i] && strings.Contains(f.sentence, v) {
			return true
		}
	}
	return slices.Equal(old.values, f.values)
}

// question returns a question about a subject, in one of its wordings.
func (s *subject) question(a ask, wording int) string {
	return s.tale.fill(a.lines[wording], s.names)
}

// expect returns the expected answer at this moment.
func (s *subject) expect(r Relation, of string, slot int) Expect {
	e := Expect{Relation: r, Of: of}
	if s.paper != nil {
		e.Document, e.Answer = s.paper.source.Key, s.facts[len(s.facts)-1].values[slot]
	}
	for _, f := range s.facts {
		if v := f.values[slot]; v != e.Answer && !slices.Contains(e.Never, v) {
			e.Never = append(e.Never, v)
		}
	}
	return e
}
