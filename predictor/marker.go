package predictor

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// "1. ", "1)", "(1)", "[1]", "#1", "1:", "1、", "1 - ". A number with a
	// fraction, a time or an amount is none.
	numbered = regexp.MustCompile(`^(?:#\s?)?[(\[]?([0-9０-９]{1,3})(?:[.)\]:．）、](?:[)\]])?|\s+[-–—]\s)\s*`)
	// "1 Who", if a question follows
	spaced  = regexp.MustCompile(`^#?([0-9]{1,3})\s+`)
	circled = regexp.MustCompile(`^[①-⑳]\s*`)
	// "Q:", "Q1.", "Question 2:", "Question:"
	named = regexp.MustCompile(`^(?i:q|question|questions|frage|pregunta)(?:\s*[#.]?\s*([0-9]{1,3})\s*[:.)–—-]?|\s*[:：])\s*`)
	// "a)", "(b)"
	lettered = regexp.MustCompile(`^(?:\([a-z]\)|[a-zA-Z]\))\s+`)
	// "IV. Who", if a question follows: it may be an initial
	roman  = regexp.MustCompile(`^[IVX]{1,4}[.)]\s+`)
	box    = regexp.MustCompile(`^\[[ xX]?\]\s*`)
	bullet = regexp.MustCompile(`^(?:[*•·▪▫‣◦●○■□►▶→◆◇★☆✓✔❓➤⁃∙+>#]+|[-–—]+)\s*`)
	// Keys of JSON before what stands under them.
	json = regexp.MustCompile(`^[\[{\s]*(?:"[\w ]{1,30}"\s*:\s*)?[\[{]*\s*`)
)

// unmark takes what makes it a member of a list off the head of a piece. Number
// is the last that stood there, 0 if none did.
func unmark(s string) (rest string, number int, marked bool) {
	for {
		s = unsymbol(s)
		if n, cut, ok := leadingNumber(unquoted(s)); ok {
			cut += len(s) - len(unquoted(s))
			s, number, marked = s[cut:], n, true
			continue
		}
		cut := 0
		for _, re := range []*regexp.Regexp{circled, lettered, box, bullet} {
			if at := re.FindStringIndex(s); at != nil && at[1] > 0 {
				cut = at[1]
				break
			}
		}
		if at := roman.FindStringIndex(s); at != nil && questioning(s[at[1]:]) {
			cut = at[1]
		}
		if cut > 0 && strings.IndexByte("-–—+", s[0]) >= 0 && startsDigit(s[cut:]) && s[cut-1] != ' ' {
			cut = 0 // a sign
		}
		if cut == 0 && len(s) > 0 && strings.IndexByte("[{", s[0]) >= 0 {
			if at := json.FindStringIndex(s); at != nil && strings.Contains(s[:at[1]]+s[at[1]:min(len(s), at[1]+1)], `"`) {
				cut = at[1]
			}
		}
		if cut == 0 {
			return s, number, marked
		}
		s, marked = s[cut:], true
	}
}

// unsymbol takes pictures off the head of a piece.
func unsymbol(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return r == ' ' || unicode.Is(unicode.So, r) && !(r >= '①' && r <= '⑳') || unicode.Is(unicode.Variation_Selector, r)
	})
}

// unquoted is what stands behind a quotation mark: "'1. ...?; 2. ...?'".
func unquoted(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size > 0 && strings.ContainsRune(`"'“‘«`, r) {
		return s[size:]
	}
	return s
}

// leadingNumber finds a number that marks a member of a list at the head of s,
// and where the text behind it begins.
func leadingNumber(s string) (n, cut int, ok bool) {
	if m := named.FindStringSubmatchIndex(s); m != nil {
		if m[2] >= 0 {
			n, _ = strconv.Atoi(s[m[2]:m[3]])
		}
		// "Question 2:" but not "Question 2nd"
		if next, _ := utf8.DecodeRuneInString(s[m[1]:]); m[1] == len(s) || !isWordRune(rune(s[m[1]-1])) || !isWordRune(next) {
			return n, m[1], true
		}
		return 0, 0, false
	}
	m := numbered.FindStringSubmatchIndex(s)
	if m == nil {
		if m = spaced.FindStringSubmatchIndex(s); m == nil || !questioning(s[m[1]:]) {
			return 0, 0, false
		}
	}
	n, _ = strconv.Atoi(narrow(s[m[2]:m[3]]))
	if startsDigit(s[m[1]:]) && s[m[1]-1] != ' ' { // 1.5 or 9:30
		return 0, 0, false
	}
	return n, m[1], true
}

func startsDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

// narrow writes wide digits as plain ones.
func narrow(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '０' && r <= '９' {
			return r - '０' + '0'
		}
		return r
	}, s)
}

const (
	openers = `"'“„«‘‚「『(（[{<*_`
	closers = `"'”“»’」』)）]}>*_`
)

// unquote takes opening marks off a question that nothing within it closes.
func unquote(s string) string {
	for {
		s = strings.TrimLeft(s, " ")
		r, size := utf8.DecodeRuneInString(s)
		if size == 0 || !strings.ContainsRune(openers, r) || closed(r, s[size:]) {
			return s
		}
		s = s[size:]
	}
}

// closed says whether what an opening mark opened ends before the question
// does.
func closed(open rune, rest string) bool {
	closing := string(open)
	switch open {
	case '“', '„':
		closing = "”“"
	case '«':
		closing = "»"
	case '‘', '‚':
		closing = "’‘"
	case '「':
		closing = "」"
	case '『':
		closing = "』"
	case '(', '（':
		closing = ")）"
	case '[':
		closing = "]"
	case '{':
		closing = "}"
	case '<':
		closing = ">"
	}
	for i, r := range rest {
		if !strings.ContainsRune(closing, r) || i == 0 {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, size := utf8.DecodeRuneInString(rest[i+utf8.RuneLen(r):])
		if before != ' ' && size > 0 && (!isWordRune(after) || unicode.Is(unicode.Lo, after)) && strings.ContainsFunc(rest[i:], isWordRune) {
			return true
		}
	}
	return false
}
