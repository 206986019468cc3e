package grounded

import "strings"

// asked is what matters of a question for its answers.
type asked struct {
	words  []word
	keys   map[string]bool
	offers bool // "this or that": its own words may be the answer
	times  bool // when
	counts bool // how many
	who    bool
}

func ask(question string) asked {
	a := asked{words: read(question), keys: map[string]bool{}}
	text := " "
	for _, w := range a.words {
		text += w.low + " "
		a.offers = a.offers || w.low == "or"
		for _, k := range w.keys {
			a.keys[k] = true
		}
	}
	begins := func(some ...string) bool {
		for _, s := range some {
			if strings.HasPrefix(text, " "+s+" ") {
				return true
			}
		}
		return false
	}
	a.times = begins("when", "since when", "until when", "what day", "on what day", "which day", "on which day", "what date", "on what date",
		"what time", "at what time", "what year", "in what year", "which year", "in which year")
	a.counts = begins("how many", "how much")
	a.who = begins("who", "whom", "whose")
	return a
}

// has says whether the question has the word.
func (a *asked) has(w word) bool {
	for _, k := range w.keys {
		if a.keys[k] {
			return true
		}
	}
	return false
}

// gives says whether the question gives the word away, so that it proves nothing in an
// answer.
func (a *asked) gives(w word) bool { return !a.offers && a.has(w) }

// fits says whether the answer has a time or a number if the question asks for one.
func (a *asked) fits(words []word) bool {
	if !a.times && !a.counts {
		return true
	}
	for _, w := range words {
		if a.timely(w) && (w.number || !a.gives(w)) {
			return true
		}
	}
	return false
}

// timely says whether the word is of the kind that the question asks for.
func (a *asked) timely(w word) bool {
	if w.number || w.low == "one" || a.counts && at(amounts, w.low) > 0 && w.low != "" {
		return true
	}
	return a.times && w.low != "" && (w.month || w.weekday || at(times, w.low) > 0)
}
