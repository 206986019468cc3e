package qabank

import (
	"slices"
	"strings"
	"time"
)

const (
	// A question with one of these is about the day on which it is asked.
	dayWords = " today tomorrow yesterday tonight now nowadays currently current latest newest recent recently lately " +
		"upcoming soon ago still yet anymore overdue pending coming next last past presently these-days so-far right-now at-the-moment any-longer to-date until-now up-to-now "
	// Behind "this", "in two" and the like they make a time of it.
	spans = " second minute hour day week weekend fortnight month quarter year morning afternoon evening night noon lunch spring summer autumn fall winter season term semester time round "
	week  = " monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun weekend "
)

// RelativeTime says whether a question means another time when it is asked on
// another day: its answer expires at midnight. Where it is in doubt it says so,
// which costs no more than an answer made again.
func RelativeTime(question string) bool {
	words := plainWords(question)
	for i, w := range words {
		next := at(words, i+1)
		switch {
		case (w == "last" || w == "next") && (next == "name" || next == "names" || next == "to" || next == "will" || next == "of" && at(words, i+2) == "kin"):
			continue
		case w == "past" && (isNumber(at(words, i-1)) || at(words, i-1) == "half" || at(words, i-1) == "quarter"):
			continue // half past ten
		case in(dayWords, w), in(dayWords, w+"-"+next), in(dayWords, w+"-"+next+"-"+at(words, i+2)):
			return true
		case (w == "this" || w == "these") && (in(spans, next) || in(spans, strings.TrimSuffix(next, "s")) || in(week, next)):
			return true
		case (w == "in" || w == "within" || w == "for") && isCount(next) && in(spans, strings.TrimSuffix(at(words, i+2), "s")):
			return true
		case in(week, w) && !isNumber(next) && !isMonth(next) && !isNumber(at(words, i-1)):
			return true
		case w == "until" && slices.Contains(words, "how"), w == "since" && slices.Contains(words, "how"):
			return true // how long until ...
		}
	}
	return false
}

// MidnightAfter is the first moment of the day after t, where t's clock hangs.
func MidnightAfter(t time.Time) time.Time {
	y, m, d := t.Date()
	next := time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	// Where clocks jump over midnight, or over a whole day, it is not where it
	// was looked for.
	for sameDay(next, t) || !next.After(t) {
		next = next.Add(15 * time.Minute)
	}
	if earlier := next.Add(-time.Hour); sameDay(earlier, next) && earlier.After(t) {
		return earlier // it comes twice
	}
	return next
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.Date()
	by, bm, bd := b.Date()
	return ay == by && am == bm && ad == bd
}

// plainWords are a question's words in small letters, without marks and 's.
func plainWords(question string) []string {
	words := strings.Fields(strings.NewReplacer("-", " ", ",", " ", "/", " ").Replace(strings.ToLower(Normalise(question))))
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "'s")
	}
	return words
}

func at(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

func in(list, w string) bool { return w != "" && strings.Contains(list, " "+w+" ") }

func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

func isCount(w string) bool {
	return isNumber(w) || in(" a an one two three four five six seven eight nine ten twelve few some couple ", w)
}

func isMonth(w string) bool {
	return in(" january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec the ", w)
}
