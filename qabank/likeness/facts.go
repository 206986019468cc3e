package likeness

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed facts.txt
var factsText string

// facts are the words by which two answers may conflict.
type facts struct {
	plain     map[string]string   // another form of a word or a number: three is 3
	opposites map[string][]string // the words that contradict a word
	refusing  map[string]bool     // what a refusal says it cannot do
	units     map[string]bool     // may stand right behind a number
	ordinals  map[string]bool     // those of them that say nothing
	directed  map[string]bool     // stands between two names that may not change places
	small     map[string]bool     // begins an answer and names nobody
	german    map[string]bool     // shows that nouns are capitalised
}

var factList = sync.OnceValue(func() facts {
	f := facts{plain: map[string]string{}, opposites: map[string][]string{}}
	sets := map[string]map[string]bool{}
	for name, set := range map[string]*map[string]bool{
		"refusing": &f.refusing, "unit": &f.units, "ordinal": &f.ordinals, "directed": &f.directed, "small": &f.small, "german": &f.german,
	} {
		*set = map[string]bool{}
		sets[name] = *set
	}
	for line := range strings.Lines(factsText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if left, right, ok := strings.Cut(rest, "|"); ok {
			for _, l := range strings.Fields(left) {
				for _, r := range strings.Fields(right) {
					f.opposites[l] = append(f.opposites[l], r)
					f.opposites[r] = append(f.opposites[r], l)
				}
			}
			continue
		}
		for w := range strings.FieldsSeq(rest) {
			if set, ok := sets[name]; ok {
				set[w] = true
			} else {
				f.plain[w] = name
			}
		}
	}
	return f
})

// factWords splits an answer and writes its numbers, months and units in one form.
func factWords(text string) (out []word) {
	for _, w := range split(text) {
		digits := 0
		for digits < len(w.text) && (w.text[digits] >= '0' && w.text[digits] <= '9' || strings.IndexByte(".,:-", w.text[digits]) >= 0) {
			digits++
		}
		if digits == 0 {
			out = append(out, plainWord(w))
			continue
		}
		unit := w.text[digits:]
		if unit != "" && !factList().units[unit] { // a code: 4a
			out = append(out, w)
			continue
		}
		out = append(out, word{text: plainNumber(w.text[:digits]), weight: 1, number: true})
		if unit != "" && !factList().ordinals[unit] {
			out = append(out, plainWord(newWord(unit, true)))
		}
	}
	return out
}

func plainWord(w word) word {
	if p, ok := factList().plain[w.text]; ok {
		w.text = p
		if w.number = unicode.IsDigit(rune(p[0])); w.number {
			w.weight, w.name = 1, false
		}
	}
	return w
}

// plainNumber writes 1,185 and 1.185 as 1185, 10:00 and 10.00 as 10, and 05 as 5.
func plainNumber(s string) string {
	if n := len(s); n > 3 && s[n-2:] == "00" && strings.IndexByte(".,:", s[n-3]) >= 0 {
		s = s[:n-3]
	}
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '.' })
	thousands := len(parts) > 1 && len(parts[0]) <= 3 && parts[0] != "0"
	for _, p := range parts[1:] {
		thousands = thousands && len(p) == 3
	}
	if thousands {
		s = strings.Join(parts, "")
	}
	if t := strings.TrimLeft(s, "0"); t != "" && t[0] >= '0' && t[0] <= '9' {
		return t
	}
	return s
}

// refusal reports whether an answer says that the documents do not say.
func refusal(ws []word) bool {
	refuses := false
	for _, w := range ws {
		if w.number || w.kind == dated {
			return false
		}
		refuses = refuses || factList().refusing[w.text]
	}
	return refuses && (count(ws, negation) > 0 || slices.ContainsFunc(ws, func(w word) bool { return w.text == "unable" }))
}

// opposed reports whether one answer has a word and the other its opposite instead.
func opposed(a, b []word) bool {
	in := func(ws []word, text string) bool {
		return slices.ContainsFunc(ws, func(w word) bool { return w.text == text })
	}
	for _, w := range a {
		for _, o := range factList().opposites[w.text] {
			if in(b, o) && !in(a, o) && !in(b, w.text) {
				return true
			}
		}
	}
	return false
}

// otherUnit reports whether the answers count other things by the same number: 5 hours and
// 5 days.
func otherUnit(a, b []word) bool {
	counted := func(ws, other []word) map[string]bool { // numbers whose unit the other lacks
		m := map[string]bool{}
		for i := 0; i+1 < len(ws); i++ {
			unit := ws[i+1]
			if ws[i].number && !unit.number && unit.weight > 0 && !unicode.Is(unicode.Han, []rune(unit.text)[0]) && !has(other, unit) {
				m[ws[i].text] = true
			}
		}
		return m
	}
	x, y := counted(a, b), counted(b, a)
	for n := range x {
		if y[n] {
			return true
		}
	}
	return false
}

// otherPeople reports whether two answers name others: each has a name that the other
// lacks, a question for a person is answered by other first words, or the same names change
// places around a to or by.
func otherPeople(a, b, asked []word) bool {
	who := slices.ContainsFunc(asked, func(w word) bool { return w.text == "who" })
	if x, y := a[0], b[0]; who && !has(b, x) && !has(a, y) && !factList().small[x.text] && !factList().small[y.text] {
		return true
	}
	if x, y := names(a), names(b); len(x) > 1 && !slices.Equal(x, y) && slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
		directed := func(w word) bool { return factList().directed[w.text] }
		return slices.ContainsFunc(a, directed) && slices.ContainsFunc(b, directed)
	}
	if german(a) || german(b) { // each noun looks like a name
		return false
	}
	name := func(w word) bool { return w.name && !has(asked, w) }
	return onlyIn(a, b, name) && onlyIn(b, a, name)
}

func names(ws []word) (found []string) {
	for _, w := range ws {
		if w.name {
			found = append(found, w.text)
		}
	}
	return found
}

func german(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return factList().german[w.text] })
}

// nameFirst makes the first word of an answer a name if it is one in the other text.
func nameFirst(a, b []word) {
	if slices.ContainsFunc(b, func(w word) bool { return w.name && w.text == a[0].text }) {
		a[0].name, a[0].weight = true, 1
	}
}
