package grounded

import "strings"

// Passage is a cited text that an answer rests on.
type Passage struct {
	About string // title, source, date
	Quote string
}

// Span is where a word of an answer stands.
type Span struct {
	Word    string // as the answer has it
	Passage int
	About   bool // it stands in the passage's About, otherwise in its Quote
	Start   int  // first character
	End     int  // character after the last
}

// Verdict says whether an answer is grounded.
type Verdict struct {
	Grounded bool
	Spans    []Span   // of the words that were looked for, each once, in the answer's order
	Missing  []string // those of them that were not found
}

const (
	dated = 2  // maximum distance of a day and its month, in words
	reach = 12 // maximum distance of an answer's word and a question's, in words
)

// Check looks for an answer's words in passages, best first.
func Check(question, answer string, passages []Passage) Verdict {
	asked, words := ask(question), read(answer)
	in := index(passages)
	topic := in.of(asked.words)
	var v Verdict
	sure, near, found, lost := true, len(topic) == 0, 0, 0
	seen := map[string]bool{}
	for i, w := range words {
		must := w.month || w.number || asked.counts && w.low == "one" || name(words, i)
		if asked.gives(w) || seen[w.keys[0]] || !must && w.vague() {
			continue
		}
		seen[w.keys[0]] = true
		places := in.all(w)
		if len(places) == 0 {
			v.Missing = append(v.Missing, w.raw)
			sure = sure && !must
			lost++
			continue
		}
		found++
		near = near || beside(places, topic)
		p := places[0]
		v.Spans = append(v.Spans, Span{Word: w.raw, Passage: p.passage, About: p.about, Start: p.start, End: p.end})
	}
	v.Grounded = sure && near && found > 0 && found >= lost && in.dates(words) && asked.fits(words)
	return v
}

// name says whether a word is a name. The first word of a sentence is one only if another
// name follows.
func name(words []word, i int) bool {
	w := words[i]
	switch {
	case !w.capital || w.vague():
		return false
	case !w.starts:
		return true
	}
	return i+1 < len(words) && words[i+1].joined && words[i+1].capital && !words[i+1].starts
}

// place is where a word stands in the passages.
type place struct {
	passage    int
	about      bool
	start, end int
	nth        int // its number among all words
}

// places lists where each key stands: the best passage first, its text before its title.
type places map[string][]place

func index(passages []Passage) places {
	in, nth := places{}, 0
	add := func(text string, passage int, about bool) {
		for _, w := range read(text) {
			for _, k := range w.keys {
				in[k] = append(in[k], place{passage, about, w.start, w.end, nth})
			}
			nth++
		}
		nth += reach // words of different texts are never near
	}
	for i, p := range passages {
		add(p.Quote, i, false)
		add(p.About, i, true)
	}
	return in
}

// all returns the places of a word, those of its own form first.
func (in places) all(w word) (all []place) {
	for _, k := range w.keys {
		all = append(all, in[k]...)
	}
	return all
}

// of returns the places of all words that are not vague.
func (in places) of(words []word) (all []place) {
	for _, w := range words {
		if !w.vague() {
			all = append(all, in.all(w)...)
		}
	}
	return all
}

// beside says whether one of the places is near the topic. A title is near all of its
// text.
func beside(places, topic []place) bool {
	for _, p := range places {
		for _, t := range topic {
			if d := p.nth - t.nth; d >= -reach && d <= reach || p.about && !t.about && p.passage == t.passage {
				return true
			}
		}
	}
	return false
}

// dates says whether day and month of each date in an answer stand together somewhere.
func (in places) dates(words []word) bool {
	for i, m := range words {
		for j := max(0, i-dated); m.month && j < len(words) && j <= i+dated; j++ {
			if j != i && day(words[j]) && !in.together(m.keys[1:], words[j].keys[:1]) {
				return false
			}
		}
	}
	return true
}

// day says whether a number may be a day of a month.
func day(w word) bool {
	n, ok := strings.CutPrefix(w.keys[0], numberKey)
	return ok && (len(n) == 1 && n != "0" || len(n) == 2 && n <= "31")
}

// together says whether two words stand together somewhere. A word that stands nowhere is
// the question's, and counts as together.
func (in places) together(a, b []string) bool {
	as, bs := in.all(word{keys: a}), in.all(word{keys: b})
	for _, x := range as {
		for _, y := range bs {
			if d := x.nth - y.nth; d >= -dated && d <= dated {
				return true
			}
		}
	}
	return len(as) == 0 || len(bs) == 0
}
