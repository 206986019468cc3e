package grounded

// Agreement is how much of what an answer says stands in the evidence and the other way
// round (F1), counting only words that say something and that the question does not
// give. Without such words in the evidence there is none.
func Agreement(question, answer, evidence string) (float64, bool) {
	asked := ask(question)
	said, there := asked.news(answer), asked.news(evidence)
	if len(there) == 0 {
		return 0, false
	}
	same := 0
	for k := range said {
		if there[k] {
			same++
		}
	}
	return 2 * float64(same) / float64(len(said)+len(there)), true
}

// news are the words of a text that say something the question does not.
func (a *asked) news(text string) map[string]bool {
	news := map[string]bool{}
	for _, w := range read(text) {
		if !w.vague() && !a.has(w) {
			news[w.keys[0]] = true
		}
	}
	return news
}

const (
	shortGap, longGap = 7, 40 // words of a sentence with a gap
	wideGap           = 4     // words that a gap may take
)

// Gap makes a question of a passage: a sentence of it with a gap in the place of a name,
// a date or a number, and what stands there. Not every passage has such a sentence.
func Gap(quote string) (question, answer string, ok bool) {
	text := []rune(quote)
	none := asked{}
	most := 0
	for _, s := range cut(0, quote) {
		if len(s.words) < shortGap || len(s.words) > longGap || len(s.words) <= most {
			continue
		}
		from, to, found := none.gap(s.words)
		if !found {
			continue
		}
		start, end := s.words[from].start, s.words[to-1].end
		question = "What stands in place of the gap: " + string(text[s.start:start]) + "____" + string(text[end:s.end]) + "?"
		answer, ok, most = string(text[start:end]), true, len(s.words)
	}
	return question, answer, ok
}

// gap finds the last name, date or number of a sentence that its beginning and the rest
// do not give away.
func (a *asked) gap(words []word) (from, to int, ok bool) {
	hit := map[int]bool{}
	for _, w := range a.likely(words) {
		hit[w.start] = true
	}
	for to = len(words); to > 3; to-- {
		if !hit[words[to-1].start] {
			continue
		}
		for from = to - 1; from > 3 && to-from < wideGap && words[from].joined && hit[words[from-1].start]; from-- {
		}
		if !repeats(words, from, to) {
			return from, to, true
		}
	}
	return 0, 0, false
}

// repeats: a word of this part stands elsewhere in the sentence, too.
func repeats(words []word, from, to int) bool {
	for i, w := range words {
		if i >= from && i < to {
			continue
		}
		for _, g := range words[from:to] {
			if g.keys[0] == w.keys[0] {
				return true
			}
		}
	}
	return false
}

// Share is how much of what a text says stands in another one.
func Share(text, within string) float64 {
	there := map[string]bool{}
	for _, w := range read(within) {
		for _, k := range w.keys {
			there[k] = true
		}
	}
	all, found := 0, 0
	for _, w := range read(text) {
		if w.vague() {
			continue
		}
		all++
		for _, k := range w.keys {
			if there[k] {
				found++
				break
			}
		}
	}
	return float64(found) / float64(max(1, all))
}
