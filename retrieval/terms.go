package retrieval

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is how a term came from the text.
type kind uint8

const (
	plain kind = iota // a word, a number, a pair of CJK characters
	whole             // several words that belong together: an address, a file's name
	form              // another form of a word: its stem, a month's full name
	lone              // one character of a CJK run, for questions of one character
)

const (
	maxTermBytes = 64 // longer words are cut; longer wholes are left out
	maxParts     = 12 // of a whole
)

// eachTerm calls emit with every term of a text, in order. A term may repeat.
func eachTerm(text string, emit func(term string, k kind)) {
	c := cutter{emit: emit}
	c.run(fold(text))
}

// cutter cuts folded text into terms.
type cutter struct {
	emit  func(term string, k kind)
	parts []string
	seps  []byte
}

// run reads the text. Runs of CJK characters become pairs. A run of word characters
// with joiners between them is a compound.
func (c *cutter) run(s string) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case paired(r):
			end := stretch(s, i, paired)
			c.pairs(s[i:end])
			i = end
		case wordRune(r):
			i = c.compound(s, i)
		default:
			i += n
		}
	}
}

func stretch(s string, from int, in func(rune) bool) int {
	for i, r := range s[from:] {
		if !in(r) {
			return from + i
		}
	}
	return len(s)
}

func plainRune(r rune) bool { return wordRune(r) && !paired(r) }

// wordRune reports whether a character can be part of a word.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// paired reports whether a character belongs to a script without spaces between words,
// or to Hangul, whose words change at their ends.
func paired(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pairs emits each pair of neighbours in a run.
func (c *cutter) pairs(s string) {
	before := -1
	for i, r := range s {
		n := i + utf8.RuneLen(r)
		if before >= 0 {
			c.emit(s[before:n], plain)
		}
		if unicode.In(r, unicode.Han, unicode.Hangul) {
			c.emit(s[i:n], lone)
		}
		before = i
	}
}

// compound reads the compound that starts at from, and returns its end.
func (c *cutter) compound(s string, from int) int {
	c.parts, c.seps = c.parts[:0], c.seps[:0]
	for {
		end := stretch(s, from, plainRune)
		c.parts = append(c.parts, s[from:end])
		if end+1 >= len(s) || !joins(s, end) {
			c.group(c.parts, c.seps)
			return end
		}
		c.seps = append(c.seps, s[end])
		from = end + 1
	}
}

// joins reports whether the byte at i joins two words.
func joins(s string, i int) bool {
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	switch s[i] {
	case ',', ':', '/':
		return digit(s[i-1]) && digit(s[i+1])
	case '.', '@', '_', '-', '\'', '&', '+':
		r, _ := utf8.DecodeRuneInString(s[i+1:])
		return plainRune(r)
	}
	return false
}

// group emits the terms of words with separators between them: the whole, in one form
// for all spellings, and the words.
func (c *cutter) group(parts []string, seps []byte) {
	for n := len(seps); n > 0 && seps[n-1] == '\'' && parts[n] == "s"; n-- { // a possessive
		parts, seps = parts[:n], seps[:n-1]
	}
	if len(parts) == 1 {
		c.word(parts[0])
		return
	}
	if c.number(parts, seps) {
		return
	}
	c.wholes(parts, seps)
	for _, cuts := range []func(i int) bool{
		func(i int) bool { return seps[i] == '@' },
		func(i int) bool { return seps[i] == '.' && !(endsInDigit(parts[i]) && allDigits(parts[i+1][:1])) },
		func(i int) bool { return strings.IndexByte("-_&+'", seps[i]) >= 0 },
	} {
		if c.split(parts, seps, cuts) {
			return
		}
	}
	for _, p := range parts {
		c.word(p)
	}
}

// split divides a compound where cuts says so. It returns false if that is nowhere.
func (c *cutter) split(parts []string, seps []byte, cuts func(i int) bool) bool {
	from := 0
	for i := range len(seps) + 1 {
		if i < len(seps) && !cuts(i) {
			continue
		}
		if i == len(seps) && from == 0 {
			return false
		}
		if piece := parts[from : i+1]; from == 0 || seps[from-1] != '\'' || len(piece) > 1 || len(piece[0]) > 1 {
			c.group(piece, seps[from:i]) // and not the t of don't
		}
		from = i + 1
	}
	return true
}

func endsInDigit(s string) bool { return allDigits(s[len(s)-1:]) }

// wholes emits the compound as one term. It drops hyphens, apostrophes and the like, so
// that follow-up becomes followup, and keeps the separators of addresses and times.
func (c *cutter) wholes(parts []string, seps []byte) {
	if len(parts) > maxParts {
		return
	}
	joined, letters, digits := true, true, true
	for i, p := range parts {
		letters = letters && utf8.RuneCountInString(p) == 1
		digits = digits && allDigits(p)
		if i > 0 {
			joined = joined && strings.IndexByte("-&'", seps[i-1]) >= 0
		}
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && !joined && !letters {
			b.WriteByte(seps[i-1])
		}
		b.WriteString(p)
	}
	if b.Len() > maxTermBytes {
		return
	}
	c.emit(b.String(), whole)
	if n := len(parts) - 1; bytes.Count(seps, []byte{':'}) == n { // 10:30am is 10:30
		if tail := strings.TrimLeft(parts[n], "0123456789"); tail != "" {
			c.emit(strings.TrimSuffix(b.String(), tail), whole)
		}
	}
	if digits && len(parts) == 3 && len(parts[0]) == 4 && seps[0] == '-' && seps[1] == '-' {
		if m := monthOf(parts[1]); m != "" {
			c.emit(m, form)
		}
	}
}

// word emits one word and its other forms.
func (c *cutter) word(w string) {
	if len(w) > maxTermBytes {
		cut := maxTermBytes
		for !utf8.RuneStart(w[cut]) {
			cut--
		}
		w = w[:cut]
	}
	c.emit(w, plain)
	tail := strings.TrimLeft(w, "0123456789")
	switch digits := w[:len(w)-len(tail)]; {
	case digits == "":
		if full := calendar[w]; full != "" {
			c.emit(full, form)
		} else if s := stem(w); s != w {
			c.emit(s, form)
		}
	case tail == "":
		if bare := strings.TrimLeft(w, "0"); bare != w && bare != "" {
			c.emit(bare, form)
		}
	case len(tail) <= 4 && !strings.ContainsAny(tail, "0123456789"): // 46k, 10am, 4th
		c.emit(digits, form)
		if tail != "th" && tail != "st" && tail != "nd" && tail != "rd" {
			c.emit(tail, form)
		}
	}
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// number emits a number with separators in one form: 1185 finds "1,185", "1.185" and
// "$1,185.00". It returns false for anything else.
func (c *cutter) number(parts []string, seps []byte) bool {
	for i, p := range parts {
		if !allDigits(p) || i > 0 && seps[i-1] != ',' && seps[i-1] != '.' {
			return false
		}
	}
	n := len(seps)
	last, tail := seps[n-1], parts[n]
	grouped := grouped(parts, seps)
	switch {
	case n == 1 && last == '.':
		c.decimal(parts[:1], tail)
		if grouped { // 1.185 may be either
			c.emit(strings.Join(parts, ""), form)
		}
	case grouped:
		c.emit(strings.Join(parts, ""), plain)
	case n == 1: // 2,5
		c.decimal(parts[:1], tail)
	case last != seps[0] && groupedAs(parts[:n], seps[:n-1], seps[0]):
		c.decimal(parts[:n], tail)
	default:
		return false
	}
	return true
}

func grouped(parts []string, seps []byte) bool { return groupedAs(parts, seps, seps[0]) }

// groupedAs reports whether parts are the groups of three digits of one number.
func groupedAs(parts []string, seps []byte, sep byte) bool {
	for i, p := range parts {
		if i == 0 && (len(p) > 3 || p[0] == '0') || i > 0 && (len(p) != 3 || seps[i-1] != sep) {
			return false
		}
	}
	return true
}

func (c *cutter) decimal(groups []string, fraction string) {
	integer := strings.Join(groups, "")
	if zeros := strings.Trim(fraction, "0") == ""; zeros {
		c.emit(integer, plain)
	}
	c.emit(integer+"."+fraction, plain)
}

// calendar maps short names of months and days to full ones. A few short names are also
// words; they are found as both.
var calendar = map[string]string{
	"jan": "january", "feb": "february", "mar": "march", "apr": "april", "jun": "june", "jul": "july",
	"aug": "august", "sep": "september", "sept": "september", "oct": "october", "nov": "november", "dec": "december",
	"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday",
	"thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
}

// monthOf is the name of a month written in two digits.
func monthOf(digits string) string {
	if len(digits) != 2 {
		return ""
	}
	months := [...]string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}
	n := int(digits[0]-'0')*10 + int(digits[1]-'0')
	if n < 1 || n > len(months) {
		return ""
	}
	return months[n-1]
}

// stopWord reports whether a word says little about the topic of a question.
func stopWord(w string) bool {
	_, found := slices.BinarySearch(stopWords, w)
	return found
}

// stopWords are sorted.
var stopWords = strings.Fields(`
	a about after an and any are as at be been before but by can could did do does for from had has have he her his
	how i if in into is it its many me much my of on or our s she should so some t than that the their them then there
	these they this those to us was we were what when where which who whom whose why will with would you your`)
