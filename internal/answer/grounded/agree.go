package grounded

// Agreement returns the F1 of an answer's words against the evidence's. It counts words
// that are not vague and not the question's. It returns false if the evidence has none.
func Agreement(question, answer, evidence string) (float64, bool) {
	asked := ask(question)
	said, there := asked.ownWords(answer), asked.ownWords(evidence)
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

// ownWords returns the words of a text that are not vague and not the question's.
func (a *asked) ownWords(text string) map[string]bool {
	own := map[string]bool{}
	for _, w := range read(text) {
		if !w.vague() && !a.has(w) {
			own[w.keys[0]] = true
		}
	}
	return own
}

const (
	shortGap, longGap = 7, 40 // length of a sentence with a gap, in words
	wideGap           = 4     // maximum length of a gap, in words
)

// Gap makes a question of a passage: one of its sentences with a gap in place of a name, a
// date or a number. The answer is the text of the gap. It returns false if the passage
// has no such sentence.
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

// gap finds the last name, date or number of a sentence that neither stands at its
// beginning nor is repeated in it.
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

// repeats says whether a word of this part also stands elsewhere in the sentence.
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

// Share returns the share of a text's words that another text has.
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
