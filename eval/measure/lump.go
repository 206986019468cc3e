package measure

import (
	"strings"
	"unicode"
)

// lump is a piece of an answer: a word, a number, an address.
type lump struct {
	text  string // as it stands, without the punctuation around it
	lower string
	start bool // a sentence may begin here
	end   bool // a comma, a colon or the like parts it from the next
}

// split parts an answer at spaces, brackets and quotation marks.
func split(text string) []lump {
	var ls []lump
	start := true
	finish := func(sentence bool) {
		if len(ls) > 0 {
			ls[len(ls)-1].end = true
		}
		start = start || sentence
	}
	from := -1
	text = strings.NewReplacer("’", "'", "‘", "'", "\u00a0", " ").Replace(text)
	flush := func(to int) {
		if from < 0 {
			return
		}
		raw := text[from:to]
		from = -1
		word := strings.TrimLeft(raw, "'.,:/-&#~=+*")
		if n := len(raw) - len(word); word != "" && n > 0 && raw[n-1] == '-' && strings.ContainsRune("0123456789$€£", []rune(word)[0]) {
			word = "-" + word
		}
		bare := strings.TrimRight(word, "'.,:/-&+=*")
		tail := word[len(bare):]
		if bare == "" {
			finish(strings.ContainsAny(raw, ".:"))
			return
		}
		for _, part := range parts(bare) {
			ls = append(ls, lump{text: part, lower: strings.ToLower(part), start: start})
			start = false
		}
		if tail != "" && !(tail == "." && abbreviated(bare)) {
			finish(strings.ContainsAny(tail, ".:"))
		}
	}
	for i, r := range text {
		switch {
		case strings.ContainsRune("!?\n\r", r):
			flush(i)
			finish(true)
		case strings.ContainsRune("()[]{}\"“”„«»;|<>–—…`_", r):
			flush(i)
			finish(false)
		case unicode.IsSpace(r):
			flush(i)
		case from < 0:
			from = i
		}
	}
	flush(len(text))
	return ls
}

// abbreviated says whether the full stop behind a word belongs to it.
func abbreviated(word string) bool {
	low := strings.ToLower(word)
	return len(word) == 1 && !digits(word) || in(titles, low) || in(abbreviations, low) ||
		strings.Contains(low, ".") && len(low) <= 4 && !strings.ContainsAny(low, "0123456789")
}

// parts takes what a hyphen or slash joins apart, but for dates, codes and addresses.
func parts(s string) []string {
	switch {
	case strings.Contains(s, "@"), strings.Contains(s, "://"), strings.HasPrefix(strings.ToLower(s), "www."), dated(s):
		return []string{s}
	}
	head := ""
	if strings.HasPrefix(s, "-") {
		head, s = "-", s[1:]
	}
	ps := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '/' })
	letters := strings.ContainsFunc(s, unicode.IsLetter)
	for _, p := range ps {
		if letters && len(ps) > 1 && digits(p) && !measured(ps) {
			return []string{head + s} // a code, such as CL-204
		}
	}
	if len(ps) == 0 {
		return nil
	}
	ps[0] = head + ps[0]
	return ps
}

// measured says whether the parts are words and numbers: 3-year, 24-hour.
func measured(ps []string) bool {
	if !digits(ps[0]) {
		return false
	}
	for _, p := range ps[1:] {
		if p != strings.ToLower(p) {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// lowered are the words that stand in lower case in one of the answers: those are no
// names in the other.
func lowered(answers ...[]lump) map[string]bool {
	set := map[string]bool{}
	for _, ls := range answers {
		for _, l := range ls {
			if l.text == l.lower {
				set[stem(l.lower)] = true
			}
		}
	}
	return set
}

// stem takes the endings off a word in lower case, roughly: what is left need not be
// one.
func stem(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	long := func(s string) bool { return len([]rune(s)) >= 3 }
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if s := strings.TrimSuffix(w, ending); s != w && long(s) && !strings.HasSuffix(w, "ss") {
			w = s
			break
		}
	}
	if s := strings.TrimSuffix(w, "e"); long(s) {
		w = s
	}
	if s := strings.TrimSuffix(w, "y"); s != w && long(s) {
		w = s + "i"
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiousl", rune(w[n-1])) {
		w = w[:n-1]
	}
	return w
}
