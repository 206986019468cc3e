package persona

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/knowledgebank"
)

// paper is a document, also after its deletion.
type paper struct {
	source *knowledgebank.Source
	facts  []*fact
	came   time.Time
	gone   bool
}

// The forms of a paper.
const (
	mail    = "mail"
	meeting = "meeting"
	note    = "note"
	letter  = "letter"
)

// form draws the kind of the next document.
func (m *Month) form() string {
	switch x := m.rand.Float64(); {
	case x < m.profile.Meetings:
		return meeting
	case x < m.profile.Meetings+m.profile.Notes:
		return note
	}
	return mail
}

// write makes a document with a date, which arrives later.
func (m *Month) write(form string, date, came time.Time) *paper {
	p := &paper{came: came}
	title, filler := pick(m.rand, m.lex.talk["subject"]), m.lex.talk["line"]
	if form == meeting {
		filler = m.lex.talk["said"]
	}
	if form == letter {
		title, filler = "A letter", m.lex.letters["line"]
	} else if m.rand.Float64() < m.profile.Telling {
		for range m.profile.Facts.within(m.rand) {
			s := m.next(came)
			f := m.newFact(s, date)
			s.facts, s.paper, s.came = append(s.facts, f), p, came
			p.facts = append(p.facts, f)
		}
		title = p.facts[0].subject.tale.fill(p.facts[0].subject.tale.title, p.facts[0].values)
	}
	m.papers = append(m.papers, p)
	p.source = &knowledgebank.Source{
		Key: fmt.Sprintf("%s-%d-%d@person.invalid", form, m.seed, len(m.papers)), Title: m.gossip(title), Format: mail, Date: date,
	}
	m.compose(p, form, m.sentences(p.facts, filler))
	return p
}

// next returns the next subject of a document: one that was asked about early, or a new one.
func (m *Month) next(at time.Time) *subject {
	if len(m.due) > 0 && m.due[0].came.Before(at) {
		s := m.due[0]
		m.due = m.due[1:]
		return s
	}
	return m.newSubject(at)
}

// sentences puts facts between enough filler lines.
func (m *Month) sentences(facts []*fact, filler []string) []string {
	const greetings = 6
	longest := 25 // words of a line
	var out []string
	words := 0
	for _, f := range facts {
		out = append(out, f.sentence+".")
		words += len(strings.Fields(f.sentence))
	}
	enough := Span{m.profile.Words.Least, max(m.profile.Words.Least, m.profile.Words.Most-longest-greetings)}.within(m.rand)
	for i := 0; words < enough; i++ {
		if i%len(filler) == 0 {
			filler = slices.Clone(filler)
			m.rand.Shuffle(len(filler), func(i, j int) { filler[i], filler[j] = filler[j], filler[i] })
		}
		l := m.gossip(filler[i%len(filler)])
		words += len(strings.Fields(l))
		out = slices.Insert(out, m.rand.IntN(len(out)+1), l)
	}
	return out
}

// gossip fills the gaps of a filler line.
func (m *Month) gossip(line string) string {
	return capital(gaps(line, func(list string) string { return pick(m.rand, m.lex.words[list]) }))
}

// compose makes a document of sentences in its form.
func (m *Month) compose(p *paper, form string, sentences []string) {
	s, r := p.source, m.rand
	who := m.draw("person", s.Date)
	add := func(speaker, text string) {
		s.Blocks = append(s.Blocks, knowledgebank.Block{Speaker: speaker, Text: text})
	}
	if form == mail {
		add("", pick(r, m.lex.talk["greeting"]))
	}
	for len(sentences) > 0 {
		n := min(1+r.IntN(4), len(sentences))
		speaker := ""
		if form == meeting {
			speaker = []string{who, m.owner, "Minutes"}[r.IntN(3)]
		}
		add(speaker, strings.Join(sentences[:n], " "))
		sentences = sentences[n:]
	}
	switch form {
	case meeting:
		s.Source, s.Format = "meeting", "transcript"
	case note:
		s.Source, s.Format = "note", "text"
	case letter:
		s.Source, s.Format = "letter", "text"
	default:
		s.Source = "mail from " + who
		add("", pick(r, m.lex.talk["closing"])+"\n"+who)
	}
}

// remove deletes a document, preferably one that was asked about.
func (m *Month) remove(at time.Time) {
	p := m.choose(at, func(*paper) bool { return true })
	if p == nil {
		return
	}
	p.gone = true
	for _, f := range p.facts {
		f.subject.paper = nil
	}
	m.add(Event{At: at, Kind: Deleted, Key: p.source.Key})
}

// revise changes one fact in a note.
func (m *Month) revise(at time.Time) {
	p := m.choose(at, func(p *paper) bool { return p.source.Source == note && len(p.facts) > 0 })
	if p == nil {
		return
	}
	i := m.rand.IntN(len(p.facts))
	old := p.facts[i]
	f := m.change(old, at)
	p.facts[i], f.subject.facts, f.subject.came = f, append(f.subject.facts, f), at
	changed := *p.source
	changed.Blocks = slices.Clone(p.source.Blocks)
	for i, b := range changed.Blocks {
		changed.Blocks[i].Text = strings.Replace(b.Text, old.sentence, f.sentence, 1)
	}
	p.source = &changed
	m.add(Event{At: at, Kind: Arrives, Key: changed.Key, Source: &changed})
}

// choose draws a document of at least a day, preferably one that was asked about.
func (m *Month) choose(at time.Time, fits func(*paper) bool) *paper {
	var any, asked []*paper
	for _, p := range m.papers {
		if p.gone || at.Sub(p.came) < 24*time.Hour || p.source.Source == letter || !fits(p) {
			continue
		}
		any = append(any, p)
		if slices.ContainsFunc(p.facts, func(f *fact) bool { return f.subject.asked != 0 }) {
			asked = append(asked, p)
		}
	}
	if len(asked) > 0 && m.rand.Float64() < 0.7 {
		return pick(m.rand, asked)
	}
	if len(any) == 0 {
		return nil
	}
	return pick(m.rand, any)
}

// stream is a separate random source, so that one part of the month does not change another.
func stream(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
