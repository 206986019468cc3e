package qabank

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// before and behind a word these say nothing
	opening = "\"'([{<«‹¿¡"
	closing = "\"'.,;:!?)]}>»›…。、，；：！？"
	// Small words that in capitals are names: IT is not it.
	small = " am an as at do in is it me no or so to up us who "
	// Units in which the size of a letter is a factor, or bits and bytes.
	units = " gb gbps kb ma mb mbps mg mhz mpa mv mw tb "
)

// Normalise writes a question so that repeats of it are equal: no capitals, one
// space between words, no marks around them. What may tell two questions apart
// stays: signs, currencies, marks within words and numbers, marks that touch a
// number from behind and may be part of it, accents, and capitals where they
// make another word.
//
// IDs and vetoes rest on it: changing it needs a new format version.
func Normalise(question string) string {
	words := strings.FieldsFunc(norm.NFC.String(strings.Map(plain, strings.ToValidUTF8(question, ""))), unicode.IsSpace)
	shouted := !strings.ContainsFunc(question, unicode.IsLower)
	out := words[:0]
	for _, w := range words {
		if w = bare(w); w == "" {
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

// plain gives one form to marks that have many, and drops what is invisible.
func plain(r rune) rune {
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

// bare takes the marks off both ends of a word.
func bare(w string) string {
	r := []rune(w)
	for len(r) > 0 && strings.ContainsRune(opening, r[0]) && !(len(r) > 1 && unicode.IsNumber(r[1])) {
		r = r[1:]
	}
	for len(r) > 0 && strings.ContainsRune(closing, r[len(r)-1]) && !part(r) {
		r = r[:len(r)-1]
	}
	return string(r)
}

// part says whether the last mark of a word may belong to it: feet and inches,
// factorials, a negative number in brackets, a derivative.
func part(r []rune) bool {
	last := r[len(r)-1]
	if len(r) < 2 || !strings.ContainsRune("\"'!)", last) {
		return false
	}
	return unicode.IsNumber(r[len(r)-2]) || last == '\'' && len(r) == 2
}
