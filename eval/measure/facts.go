package measure

import (
	"slices"
	"strings"
	"unicode"
)

// The kinds of facts in which two answers may differ.
const (
	factRefusal  = "refusal"  // only one says that it does not know
	factNumber   = "number"   // amounts and counts, with their currency or per cent
	factDate     = "date"     // days, and times of day
	factName     = "name"     // of people, places and things; codes and addresses
	factNegation = "negation" // only one negates
	factOpposite = "opposite" // before and after, more and less
	factWords    = "words"    // nothing is shared, or words replace others
)

// Contradicts says whether a served answer has other facts than the computed answer. Then
// the served answer counts as wrong.
func Contradicts(served, computed string) bool { return len(Differs(served, computed)) > 0 }

// Differs names the kinds of facts in which two answers differ: refusal, number, date,
// name, negation, opposite or words. It is empty if both say the same. The order of the
// two does not matter.
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

// finding is the comparison of the facts of one kind.
type finding struct {
	kind    string
	differ  bool
	matched bool // some facts are the same
}

// compareFacts compares the facts of a kind. Each fact needs a counterpart. A weak fact,
// which may be none, needs one only if the other side also has a fact without a
// counterpart.
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

// matchDatesToNumbers removes what is a date in one answer and a number in the other: a
// year, or the 28th for 28 February.
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

// haveOpposites says whether one answer has a word and the other its opposite.
func haveOpposites(a, b map[string]bool) bool {
	for i := 0; i+1 < len(opposites); i += 2 {
		x, y := stem(opposites[i]), stem(opposites[i+1])
		if a[x] && !a[y] && b[y] && !b[x] || a[y] && !a[x] && b[x] && !b[y] {
			return true
		}
	}
	return false
}

// noSharedWord says whether the answers share no content word.
func noSharedWord(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return false
		}
	}
	yes := len(a)+len(b) == 1 && (a["yes"] || b["yes"]) // "yes, it is" and "it is"
	return len(a)+len(b) > 0 && !yes
}

// wordsReplaced says whether at least half of the words are the same at their places and
// content words replace others: the red tent, the blue tent.
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

// contentWord says whether a word has a meaning of its own and is not a fact.
func contentWord(l token) bool {
	_, _, number := small(withoutApostrophe(l.lower))
	return l.text == l.lower && len(l.lower) > 1 && !number && !code(l.text) && units[l.lower] == "" && scales[l.lower] == 0 &&
		!slices.ContainsFunc([][]string{function, negations, titles, abbreviations, noons, relatives}, func(list []string) bool {
			return in(list, withoutApostrophe(l.lower))
		})
}

// claims are the parts of an answer that are compared.
type claims struct {
	numbers []number
	dates   []date
	names   []name
	words   map[string]bool // stems of content words, without numbers and dates
	all     map[string]bool // stems of all words
	negated bool
	refused bool
}

// name is capitalized words in a row, a code or an address, in lower case.
type name struct {
	words []string
	weak  bool // perhaps capitalized only at the start of a sentence
}

func (n name) isWeak() bool { return n.weak }

// same says whether two names may mean the same: one is part of the other.
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

// readClaims reads an answer. The words in common are not names.
func readClaims(ls []token, common map[string]bool) claims {
	s := claims{words: map[string]bool{}, all: map[string]bool{}, refused: refuses(ls)}
	for _, l := range ls {
		s.all[stem(l.lower)] = true
	}
	loud := allCapitals(ls)
	open := false // the next word may continue the last name
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

// withoutApostrophe cuts a word at its apostrophe: he for he's.
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

// isName says whether a function word is a name: the US, Grad A, but not I.
func isName(l token) bool {
	w := strings.ReplaceAll(l.text, ".", "")
	return acronym(w) && w != "OK" || !l.start && (w == "A" || w == "Will")
}

// allCapitals says whether a whole answer is in capitals.
func allCapitals(ls []token) bool {
	return len(ls) > 3 && !slices.ContainsFunc(ls, func(l token) bool { return l.text != strings.ToUpper(l.text) })
}

// code says whether a word has digits or is an address.
func code(w string) bool {
	return strings.ContainsAny(w, "0123456789@") || strings.Contains(w, "://") || strings.HasPrefix(strings.ToLower(w), "www.")
}

// notNegation says whether a word looks like a negation and is none: no later than, not
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

// refuses says whether an answer is that there is no answer. An empty answer refuses.
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
