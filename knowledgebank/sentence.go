package knowledgebank

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

const (
	closers  = "\"'”’»)]}*_」』】）》〉"
	openers  = "\"'“‘«([{*_「『【（《〈"
	ends     = ".!?…؟۔।" // with a space behind them
	wideEnds = "。！？｡"    // of scripts without spaces
)

// abbreviations do not end a sentence; months and days only if they begin with a
// capital.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "mx": true, "dr": true, "prof": true, "rev": true, "hon": true, "st": true, "sr": true, "jr": true,
	"gen": true, "col": true, "maj": true, "capt": true, "lt": true, "sgt": true, "cmdr": true, "gov": true, "sen": true, "rep": true, "pres": true,
	"messrs": true, "mme": true, "mlle": true, "hr": true, "sra": true, "srta": true, "vs": true, "cf": true, "viz": true, "approx": true, "ca": true,
	"est": true, "inc": true, "ltd": true, "corp": true, "co": true, "bros": true, "dept": true, "univ": true, "assn": true, "ave": true, "blvd": true,
	"bzw": true, "str": true, "vgl": true, "tel": true, "ext": true, "attn": true, "incl": true, "excl": true, "resp": true, "eg": true, "ie": true, "al": true,
	"Jan": true, "Feb": true, "Mar": true, "Apr": true, "Jun": true, "Jul": true, "Aug": true, "Sep": true, "Sept": true, "Oct": true, "Nov": true, "Dec": true,
	"Mon": true, "Tue": true, "Tues": true, "Wed": true, "Thu": true, "Thur": true, "Thurs": true, "Fri": true, "Sat": true, "Sun": true,
}

// numbered abbreviations do not end a sentence before a number.
var numbered = map[string]bool{
	"no": true, "nos": true, "nr": true, "p": true, "pp": true, "fig": true, "figs": true, "eq": true, "sec": true, "ch": true, "chap": true,
	"vol": true, "art": true, "par": true, "para": true, "app": true, "ver": true, "rm": true,
}

// sentences splits a line. In doubt it does not split: a chunk that begins in the
// middle of a sentence is worse than a long sentence.
func sentences(s string) []span {
	var out []span
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && c != '.' && c != '!' && c != '?' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		wide := strings.ContainsRune(wideEnds, r)
		if !wide && !strings.ContainsRune(ends, r) {
			i += size
			continue
		}
		end := i + size
		for end < len(s) { // the marks and brackets that belong to it
			r, size := utf8.DecodeRuneInString(s[end:])
			if !strings.ContainsRune(ends, r) && !strings.ContainsRune(wideEnds, r) && !strings.ContainsRune(closers, r) {
				break
			}
			wide = wide || strings.ContainsRune(wideEnds, r)
			end += size
		}
		next := end
		for next < len(s) && s[next] == ' ' {
			next++
		}
		if next < len(s) && (wide || next > end && endsSentence(s[start:i], r, s[i+size:end], s[next:])) {
			out = append(out, span{start, end})
			start = next
		}
		i = max(next, end)
	}
	if start < len(s) {
		out = append(out, span{start, len(s)})
	}
	return out
}

// endsSentence reports whether a mark with a space behind it ends the sentence that
// begins with before. more is the marks and brackets that follow the mark.
func endsSentence(before string, mark rune, more, next string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, openers))
	if unicode.IsLower(first) {
		return false
	}
	if mark != '.' || strings.ContainsAny(more, ends) {
		return true
	}
	at := strings.LastIndexByte(before, ' ') + 1
	word := strings.TrimLeft(before[at:], openers)
	switch {
	case word == "":
		return false
	case at == 0 && strings.Trim(word, "0123456789") == "": // "1. Buy milk"
		return false
	case utf8.RuneCountInString(word) == 1 && word != "I" && hasLetters(word): // initials
		return false
	case strings.Contains(word, ".") && dotted(word):
		return false
	case numbered[strings.ToLower(word)] && unicode.IsNumber(first):
		return false
	}
	return !abbreviations[word] && !abbreviations[strings.ToLower(word)]
}

// dotted: "U.S", "e.g", "p.m", "Ph.D".
func dotted(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(part) > 2 || !hasLetters(part) {
			return false
		}
	}
	return true
}

func hasLetters(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// complete reports whether a line ends with the end of a sentence.
func complete(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, closers))
	return strings.ContainsRune(ends, r) || strings.ContainsRune(wideEnds, r)
}

// isWide reports whether a character is written without spaces between words.
func isWide(r rune) bool {
	return r >= 0x3000 && (r <= 0x30ff || r >= 0xff00 && r <= 0xffef || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}

// size is the length of a text in half words: a wide character is one, a word two, a
// very long word more.
func size(s string) int {
	n, run := 0, 0
	word := func() {
		if run > 0 {
			n += 2 * (1 + (run-1)/24)
		}
		run = 0
	}
	for _, r := range s {
		switch {
		case r == ' ' || r == '\n':
			word()
		case isWide(r):
			word()
			n++
		default:
			run++
		}
	}
	word()
	return n
}
