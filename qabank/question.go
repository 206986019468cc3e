package qabank

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// marks without meaning before and after a word
	opening = "\"'([{«‹¿¡"
	closing = "\"'.,;:!?)]}»›…。、，；：！？"
	// Small words that are names in capitals: IT is not it.
	small = " am an as at do in is it me no or so to up us who "
	// Units in which the case of a letter is a factor, or bits or bytes.
	units = " gb gbps kb ma mb mbps mg mhz mpa mv mw tb "
)

// Normalise makes repeats of a question equal: lower case, single spaces, no marks around
// words. It keeps what may distinguish two questions: signs, currencies, marks within
// words and numbers, marks after a number that may belong to it, accents, and capitals
// that make another word.
//
// IDs and vetoes depend on it: changing it needs a new format version.
func Normalise(question string) string {
	words := strings.FieldsFunc(norm.NFC.String(strings.Map(plainRune, strings.ToValidUTF8(question, ""))), unicode.IsSpace)
	shouted := !strings.ContainsFunc(question, unicode.IsLower)
	out := words[:0]
	for _, w := range words {
		if w = trimWord(w); w == "" {
			continue
		}
		low := strings.ToLower(w)
		letters := " " + strings.TrimLeft(low, "0123456789.,-+") + " "
		if shouted || !strings.Contains(units, letters) && (w != strings.ToUpper(w) || !strings.Contains(small, letters)) {
			w = low
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// plainRune unifies marks with several forms and drops invisible ones.
func plainRune(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', '`', '´', 'ʼ':
		return '\''
	case '“', '”', '„', '‟', '″':
		return '"'
	}
	switch {
	case r == '−' || unicode.Is(unicode.Pd, r):
		return '-'
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(unicode.Cf, r) || unicode.IsControl(r):
		return -1
	}
	return r
}

// trimWord removes the marks at both ends of a word.
func trimWord(w string) string {
	r := []rune(w)
	for len(r) > 0 && strings.ContainsRune(opening, r[0]) && !(len(r) > 1 && unicode.IsNumber(r[1])) {
		r = r[1:]
	}
	for len(r) > 0 && strings.ContainsRune(closing, r[len(r)-1]) && !isWordPart(r) {
		r = r[:len(r)-1]
	}
	return string(r)
}

// isWordPart reports whether the last mark may belong to the word: feet and inches,
// factorials, a negative number in brackets, a derivative.
func isWordPart(r []rune) bool {
	last := r[len(r)-1]
	if len(r) < 2 || !strings.ContainsRune("\"'!)", last) {
		return false
	}
	return unicode.IsNumber(r[len(r)-2]) || last == '\'' && len(r) == 2
}

const (
	// Beginnings of a question that continues another.
	leaning = " and but or so also then what-about how-about and-what anything-else same why-not are-you-sure really "
	asking  = " who whom whose what which when where why how "
	helping = " is are was were am be been do does did have has had will would shall should can could may might must "
	empty   = " a an the of in at on for about from to by with much many long often far old exactly then else not now again please me i my we us our you your tell know there "
	subject = " he she they it "
	object  = " him them "
	owned   = " his her hers their theirs its "
	picked  = " the this that which another other first second third last next new old same other previous only right "
)

// FollowUp reports whether a question depends on what was said before it and means
// nothing alone. In doubt it returns true.
func FollowUp(question string) bool {
	w := plainWords(question)
	if len(w) == 0 {
		return true
	}
	if inList(leaning, w[0]) || inList(leaning, w[0]+"-"+wordAt(w, 1)) || inList(leaning, strings.Join(w[:min(3, len(w))], "-")) {
		return true
	}
	things := 0 // words so far that a pronoun could refer to
	content := false
	for i, x := range w {
		switch {
		case inList(subject, x):
			if things == 0 && !isFiller(w, i) {
				return true
			}
		case inList(object, x):
			if things < 3 { // one of them is the verb
				return true
			}
		case inList(owned, x):
			if things == 0 {
				return true
			}
		case x == "one" || x == "ones":
			if choosesWithin(w, i) {
				things++
				continue
			}
			if inList(picked, wordAt(w, i-1)) && things == 0 || wordAt(w, i-1) == "which" {
				return true
			}
		case (x == "these" || x == "those") && isNamedWithin(w, i, things):
			things++
			content = true
		case x == "this" || x == "these" || x == "those":
			if !inList(spans, strings.TrimSuffix(wordAt(w, i+1), "s")) && !inList(week, wordAt(w, i+1)) {
				return true
			}
		case x == "that":
			if isReference(w, i) {
				return true
			}
		case x == "there":
			if i == len(w)-1 && things == 0 {
				return true
			}
		case x == "former" || x == "latter", x == "then" && i == len(w)-1:
			return true
		case inList(asking, x), inList(helping, x), inList(empty, x):
		case inList(picked, x) && (wordAt(w, i+1) == "one" || wordAt(w, i+1) == "ones"):
		default:
			content = true
			things++
		}
	}
	return !content
}

// isFiller reports whether the "it" at i refers to nothing: is it possible, how far is it
// from here, does it rain.
func isFiller(w []string, i int) bool {
	if w[i] != "it" {
		return false
	}
	rest := w[i+1:]
	switch wordAt(rest, 0) {
	case "possible", "true", "necessary", "allowed", "okay", "ok", "rain", "rains", "raining", "snow", "snowing", "from", "take", "takes":
		return true
	}
	return slices.Contains(rest, "that") || slices.Contains(rest, "to") && len(rest) > 2
}

// isNamedWithin reports whether the question itself says what the "those" at i are: those who
// pay, those of Heron, which of those, the rent or the tax; or names them before it: does the
// lease name tenants, and do those tenants pay.
func isNamedWithin(w []string, i, things int) bool {
	next, after := wordAt(w, i+1), wordAt(w, i+2)
	switch {
	case w[i] == "those" && (next == "who" || next == "whose"):
		return true
	case w[i] == "those" && inList(" of in at from for with ", next) && isContent(after, wordAt(w, i+3)):
		return things > 1 // a thing that those are like, and what is asked of it
	case isContent(next, "") && slices.ContainsFunc(w[:i], func(x string) bool { return strings.TrimSuffix(x, "s") == strings.TrimSuffix(next, "s") }):
		return true
	}
	return choosesWithin(w, i)
}

// choosesWithin reports whether the words behind "which of those" or "which one" name what to
// choose from: which one is better, Heron or Kite.
func choosesWithin(w []string, i int) bool {
	before := wordAt(w, i-1)
	if before != "which" && !(before == "of" && wordAt(w, i-2) == "which") {
		return false
	}
	or := slices.Index(w[i:], "or")
	if or < 0 {
		return false
	}
	or += i
	return isContent(wordAt(w, or-1), "") && isContent(wordAt(w, or+1), wordAt(w, or+2)) && or-1 > i+1
}

// isContent reports whether a word, or the one behind an article, says something alone.
func isContent(x, next string) bool {
	if (x == "the" || x == "a" || x == "an" || x == "my" || x == "our") && next != "" {
		x = next
	}
	for _, list := range []string{asking, helping, empty, subject, object, owned, picked, " one ones these those this that or and "} {
		if inList(list, x) {
			return false
		}
	}
	return x != ""
}

// isReference reports whether the "that" at i refers to something said before.
func isReference(w []string, i int) bool {
	next, before := wordAt(w, i+1), wordAt(w, i-1)
	return next == "" || inList(helping, next) && (i == 0 || inList(asking, before)) || inList(helping, before) || inList(" of in at on for about from to by with like after before ", before)
}

const (
	// A question with one of these words is about the day on which it is asked.
	dayWords = " today tomorrow yesterday tonight now nowadays currently current latest newest recent recently lately " +
		"upcoming soon ago still yet anymore overdue pending coming next last past presently these-days so-far right-now at-the-moment any-longer to-date until-now up-to-now "
	// After "this", "in two" and the like they form a time.
	spans = " second minute hour day week weekend fortnight month quarter year morning afternoon evening night noon lunch spring summer autumn fall winter season term semester time round "
	week  = " monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun weekend "
)

// RelativeTime reports whether a question means another time when asked on another day;
// its answer expires at midnight. In doubt it returns true, which costs at most another
// answer.
func RelativeTime(question string) bool {
	words := plainWords(question)
	for i, w := range words {
		next := wordAt(words, i+1)
		switch {
		case (w == "last" || w == "next") && (next == "name" || next == "names" || next == "to" || next == "will" || next == "of" && wordAt(words, i+2) == "kin"):
			continue
		case w == "past" && (isNumber(wordAt(words, i-1)) || wordAt(words, i-1) == "half" || wordAt(words, i-1) == "quarter"):
			continue // half past ten
		case inList(dayWords, w), inList(dayWords, w+"-"+next), inList(dayWords, w+"-"+next+"-"+wordAt(words, i+2)):
			return true
		case (w == "this" || w == "these") && (inList(spans, next) || inList(spans, strings.TrimSuffix(next, "s")) || inList(week, next)):
			return true
		case (w == "in" || w == "within" || w == "for") && isCount(next) && inList(spans, strings.TrimSuffix(wordAt(words, i+2), "s")):
			return true
		case inList(week, w) && !isNumber(next) && !isMonth(next) && !isNumber(wordAt(words, i-1)):
			return true
		case w == "until" && slices.Contains(words, "how"), w == "since" && slices.Contains(words, "how"):
			return true // how long until ...
		}
	}
	return false
}

// MidnightAfter is the first moment of the day after t, in t's time zone.
func MidnightAfter(t time.Time) time.Time {
	y, m, d := t.Date()
	next := time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	// A clock change may skip midnight or a whole day.
	for sameDay(next, t) || !next.After(t) {
		next = next.Add(15 * time.Minute)
	}
	if earlier := next.Add(-time.Hour); sameDay(earlier, next) && earlier.After(t) {
		return earlier // it occurs twice
	}
	return next
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.Date()
	by, bm, bd := b.Date()
	return ay == by && am == bm && ad == bd
}

// plainWords returns a question's words in lower case, without marks and 's.
func plainWords(question string) []string {
	words := strings.Fields(strings.NewReplacer("-", " ", ",", " ", "/", " ", "<", " ", ">", " ").Replace(strings.ToLower(Normalise(question))))
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "'s")
	}
	return words
}

func wordAt(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

func inList(list, w string) bool { return w != "" && strings.Contains(list, " "+w+" ") }

func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

func isCount(w string) bool {
	return isNumber(w) || inList(" a an one two three four five six seven eight nine ten twelve few some couple ", w)
}

func isMonth(w string) bool {
	return inList(" january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec the ", w)
}
