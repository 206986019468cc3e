package measure

import (
	"slices"
	"strings"
	"unicode"
)

// What two answers may differ in.
const (
	factRefusal  = "refusal"  // one says that it does not know
	factNumber   = "number"   // amounts and counts, with their currency or per cent
	factDate     = "date"     // days, and times of day
	factName     = "name"     // of people, places and things; codes and addresses
	factNegation = "negation" // one says no
	factOpposite = "opposite" // before and after, more and less
	factWords    = "words"    // nothing is the same, or words stand in the place of others
)

// Contradicts says whether the facts of a served answer differ from those of the
// answer that was computed: then the served one counts as wrong.
func Contradicts(served, computed string) bool { return len(Differs(served, computed)) > 0 }

// Differs names the kinds of facts in which they differ: refusal, number, date, name,
// negation, opposite or words; none if they say the same in whatever words. It does
// not matter which of both is which.
func Differs(served, computed string) []string {
	a, b := splitWords(served), splitWords(computed)
	if slices.EqualFunc(a, b, func(x, y token) bool { return x.lower == y.lower }) {
		return nil
	}
	common := lowercaseWords(a, b)
	kinds := compare(readClaims(a, common), readClaims(b, common))
	if len(kinds) == 0 && wordsReplaced(a, b) {
		return []string{factWords}
	}
	return kinds
}

func compare(a, b claims) []string {
	if a.refused || b.refused {
		if a.refused && b.refused {
			return nil
		}
		return []string{factRefusal}
	}
	datesA, numbersB := matchDatesToNumbers(a, b)
	datesB, numbersA := matchDatesToNumbers(b, a)
	crossing := len(datesA) < len(a.dates) || len(datesB) < len(b.dates)
	var kinds []string
	shared := crossing
	for _, k := range []finding{
		compareFacts(factNumber, numbersA, numbersB, number.same, number.isWeak),
		compareFacts(factDate, datesA, datesB, date.same, nil),
		compareFacts(factName, a.names, b.names, name.same, name.isWeak),
		{kind: factNegation, differ: a.negated != b.negated},
		{kind: factOpposite, differ: haveOpposites(a.all, b.all)},
	} {
		if k.differ {
			kinds = append(kinds, k.kind)
		}
		shared = shared || k.matched
	}
	if len(kinds) == 0 && !shared && noSharedWord(a.words, b.words) {
		return []string{factWords}
	}
	return kinds
}

// finding is what came of holding the facts of a kind against each other.
type finding struct {
	kind    string
	differ  bool
	matched bool // some are the same
}

// compareFacts holds the facts of a kind against each other. Each needs a counterpart. A weak
// one, which may be no fact at all, needs one only where the other side has a fact
// without a counterpart, too; without weak, none is.
func compareFacts[F any](kind string, a, b []F, same func(F, F) bool, weak func(F) bool) finding {
	lone := func(of, in []F) (lone, strong int) {
		for _, f := range of {
			if !slices.ContainsFunc(in, func(g F) bool { return same(f, g) }) {
				lone++
				if weak == nil || !weak(f) {
					strong++
				}
			}
		}
		return lone, strong
	}
	la, sa := lone(a, b)
	lb, sb := lone(b, a)
	return finding{kind, sa+sb > 0 || la > 0 && lb > 0, la < len(a)}
}

// matchDatesToNumbers takes out what one has as a date and the other as a number: a year, or
// the 28th for 28 February.
func matchDatesToNumbers(a, b claims) ([]date, []number) {
	dates, numbers := slices.Clone(a.dates), slices.Clone(b.numbers)
	for _, n := range b.numbers {
		if slices.ContainsFunc(a.numbers, n.same) {
			continue
		}
		at := slices.IndexFunc(dates, func(d date) bool { return d.isNumber(n) && !slices.ContainsFunc(b.dates, d.same) })
		if at >= 0 {
			dates = slices.Delete(dates, at, at+1)
			numbers = slices.DeleteFunc(numbers, func(m number) bool { return m == n })
		}
	}
	return dates, numbers
}

// haveOpposites says whether one has a word and the other its opposite.
func haveOpposites(a, b map[string]bool) bool {
	for i := 0; i+1 < len(opposites); i += 2 {
		x, y := stem(opposites[i]), stem(opposites[i+1])
		if a[x] && !a[y] && b[y] && !b[x] || a[y] && !a[x] && b[x] && !b[y] {
			return true
		}
	}
	return false
}

// noSharedWord says whether no word that means something is in both.
func noSharedWord(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return false
		}
	}
	yes := len(a)+len(b) == 1 && (a["yes"] || b["yes"]) // yes, it is; it is
	return len(a)+len(b) > 0 && !yes
}

// wordsReplaced says whether at least half of the words are the same, each at its place,
// and words that mean something stand in the place of others: the red tent, the blue
// tent.
func wordsReplaced(a, b []token) bool {
	if len(a) != len(b) || len(a) < 2 {
		return false
	}
	others := 0
	for i := range a {
		if stem(a[i].lower) == stem(b[i].lower) {
			continue
		}
		if others++; !contentWord(a[i]) || !contentWord(b[i]) {
			return false
		}
	}
	return others > 0 && 2*others <= len(a)
}

// contentWord says whether a word means something and is no fact: facts are compared by
// what they say.
func contentWord(l token) bool {
	_, _, number := small(withoutApostrophe(l.lower))
	return l.text == l.lower && len(l.lower) > 1 && !number && !code(l.text) && units[l.lower] == "" && scales[l.lower] == 0 &&
		!slices.ContainsFunc([][]string{function, negations, titles, abbreviations, noons, relatives}, func(list []string) bool {
			return in(list, withoutApostrophe(l.lower))
		})
}

// claims are what an answer says, as far as it is compared.
type claims struct {
	numbers []number
	dates   []date
	names   []name
	words   map[string]bool // stems of those that mean something, but for numbers and dates
	all     map[string]bool // stems of all
	negated bool
	refused bool
}

// name is capitalised words in a row, or a code, or an address, in lower case.
type name struct {
	words []string
	weak  bool // capital as it begins a sentence, and perhaps no name
}

func (n name) isWeak() bool { return n.weak }

// same says whether two names may be of the same: one is part of the other.
func (n name) same(m name) bool {
	lacks := func(of, in name) bool {
		return slices.ContainsFunc(of.words, func(w string) bool {
			return !slices.ContainsFunc(in.words, func(v string) bool {
				return v == w || len(w) == 1 && strings.HasPrefix(v, w) || len(v) == 1 && strings.HasPrefix(w, v)
			})
		})
	}
	return !lacks(n, m) || !lacks(m, n)
}

// readClaims takes an answer in. common are words that are no names.
func readClaims(ls []token, common map[string]bool) claims {
	s := claims{words: map[string]bool{}, all: map[string]bool{}, refused: refuses(ls)}
	for _, l := range ls {
		s.all[stem(l.lower)] = true
	}
	loud := allCapitals(ls)
	open := false // the last name may go on
	for i := 0; i < len(ls); {
		if d, n := readDate(ls[i:]); n > 0 {
			s.dates, open = append(s.dates, d), false
			i += n
			continue
		}
		if num, unit, n := readNumber(ls[i:]); n > 0 {
			num.bare = ls[i+n-1].end || i+n == len(ls) || in(function, ls[i+n].lower)
			s.numbers, open = append(s.numbers, num), false
			if unit != "" {
				s.words[stem(unit)] = true
			}
			i += n
			continue
		}
		l := ls[i]
		switch {
		case notNegation(ls[i:]):
			open = false
		case in(negations, l.lower) || strings.HasSuffix(l.lower, "n't"):
			s.negated, open = true, false
			s.words["no"] = true
		case code(l.text):
			s.names = append(s.names, name{words: []string{l.lower}})
			s.words[l.lower], open = true, false
		case in(function, withoutApostrophe(l.lower)) && (loud || !isName(l)) || in(titles, l.lower):
			open = open && in(titles, l.lower)
		default:
			s.words[stem(l.lower)] = true
			w := strings.ReplaceAll(strings.TrimSuffix(l.lower, "'s"), ".", "")
			if !capital(l.text) || len(w) > 1 && common[stem(w)] {
				open = false
				break
			}
			if open {
				last := &s.names[len(s.names)-1]
				last.words, last.weak = append(last.words, w), false
			} else {
				s.names = append(s.names, name{words: []string{w}, weak: l.start && (loud || !acronym(l.text))})
			}
			open = true
		}
		open = open && !l.end
		i++
	}
	return s
}

// withoutApostrophe is a word without what an apostrophe adds: he for he's.
func withoutApostrophe(w string) string {
	w, _, _ = strings.Cut(w, "'")
	return w
}

func capital(w string) bool {
	for _, r := range w {
		return unicode.IsUpper(r)
	}
	return false
}

func acronym(w string) bool {
	return len(w) > 1 && w == strings.ToUpper(w)
}

// isName says whether a word that means little is a name all the same: the US, Grad A,
// but not I.
func isName(l token) bool {
	w := strings.ReplaceAll(l.text, ".", "")
	return acronym(w) && w != "OK" || !l.start && (w == "A" || w == "Will")
}

// allCapitals says whether all of an answer is in capitals.
func allCapitals(ls []token) bool {
	return len(ls) > 3 && !slices.ContainsFunc(ls, func(l token) bool { return l.text != strings.ToUpper(l.text) })
}

// code says whether a word has letters and digits, or several numbers, or is an
// address.
func code(w string) bool {
	return strings.ContainsAny(w, "0123456789@") || strings.Contains(w, "://") || strings.HasPrefix(strings.ToLower(w), "www.")
}

// notNegation says whether a word that looks like a negation is none: no later than, not
// only, no. 5.
func notNegation(ls []token) bool {
	if ls[0].lower != "no" && ls[0].lower != "not" || len(ls) < 2 {
		return false
	}
	next := ls[1].lower
	if in(idle, next) || digits(next) && !ls[0].end {
		return true
	}
	return len(ls) > 2 && ls[2].lower == "than" && slices.Contains([]string{"later", "earlier", "sooner", "more", "less", "fewer"}, next)
}

// refuses says whether an answer is that there is none. An empty one is.
func refuses(ls []token) bool {
	text := " "
	for _, l := range ls {
		text += l.lower + " "
	}
	if strings.TrimSpace(text) == "" {
		return true
	}
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(text, " "+r+" ") })
}
