package measure

import (
	"slices"
	"strings"
	"unicode"
)

// said is what an answer says, as far as it is compared.
type said struct {
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

// read takes an answer in. common are words that are no names.
func read(ls []lump, common map[string]bool) said {
	s := said{words: map[string]bool{}, all: map[string]bool{}, refused: refuses(ls)}
	for _, l := range ls {
		s.all[stem(l.lower)] = true
	}
	loud := shouted(ls)
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
		case neutral(ls[i:]):
			open = false
		case in(negations, l.lower) || strings.HasSuffix(l.lower, "n't"):
			s.negated, open = true, false
			s.words["no"] = true
		case code(l.text):
			s.names = append(s.names, name{words: []string{l.lower}})
			s.words[l.lower], open = true, false
		case in(function, base(l.lower)) && (loud || !named(l)) || in(titles, l.lower):
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

// base is a word without what an apostrophe adds: he for he's.
func base(w string) string {
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

// named says whether a word that means little is a name all the same: the US, Grad A,
// but not I.
func named(l lump) bool {
	w := strings.ReplaceAll(l.text, ".", "")
	return acronym(w) && w != "OK" || !l.start && (w == "A" || w == "Will")
}

// shouted says whether all of an answer is in capitals.
func shouted(ls []lump) bool {
	return len(ls) > 3 && !slices.ContainsFunc(ls, func(l lump) bool { return l.text != strings.ToUpper(l.text) })
}

// code says whether a word has letters and digits, or several numbers, or is an
// address.
func code(w string) bool {
	return strings.ContainsAny(w, "0123456789@") || strings.Contains(w, "://") || strings.HasPrefix(strings.ToLower(w), "www.")
}

// neutral says whether a word that looks like a negation is none: no later than, not
// only, no. 5.
func neutral(ls []lump) bool {
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
func refuses(ls []lump) bool {
	text := " "
	for _, l := range ls {
		text += l.lower + " "
	}
	if strings.TrimSpace(text) == "" {
		return true
	}
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(text, " "+r+" ") })
}
