package predictor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Drop says why something that the model printed is no prediction.
type Drop string

// The reasons.
const (
	NotAQuestion Drop = "not_a_question" // chatter, statements, requests
	Repeated     Drop = "repeated"       // it stands in the list before
	Known        Drop = "known"          // in the bank, predicted, or just asked
	Unsupported  Drop = "unsupported"    // the documents have nothing to say to it
	TooLong      Drop = "too_long"
	Cut          Drop = "cut"     // the list ended within it
	Surplus      Drop = "surplus" // more than was asked for
	Example      Drop = "example" // copied from the prompt
	Empty        Drop = "empty"   // nothing was printed, or nothing behind a number
	Stutter      Drop = "stutter" // it says the same over and over, as small models do
)

// Drops lists the reasons.
func Drops() []Drop {
	return []Drop{NotAQuestion, Repeated, Known, Unsupported, TooLong, Cut, Surplus, Example, Empty, Stutter}
}

// maxPrinted is how much of an output is looked at: far more than any list that
// is asked for.
const maxPrinted = 16 << 10

// parse finds the questions in what a model printed when it was asked for want
// of them, and counts what it left out. Whole is false if the model was stopped
// before it ended.
//
// A piece without a question mark gets one if it is marked as a member of a list
// and begins as questions do ("2. Who wrote the mail"): small models forget the
// mark. Other pieces without one are no questions.
func parse(text string, want int, whole bool) (questions []string, dropped map[Drop]int) {
	dropped = map[Drop]int{}
	if len(text) > maxPrinted {
		text, whole = text[:maxPrinted], false
	}
	all := pieces(text)
	seen := map[string]bool{}
	// The last piece was cut off if it alone has no mark.
	marks := slices.ContainsFunc(all, func(p piece) bool { return strings.ContainsAny(p.text, questionMarks) })
	for i, p := range all {
		last := i == len(all)-1 && !ended(p.text)
		q, why := p.question(last && !whole, last && marks)
		switch {
		case why != "", q == "":
		case len(q) > maxQuestion:
			why = TooLong
		case stutters(q):
			why = Stutter
		case seen[normalise(q)]:
			why = Repeated
		case len(questions) >= want:
			why = Surplus
		}
		if why != "" {
			dropped[why]++
		}
		if why != "" || q == "" {
			continue
		}
		seen[normalise(q)] = true
		questions = append(questions, q)
	}
	if len(questions)+len(dropped) == 0 {
		dropped[Empty]++
	}
	return questions, dropped
}

// stutters says whether three words that follow each other do so again, or two of
// them again with one word between at most.
func stutters(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
	seen := map[[3]string]bool{}
	for i := 0; i+2 < len(words); i++ {
		three := [3]string(words[i : i+3])
		if seen[three] {
			return true
		}
		seen[three] = true
		for _, j := range []int{i + 2, i + 3} {
			if j+1 < len(words) && words[i] == words[j] && words[i+1] == words[j+1] {
				return true
			}
		}
	}
	return false
}

// question makes a question of a piece, or says why it is none; it is neither if
// there is nothing in it. Stopped: the
// text ended with it, and not by itself; odd: the pieces before have question
// marks.
func (p piece) question(stopped, odd bool) (string, Drop) {
	if !strings.ContainsFunc(p.text, isWordRune) {
		switch {
		case strings.Contains(p.text, "...") || strings.Contains(p.text, "…"):
			return "", Example // "...?"
		case p.number > 0:
			return "", Empty
		}
		return "", "" // brackets and lines
	}
	text, _, _ := unmark(unquote(unintroduced(p.text)))
	text = unquote(text)
	at := strings.LastIndexAny(text, questionMarks)
	switch {
	case at >= 0:
		text = closeAt(text, at)
	case stopped, odd && (p.marked || questioning(text)):
		return "", Cut
	case !p.marked || !questioning(text) || strings.HasSuffix(text, ":"):
		return "", NotAQuestion
	default:
		text = strings.TrimRight(text, endMarks+closers+" ,") + "?"
	}
	text = strings.TrimSpace(unquote(text))
	switch {
	case placeholding(text):
		return "", Example
	case !asks(text) && len(text) <= maxQuestion, chats(text), !says(text):
		return "", NotAQuestion
	}
	return text, ""
}

// closeAt ends a question at its last mark. Of several one stays; a quotation
// that it ends with is closed before it.
func closeAt(text string, at int) string {
	mark, size := utf8.DecodeRuneInString(text[at:])
	body, behind := strings.TrimRight(text[:at], questionMarks+"!！ "), text[at+size:]
	if next, n := utf8.DecodeRuneInString(behind); n > 0 && strings.ContainsRune(closers, next) {
		if inner := strings.LastIndexFunc(body, func(r rune) bool { return strings.ContainsRune(openers, r) && twins(r, next) }); inner > 0 && body[inner-1] == ' ' {
			body += string(next)
		}
	}
	return body + string(mark)
}

// twins says that one mark closes what another opened.
func twins(open, close rune) bool {
	switch open {
	case '"', '\'':
		return open == close
	case '“', '„':
		return close == '”' || close == '“'
	case '«':
		return close == '»'
	case '‘', '‚':
		return close == '’' || close == '‘'
	case '(':
		return close == ')'
	}
	return false
}

// says is for questions that are more than a word: "Why?" alone asks for
// nothing.
func says(q string) bool {
	words := strings.FieldsFunc(q, func(r rune) bool { return !isWordRune(r) })
	if len(words) > 1 {
		return true
	}
	wide := 0 // where words stand without spaces
	for _, r := range q {
		if unicode.Is(unicode.Lo, r) {
			wide++
		}
	}
	return wide >= 4
}
