package measure

import (
	"slices"
	"strings"
	"unicode"
)

// token is a piece of an answer: a word, a number, an address.
type token struct {
	text  string // without the punctuation around it
	lower string
	start bool // a sentence may begin here
	end   bool // punctuation separates it from the next
}

// splitWords splits an answer at spaces, brackets and quotation marks.
func splitWords(text string) []token {
	var ls []token
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
		for _, part := range splitJoined(bare) {
			ls = append(ls, token{text: part, lower: strings.ToLower(part), start: start})
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

// abbreviated says whether the full stop after a word belongs to it.
func abbreviated(word string) bool {
	low := strings.ToLower(word)
	return len(word) == 1 && !digits(word) || in(titles, low) || in(abbreviations, low) ||
		strings.Contains(low, ".") && len(low) <= 4 && !strings.ContainsAny(low, "0123456789")
}

// splitJoined splits at hyphens and slashes, but not in dates, codes and addresses.
func splitJoined(s string) []string {
	switch {
	case strings.Contains(s, "@"), strings.Contains(s, "://"), strings.HasPrefix(strings.ToLower(s), "www."), isDate(s):
		return []string{s}
	}
	head := ""
	if strings.HasPrefix(s, "-") {
		head, s = "-", s[1:]
	}
	ps := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '/' })
	letters := strings.ContainsFunc(s, unicode.IsLetter)
	for _, p := range ps {
		if letters && len(ps) > 1 && digits(p) && !numberAndWords(ps) {
			return []string{head + s} // a code, such as CL-204
		}
	}
	if len(ps) == 0 {
		return nil
	}
	ps[0] = head + ps[0]
	return ps
}

// numberAndWords says whether the parts are a number and words: 3-year, 24-hour.
func numberAndWords(ps []string) bool {
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

// lowercaseWords are the words that one of the answers has in lower case. They are not
// names in the other.
func lowercaseWords(answers ...[]token) map[string]bool {
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

// stem removes the endings of a lower-case word, roughly. The result need not be a word.
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

var (
	ones      = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens      = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
	firsts    = strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth")
	tenths    = strings.Fields("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth")
	weekdays  = strings.Fields("monday tuesday wednesday thursday friday saturday sunday")
	months    = strings.Fields("january february march april may june july august september october november december")
	noons     = strings.Fields("noon midday midnight")
	relatives = strings.Fields("today tomorrow yesterday tonight")
	scales    = map[string]float64{"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}
	units     = map[string]string{
		"$": "$", "dollar": "$", "dollars": "$", "usd": "$", "€": "€", "euro": "€", "euros": "€", "eur": "€",
		"£": "£", "pound": "£", "pounds": "£", "gbp": "£", "%": "%", "percent": "%", "per": "%",
	}
	// joined are units directly after digits; other letters there make a code.
	joined = strings.Fields("km m cm mm kg g mg lb lbs h hr hrs min mins s sec ms kb mb gb tb kw mw kwh mwh px ft mph kph")

	titles        = strings.Fields("mr mrs ms dr prof sir miss professor doctor")
	abbreviations = strings.Fields("no nos vs approx ca jr sr st inc ltd co corp dept tel ext fig e.g i.e")

	// idle are words after no and not that do not negate.
	idle      = strings.Fields("only problem doubt worries wonder")
	negations = strings.Fields("no not never none nothing nobody nowhere neither nor without cannot nay nope")

	// function are words with little meaning of their own.
	function = strings.Fields(`a an the this that these those i me my mine we us our ours you your yours he him his she her hers it its they them
		their theirs who whom whose which what when where why how there here am is are was were be been being do does did done
		doing has have had having will would shall should can could may might must ok okay and or but so if then than as
		because since for of to in on at by with from into onto about over under between through during against within up
		down out off also too very just only both all any some such own same other each every more most less few fewer many much
		please according based per let let's well re while until till around via upon among though although however not`)

	// opposites are in pairs.
	opposites = strings.Fields(`before after more less more fewer increase decrease rise fall rising falling higher lower high low early late
		earlier later accept decline accept reject approve reject approve deny approved denied agree refuse open closed open close up
		down buy sell bought sold sent received send receive first last win lose won lost start end begin end above below over under
		include exclude inside outside cheaper dearer maximum minimum most least true false pass fail arrive leave paid unpaid possible
		impossible able unable add remove join leave confirmed cancelled accepted declined left right next last this next`)

	// refusals are the texts of answers that refuse.
	refusals = strings.Split(`i don't know|i do not know|don't say|do not say|does not say|doesn't say|not mentioned|not specified|not stated|not given|`+
		`not provided|no information|no mention|no answer|not enough information|cannot be determined|can't be determined|cannot answer|`+
		`can't answer|unable to answer|unable to determine|unanswerable|not available in|do not contain|does not contain|don't mention|`+
		`do not mention|does not mention|doesn't mention|no relevant|unknown`, "|")
)

func in(list []string, w string) bool { return slices.Contains(list, w) }
