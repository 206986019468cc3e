package grounded

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// word is a word or a number of a text.
type word struct {
	raw        string
	start, end int      // first character, and the one after the last
	low        string   // without capitals, accents and 's
	keys       []string // forms that it equals; the first is its own
	number     bool
	month      bool // the name of a month
	weekday    bool
	starts     bool // begins a sentence
	capital    bool
	joined     bool // at most one space separates it from the word before
}

// The prefixes of keys.
const (
	plainKey   = "w:"
	numberKey  = "n:"
	monthKey   = "m:"
	weekdayKey = "d:"
)

// read splits a text into words.
func read(text string) (words []word) {
	r := []rune(text)
	begins := true // the next word begins a sentence
	last := 0      // end of the word before
	for i := 0; i < len(r); {
		switch c := r[i]; {
		case unicode.IsNumber(c):
			end := i + 1
			for end < len(r) && (unicode.IsNumber(r[end]) || end+1 < len(r) && inNumber(r[end]) && unicode.IsNumber(r[end+1])) {
				end++
			}
			for _, w := range numbers(r, i, end) {
				w.starts, w.joined, begins = begins, i-last <= 1, false
				words = append(words, w)
			}
			i, last = end, end
		case unicode.IsLetter(c):
			end := i + 1
			for end < len(r) && !alone(c) && (letter(r[end]) && !alone(r[end]) || end+1 < len(r) && apostrophe(r[end]) && unicode.IsLetter(r[end+1])) {
				end++
			}
			w := plain(string(r[i:end]))
			w.start, w.end, w.starts, w.joined, begins = i, end, begins, i-last <= 1, false
			words = append(words, w)
			i, last = end, end
		default:
			begins = begins && !strings.ContainsRune(",$€£", c) || strings.ContainsRune(".!?:;\n•。！？", c)
			i++
		}
	}
	return words
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func inNumber(r rune) bool { return strings.ContainsRune(",.-/:", r) }

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

// alone says whether a letter is a word by itself: its script has no spaces between words.
func alone(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// plain makes a word of letters.
func plain(raw string) word {
	low := fold(raw)
	w := word{raw: raw, low: low, keys: []string{plainKey + stem(low)}, capital: unicode.IsUpper([]rune(raw)[0])}
	if n := count(low); n > 0 {
		w.keys = append(w.keys, numberKey+strconv.Itoa(n))
		w.number = n > 1 // "one" is often not a number
	}
	if n := at(months, low); n > 0 && w.capital {
		w.keys, w.month = append(w.keys, monthKey+strconv.Itoa(n)), true
	}
	if n := at(weekdays, low); n > 0 {
		w.keys, w.weekday = append(w.keys, weekdayKey+strconv.Itoa(n)), true
	}
	return w
}

// vague says whether no document can confirm the word. A single letter is an initial, or
// belongs to a number.
func (w *word) vague() bool {
	return w.low != "" && (at(common, w.low) > 0 || len(w.low) == 1)
}

// fold removes case, accents and the 's of a word.
func fold(raw string) string {
	low := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == '’':
			return '\''
		}
		return r
	}, norm.NFD.String(strings.ToLower(raw)))
	return strings.TrimSuffix(low, "'s")
}

// numbers returns the numbers in a run of digits: one, or the parts of a date, a time or a
// telephone number.
func numbers(r []rune, start, end int) (words []word) {
	raw := string(r[start:end])
	if whole, ok := amount(raw); ok {
		w := word{raw: raw, start: start, end: end, number: true, keys: []string{numberKey + whole}}
		if strings.Contains(raw, ".") { // 7.30 may be a time, and 1.200 may be 1200
			for _, part := range strings.Split(raw, ".") {
				w.keys = append(w.keys, numberKey+bare(part))
			}
			w.keys = append(w.keys, numberKey+bare(strings.ReplaceAll(raw, ".", "")))
		}
		if end < len(r) && (r[end] == 'k' || r[end] == 'K') {
			w.keys = append(w.keys, numberKey+whole+"000")
		}
		return []word{w}
	}
	dated := strings.ContainsAny(raw, "-/.") // parts that may be months
	for at := start; at < end; at++ {
		from := at
		for at < end && !inNumber(r[at]) {
			at++
		}
		n := bare(string(r[from:at]))
		w := word{raw: string(r[from:at]), start: from, end: at, number: true, keys: []string{numberKey + n}}
		if v, err := strconv.Atoi(n); err == nil && dated && v >= 1 && v <= 12 {
			w.keys = append(w.keys, monthKey+n)
		}
		words = append(words, w)
	}
	return words
}

// amount reads a single number: with commas between thousands, or with one point.
func amount(raw string) (string, bool) {
	if strings.ContainsAny(raw, "-/:") || strings.Count(raw, ".") > 1 {
		return "", false
	}
	whole, part, _ := strings.Cut(raw, ".")
	for i, group := range strings.Split(whole, ",") {
		if i > 0 && len(group) != 3 {
			return "", false
		}
	}
	whole = bare(strings.ReplaceAll(whole, ",", ""))
	if part = strings.TrimRight(part, "0"); part != "" {
		whole += "." + part
	}
	return whole, !strings.Contains(part, ",")
}

// bare removes leading zeros.
func bare(n string) string {
	if short := strings.TrimLeft(n, "0"); short != "" {
		return short
	}
	return "0"
}

// stem removes the commonest endings of an English word. It may equate unrelated words,
// which lets an answer pass.
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "ly", "s"} {
		base, ok := strings.CutSuffix(w, end)
		if !ok || len(base) < 3 || end == "s" && strings.HasSuffix(base, "s") {
			continue
		}
		if n := len(base); end != "s" && base[n-1] == base[n-2] && base[n-1] != 's' && base[n-1] != 'l' {
			base = base[:n-1] // planned
		}
		w = base
		break
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	if base, ok := strings.CutSuffix(w, "y"); ok && len(base) > 2 {
		w = base + "i"
	}
	return w
}
