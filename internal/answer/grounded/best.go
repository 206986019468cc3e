package grounded

import "strings"

// longest is the maximum length of an excerpt, in characters.
const longest = 400

// Excerpt is a part of a passage's Quote.
type Excerpt struct {
	Passage int
	Text    string
	Marks   []Mark // the words in it that may answer the question, in order
}

// Mark is a part of an excerpt.
type Mark struct {
	Start int // first character, in the excerpt
	End   int // character after the last
}

// sentence is a part of a passage.
type sentence struct {
	passage, start, end int // characters of the quote
	words               []word
}

// Best returns the part of the passages that fits a question best: the sentence with the
// most of its words, and the next sentence if there is room. It returns false if there
// are no passages.
func Best(question string, passages []Passage) (Excerpt, bool) {
	asked := ask(question)
	var best sentence
	most := -1
	for i, p := range passages {
		sentences := cut(i, p.Quote)
		for n, s := range sentences {
			score := 2 * asked.shares(s.words)
			if n > 0 { // the answer often stands in the next sentence
				score += min(1, asked.shares(sentences[n-1].words))
			}
			if asked.likely(s.words) != nil {
				score++
			}
			if score > most {
				most, best = score, s
				if n+1 < len(sentences) && sentences[n+1].end-s.start <= longest {
					best.end, best.words = sentences[n+1].end, append(s.words, sentences[n+1].words...)
				}
			}
		}
	}
	if most < 0 {
		return Excerpt{}, false
	}
	return asked.excerpt(best, []rune(passages[best.passage].Quote)), true
}

// cut splits a quote into sentences with words.
func cut(passage int, quote string) (sentences []sentence) {
	for _, w := range read(quote) {
		if n := len(sentences); n == 0 || w.starts {
			sentences = append(sentences, sentence{passage: passage, start: w.start})
		}
		s := &sentences[len(sentences)-1]
		s.words, s.end = append(s.words, w), w.end
	}
	return sentences
}

// shares counts the question's words in a sentence, each once.
func (a *asked) shares(words []word) (n int) {
	seen := map[string]bool{}
	for _, w := range words {
		if !w.vague() && a.has(w) && !seen[w.keys[0]] {
			seen[w.keys[0]] = true
			n++
		}
	}
	return n
}

// likely returns the words that may answer the question: times or numbers if it asks for
// them, otherwise names and numbers that the question does not have.
func (a *asked) likely(words []word) (likely []word) {
	for i, w := range words {
		switch {
		case a.times || a.counts:
			if w.number || w.month || w.weekday {
				likely = append(likely, w)
			}
		case a.has(w):
		case name(words, i), w.number && !a.who:
			likely = append(likely, w)
		}
	}
	return likely
}

// excerpt cuts a sentence out of its quote. If no word of it seems to be the answer, the
// question's words are marked.
func (a *asked) excerpt(s sentence, quote []rune) Excerpt {
	end := min(s.end, s.start+longest)
	marked := a.likely(s.words)
	if marked == nil {
		for _, w := range s.words {
			if a.has(w) && !w.vague() {
				marked = append(marked, w)
			}
		}
	}
	e := Excerpt{Passage: s.passage}
	for _, w := range s.words {
		if w.end > end { // do not cut a word in half
			end = w.start
			break
		}
	}
	if end == s.end && end < len(quote) && strings.ContainsRune(".!?", quote[end]) {
		end++
	}
	for _, w := range marked {
		m := Mark{w.start - s.start, w.end - s.start}
		switch n := len(e.Marks); {
		case w.end > end:
		case n > 0 && m.Start-e.Marks[n-1].End <= 1: // one name, or one date
			e.Marks[n-1].End = m.End
		default:
			e.Marks = append(e.Marks, m)
		}
	}
	e.Text = strings.TrimRight(string(quote[s.start:end]), " \n\t")
	return e
}
