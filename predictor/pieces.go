package predictor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// questionMarks end a question.
const questionMarks = "?？؟﹖"

// endMarks end a sentence or a heading.
const endMarks = questionMarks + ".!:;…。！：；"

// piece is a stretch of what a model printed that may be one question.
type piece struct {
	text   string // without what marks it as a member of a list
	number int
	marked bool // as a member of a list
}

// pieces takes a text apart, into lines and what stands beside each other on one.
func pieces(text string) []piece {
	var out []piece
	for _, l := range lines(tidy(text)) {
		rest := l
		for rest != "" {
			at := cut(rest)
			p := piece{}
			p.text, p.number, p.marked = unmark(strings.TrimSpace(rest[:at]))
			if strings.TrimSpace(rest[:at]) != "" {
				out = append(out, p)
			}
			rest = strings.TrimLeft(rest[at:], " ")
		}
	}
	return out
}

// lines gives the lines of a text that say something. One that goes on in the
// next, or that is a mark alone, is joined with it.
func lines(text string) []string {
	var out []string
	open := false // the last line may go on
	for l := range strings.SplitSeq(text, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l == "" {
			open = open && markAlone(out[len(out)-1])
			continue
		}
		_, _, marked := unmark(l)
		if open && !marked && (markAlone(out[len(out)-1]) || goesOn(l)) {
			out[len(out)-1] += " " + l
		} else {
			out = append(out, l)
		}
		open = !ended(out[len(out)-1]) || markAlone(out[len(out)-1])
	}
	return out
}

func markAlone(l string) bool {
	rest, _, marked := unmark(l)
	return marked && rest == ""
}

func goesOn(l string) bool {
	r, _ := utf8.DecodeRuneInString(l)
	return unicode.IsLower(r) && !questioning(l)
}

// ended says that a text ends as sentences do.
func ended(s string) bool {
	s = strings.TrimRight(s, closers+" ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && strings.ContainsRune(endMarks, r)
}

// cut finds where the first piece of a line ends.
func cut(line string) int {
	body, number, _ := unmark(line)
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

// cutBehind says whether a piece ends with the question mark at this place, and
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
	body, number, marked := unmark(rest)
	marked = marked && (number > 0 || !goesOn(body)) // "? - of flat 3B" goes on
	word := line[strings.LastIndexByte(line[:at], ' ')+1 : at]
	switch {
	case mark != '?' && mark != '؟':
		return apart, true
	case strings.ContainsAny(line[quoted:apart], ";；"):
		return apart, true
	case spaced:
		// Lower case goes on: "$1.50? or 2?"
		return apart, marked || unicode.IsUpper(next) || unicode.Is(unicode.Lo, next) || next == '¿' ||
			strings.ContainsRune(`"“«「『`, next) || questioning(rest)
	case quoted > end: // a quotation within
		return 0, false
	}
	// No space: not in a link.
	return apart, marked || next == '¿' || (unicode.IsUpper(next) || unicode.Is(unicode.Lo, next)) && !strings.ContainsAny(word, "/=&")
}

// cutBefore says whether a numbered piece begins behind a space. Numbers stand
// inside questions, too: so one that does not stand behind the end of a sentence
// must be the next in the list, and a question must follow.
func cutBefore(before, rest string, last int) bool {
	n, at, ok := leadingNumber(rest)
	if !ok || at == 0 {
		return false
	}
	digit := startsDigit(strings.TrimLeft(rest, "([#"))
	follows := rest[at:]
	if _, _, again := unmark(follows); again || follows == "" {
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
	return next && questioning(follows) && last > 0 && questioning(bodyOf(before))
}

func bodyOf(s string) string {
	s, _, _ = unmark(s)
	return s
}

// asks says that a text is one question in one line, as predictions are.
func asks(q string) bool {
	r, _ := utf8.DecodeLastRuneInString(q)
	return len(q) <= maxQuestion && utf8.ValidString(q) && strings.ContainsRune(questionMarks, r) && strings.ContainsFunc(q, isWordRune) &&
		!slices.ContainsFunc([]rune(q), unicode.IsControl)
}
