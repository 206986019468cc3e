package predictor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Drop is why some output of the model is not a prediction.
type Drop string

// The reasons.
const (
	NotAQuestion Drop = "not_a_question" // chatter, statements, requests
	Repeated     Drop = "repeated"       // it repeats an earlier one of the list
	Known        Drop = "known"          // in the bank, predicted, or just asked
	Unsupported  Drop = "unsupported"    // the documents say nothing about it
	TooLong      Drop = "too_long"
	Cut          Drop = "cut"     // the list ended within it
	Surplus      Drop = "surplus" // beyond the number asked for
	Example      Drop = "example" // copied from the prompt
	Empty        Drop = "empty"   // no output, or nothing after a number
	Stutter      Drop = "stutter" // it repeats itself, as small models do
)

// Drops lists the reasons.
func Drops() []Drop {
	return []Drop{NotAQuestion, Repeated, Known, Unsupported, TooLong, Cut, Surplus, Example, Empty, Stutter}
}

// maxPrinted is how much of an output is parsed: far more than any list needs.
const maxPrinted = 16 << 10

// parse finds the questions in the model's output, at most want, and counts what it
// dropped. whole is false if the model was stopped before it ended.
//
// A piece without a question mark gets one if it is marked as a list member and begins
// like a question ("2. Who wrote the mail"), because small models forget the mark. Other
// pieces without a mark are dropped.
func parse(text string, want int, whole bool) (questions []string, dropped map[Drop]int) {
	dropped = map[Drop]int{}
	if len(text) > maxPrinted {
		text, whole = text[:maxPrinted], false
	}
	all := pieces(text)
	seen := map[string]bool{}
	// The last piece was cut off if it is the only one without a mark.
	marks := slices.ContainsFunc(all, func(p piece) bool { return strings.ContainsAny(p.text, questionMarks) })
	for i, p := range all {
		last := i == len(all)-1 && !ended(p.text)
		q, why := p.extractQuestion(last && !whole, last && marks)
		switch {
		case why != "", q == "":
		case len(q) > maxQuestion:
			why = TooLong
		case repeatsWords(q):
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

// repeatsWords reports whether three words in a row repeat, or two of them with at most
// one word between.
func repeatsWords(question string) bool {
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

// extractQuestion turns a piece into a question, or returns why it is not one; both are
// empty for an empty piece. stopped: the text was cut within it; odd: the pieces before
// have question marks.
func (p piece) extractQuestion(stopped, odd bool) (string, Drop) {
	if !strings.ContainsFunc(p.text, isWordRune) {
		switch {
		case strings.Contains(p.text, "...") || strings.Contains(p.text, "…"):
			return "", Example // "...?"
		case p.number > 0:
			return "", Empty
		}
		return "", "" // brackets and lines
	}
	text, _, _ := stripMarker(unquote(stripIntroduction(p.text)))
	text = unquote(text)
	at := strings.LastIndexAny(text, questionMarks)
	switch {
	case at >= 0:
		text = trimClosing(text, at)
	case stopped, odd && (p.marked || isInterrogative(text)):
		return "", Cut
	case !p.marked || !isInterrogative(text) || strings.HasSuffix(text, ":"):
		return "", NotAQuestion
	default:
		text = strings.TrimRight(text, endMarks+closers+" ,") + "?"
	}
	text = strings.TrimSpace(unquote(text))
	switch {
	case hasPlaceholder(text):
		return "", Example
	case !isQuestion(text) && len(text) <= maxQuestion, isSmallTalk(text), !hasContent(text):
		return "", NotAQuestion
	}
	return text, ""
}

// trimClosing ends a question at its last mark. It keeps one of several marks, and closes
// a quotation before it.
func trimClosing(text string, at int) string {
	mark, size := utf8.DecodeRuneInString(text[at:])
	body, behind := strings.TrimRight(text[:at], questionMarks+"!！ "), text[at+size:]
	if next, n := utf8.DecodeRuneInString(behind); n > 0 && strings.ContainsRune(closers, next) {
		if inner := strings.LastIndexFunc(body, func(r rune) bool { return strings.ContainsRune(openers, r) && isPair(r, next) }); inner > 0 && body[inner-1] == ' ' {
			body += string(next)
		}
	}
	return body + string(mark)
}

// isPair reports whether one mark closes another.
func isPair(open, close rune) bool {
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

// hasContent reports whether a question is more than a word: "Why?" alone asks nothing.
func hasContent(q string) bool {
	words := strings.FieldsFunc(q, func(r rune) bool { return !isWordRune(r) })
	if len(words) > 1 {
		return true
	}
	wide := 0 // in scripts without spaces
	for _, r := range q {
		if unicode.Is(unicode.Lo, r) {
			wide++
		}
	}
	return wide >= 4
}

// questionMarks end a question.
const questionMarks = "?？؟﹖"

// endMarks end a sentence or a heading.
const endMarks = questionMarks + ".!:;…。！：；"

// piece is a part of the output that may be one question.
type piece struct {
	text   string // without list markers
	number int
	marked bool // as a list member
}

// pieces splits a text into lines and the pieces of a line.
func pieces(text string) []piece {
	var out []piece
	for _, l := range lines(cleanText(text)) {
		rest := l
		for rest != "" {
			at := cut(rest)
			p := piece{}
			p.text, p.number, p.marked = stripMarker(strings.TrimSpace(rest[:at]))
			if strings.TrimSpace(rest[:at]) != "" {
				out = append(out, p)
			}
			rest = strings.TrimLeft(rest[at:], " ")
		}
	}
	return out
}

// lines returns the non-empty lines of a text. It joins a line with the next if it
// continues there or is only a marker.
func lines(text string) []string {
	var out []string
	open := false // the last line may continue
	for l := range strings.SplitSeq(text, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l == "" {
			open = open && isMarkerOnly(out[len(out)-1])
			continue
		}
		_, _, marked := stripMarker(l)
		if open && !marked && (isMarkerOnly(out[len(out)-1]) || continuesNext(l)) {
			out[len(out)-1] += " " + l
		} else {
			out = append(out, l)
		}
		open = !ended(out[len(out)-1]) || isMarkerOnly(out[len(out)-1])
	}
	return out
}

func isMarkerOnly(l string) bool {
	rest, _, marked := stripMarker(l)
	return marked && rest == ""
}

func continuesNext(l string) bool {
	r, _ := utf8.DecodeRuneInString(l)
	return unicode.IsLower(r) && !isInterrogative(l)
}

// ended reports whether a text ends like a sentence.
func ended(s string) bool {
	s = strings.TrimRight(s, closers+" ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && strings.ContainsRune(endMarks, r)
}

// cut finds the end of a line's first piece.
func cut(line string) int {
	body, number, _ := stripMarker(line)
	start := len(line) - len(body)
	for i, r := range body {
		at := start + i
		switch {
		case strings.ContainsRune(questionMarks, r):
			if end, ok := cutBehind(line, at); ok {
				return end
			}
		case r == ' ' && i > 0:
			if cutBefore(line[:at], line[at+1:], number) {
				return at
			}
		}
	}
	return len(line)
}

// cutBehind reports whether a piece ends with the question mark at this position, and
// where.
func cutBehind(line string, at int) (end int, ok bool) {
	mark, _ := utf8.DecodeRuneInString(line[at:])
	end = len(line) - len(strings.TrimLeft(line[at:], questionMarks+"!！"))
	quoted := len(line) - len(strings.TrimLeft(line[end:], closers))
	apart := len(line) - len(strings.TrimLeft(line[quoted:], ";,.；，。"))
	rest := strings.TrimLeft(line[apart:], " ")
	if rest == "" {
		return len(line), true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	spaced := len(rest) < len(line)-apart
	body, number, marked := stripMarker(rest)
	marked = marked && (number > 0 || !continuesNext(body)) // "? - of flat 3B" continues
	word := line[strings.LastIndexByte(line[:at], ' ')+1 : at]
	switch {
	case mark != '?' && mark != '؟':
		return apart, true
	case strings.ContainsAny(line[quoted:apart], ";；"):
		return apart, true
	case spaced:
		// Lower case continues: "$1.50? or 2?"
		return apart, marked || unicode.IsUpper(next) || unicode.Is(unicode.Lo, next) || next == '¿' ||
			strings.ContainsRune(`"“«「『`, next) || isInterrogative(rest)
	case quoted > end: // a quotation inside
		return 0, false
	}
	// No space: not inside a link.
	return apart, marked || next == '¿' || (unicode.IsUpper(next) || unicode.Is(unicode.Lo, next)) && !strings.ContainsAny(word, "/=&")
}

// cutBefore reports whether a numbered piece begins after a space. Questions also contain
// numbers, so a number that does not follow the end of a sentence must be the next in the
// list and precede a question.
func cutBefore(before, rest string, last int) bool {
	n, at, ok := leadingNumber(rest)
	if !ok || at == 0 {
		return false
	}
	digit := startsDigit(strings.TrimLeft(rest, "([#"))
	follows := rest[at:]
	if _, _, again := stripMarker(follows); again || follows == "" {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, closers+" "))
	next := n == last+1
	switch {
	case !digit: // "Question 2:"
		return n > 0 && (next || strings.ContainsRune(endMarks, end))
	case strings.ContainsRune(";；", end):
		return true
	case strings.ContainsRune(":：", end):
		return n == 1
	case strings.ContainsRune("!！.。…", end):
		return next
	}
	return next && isInterrogative(follows) && last > 0 && isInterrogative(bodyOf(before))
}

func bodyOf(s string) string {
	s, _, _ = stripMarker(s)
	return s
}

// isQuestion reports whether a text is a single question in one line.
func isQuestion(q string) bool {
	r, _ := utf8.DecodeLastRuneInString(q)
	return len(q) <= maxQuestion && utf8.ValidString(q) && strings.ContainsRune(questionMarks, r) && strings.ContainsFunc(q, isWordRune) &&
		!slices.ContainsFunc([]rune(q), unicode.IsControl)
}
