package predictor

import (
	"crypto/sha256"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/internal/base/kv"
)

var (
	// A model's thoughts are not part of the list; they may be cut off.
	thinking = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	// Control tokens printed as text. After a token that ends a turn the model starts
	// another one by itself.
	turnEnd = regexp.MustCompile(`(?i)<\|(?:im_end|im_start|endoftext|eot_id|end|end_of_text|start_header_id)\|>|</s>|<(?:end|start)_of_turn>|<eos>`)
	control = regexp.MustCompile(`(?i)<\|[\w-]{1,30}\|>|</?s>|<[be]os>|<unk>|<pad>|\[/?INST\]`)
	// The role after the start of a turn.
	role = regexp.MustCompile(`(?i)^\s*(?:assistant|user|system|model)?\s*\n`)
	tag  = regexp.MustCompile(`(?i)</?(?:ol|ul|li|p|br|b|i|em|strong|div|h[1-6]|question|questions|q)(?:\s[^<>]*)?/?>`)
)

// cleanText turns the model's output into plain lines, without control characters,
// control tokens, Markdown or HTML.
func cleanText(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(plainRune, strings.ReplaceAll(text, "\r\n", "\n"))
	text = thinking.ReplaceAllString(text, "\n")
	for {
		at := turnEnd.FindStringIndex(text)
		if at == nil {
			break
		}
		if strings.ContainsFunc(text[:at[0]], isWordRune) {
			text = text[:at[0]]
			break
		}
		text = role.ReplaceAllString(text[at[1]:], "")
	}
	text = control.ReplaceAllString(text, "\n")
	text = tag.ReplaceAllString(text, "\n")
	text = strings.NewReplacer("**", "", "__", "", "`", "").Replace(stripFence(text))
	return text
}

// stripFence removes the lines that open and close code blocks, and turns table rows into
// lines of their cells.
func stripFence(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "```"), strings.HasPrefix(l, "~~~"):
			lines[i] = ""
		case strings.HasPrefix(l, "|"):
			lines[i] = strings.ReplaceAll(l, "|", "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// plainRune unifies spaces and line ends and drops invisible characters.
func plainRune(r rune) rune {
	switch {
	case r == '\n', r == '\r', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case r == unicode.ReplacementChar, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

var (
	// "1. ", "1)", "(1)", "[1]", "#1", "1:", "1、", "1 - ". Fractions, times and amounts
	// do not match.
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
	// JSON keys before their value.
	json = regexp.MustCompile(`^[\[{\s]*(?:"[\w ]{1,30}"\s*:\s*)?[\[{]*\s*`)
)

// stripMarker removes list markers from the start of a piece. number is the last number
// among them, or 0.
func stripMarker(s string) (rest string, number int, marked bool) {
	for {
		s = stripSymbol(s)
		if n, cut, ok := leadingNumber(stripQuotes(s)); ok {
			cut += len(s) - len(stripQuotes(s))
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
		if at := roman.FindStringIndex(s); at != nil && isInterrogative(s[at[1]:]) {
			cut = at[1]
		}
		if cut > 0 && strings.IndexByte("-–—+", s[0]) >= 0 && startsDigit(s[cut:]) && s[cut-1] != ' ' {
			cut = 0 // a minus sign
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

// stripSymbol removes pictures from the start of a piece.
func stripSymbol(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return r == ' ' || unicode.Is(unicode.So, r) && !(r >= '①' && r <= '⑳') || unicode.Is(unicode.Variation_Selector, r)
	})
}

// stripQuotes returns the text after an opening quotation mark: "'1. ...?; 2. ...?'".
func stripQuotes(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size > 0 && strings.ContainsRune(`"'“‘«`, r) {
		return s[size:]
	}
	return s
}

// leadingNumber finds a list number at the start of s and where the text after it begins.
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
		if m = spaced.FindStringSubmatchIndex(s); m == nil || !isInterrogative(s[m[1]:]) {
			return 0, 0, false
		}
	}
	n, _ = strconv.Atoi(asciiWidth(s[m[2]:m[3]]))
	if startsDigit(s[m[1]:]) && s[m[1]-1] != ' ' { // 1.5 or 9:30
		return 0, 0, false
	}
	return n, m[1], true
}

func startsDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

// asciiWidth converts wide digits to ASCII.
func asciiWidth(s string) string {
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

// unquote removes opening marks that nothing in the question closes.
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

// closed reports whether the question closes an opening mark before its end.
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

var (
	// Words that begin a question by themselves.
	interrogatives = strings.Fields(`who whom whose what when where which why how
		wer wen wem wessen was wann wo warum wieso weshalb welche welcher welches wie wieviel
		qui que quoi quand où pourquoi comment combien quel quelle quels quelles
		quién qué cuándo dónde cuál cómo cuánto cuánta chi cosa quando dove perché quale quanto`)
	// Words that may precede one: "In which room", "And when".
	leads = strings.Fields(`and or but so in on at by for from to with since until till of about under near`)
	// Words that begin a question before its subject.
	auxiliaries = strings.Fields(`is are was were am do does did have has had can could will would should shall may might must
		isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't`)
	subjects = strings.Fields(`the a an my our your his her its their i you he she it we they there this that these those any anyone anybody everyone someone`)
	// Introductions of a list, which are not part of a question.
	intros = strings.Fields(`sure certainly absolutely okay ok yes great alright`)
)

// chatter lists what models ask or tell the user about their own output.
var chatter = []string{
	"would you like", "do you want me", "do you need", "shall i", "should i ", "is there anything else", "anything else", "can i help",
	"can i assist", "how can i help", "how may i help", "how can i assist", "how may i assist", "may i help", "what would you like",
	"does this help", "does that help", "is this what you", "are these questions", "are these helpful", "are you looking for", "do these questions",
	"let me know", "feel free", "i hope", "please let me know", "i can help", "i'm sorry", "i am sorry", "as an ai", "here are", "these are",
}

// isInterrogative reports whether a sentence begins like a question.
func isInterrogative(s string) bool {
	s = s[:min(len(s), 64)] // the first two words decide
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(s, "’", "'")))
	if len(words) < 2 {
		return false
	}
	first := bareWord(words[0])
	short, _, _ := strings.Cut(first, "'") // what's
	second := bareWord(words[1])
	switch {
	case slices.Contains(interrogatives, short), slices.Contains(interrogatives, first):
		return true
	case slices.Contains(leads, first):
		return slices.Contains(interrogatives, second)
	}
	// "Have a look" is a request.
	return slices.Contains(auxiliaries, first) && slices.Contains(subjects, second) && !(first == "have" && len(second) < 4 && strings.Contains("a an the", second))
}

func bareWord(w string) string {
	return strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
}

// isSmallTalk reports whether the model addresses the user with the question.
func isSmallTalk(q string) bool {
	q = strings.ToLower(strings.ReplaceAll(q, "’", "'"))
	return slices.ContainsFunc(chatter, func(c string) bool { return strings.HasPrefix(q, c) })
}

// stripIntroduction removes an introduction from a piece: "Sure! Here is one: ...".
func stripIntroduction(s string) string {
	low := strings.ToLower(s)
	first := low
	if at := strings.IndexFunc(low, func(r rune) bool { return !unicode.IsLetter(r) }); at >= 0 {
		first = low[:at]
	}
	intro := slices.Contains(intros, first)
	here := strings.HasPrefix(low, "here ") || strings.HasPrefix(low, "here's ") || strings.HasPrefix(low, "here’s ")
	if !intro && !here {
		return s
	}
	if at := strings.Index(s, ": "); at >= 0 && at < 120 && !strings.ContainsAny(s[:at], questionMarks) {
		return s[at+2:]
	}
	if intro && len(first) < len(s) && strings.ContainsRune("!,.:", rune(s[len(first)])) {
		return stripIntroduction(strings.TrimLeft(s[len(first)+1:], " !.,:"))
	}
	return s
}

// placeholders are the slots of the prompts.
var placeholders = []string{"{kind}", "{count}", "{abstract}", "{history}", "{text}"}

// hasPlaceholder reports whether a question was copied from the prompt, whose examples
// contain XXX.
func hasPlaceholder(q string) bool {
	for w := range strings.FieldsFuncSeq(q, func(r rune) bool { return !isWordRune(r) }) {
		if len(w) > 1 && strings.Trim(w, "X") == "" {
			return true
		}
	}
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(q, p) })
}

// NewID is the ID of the prediction of this question in this space, whether or not it
// exists.
func NewID(space, question string) [16]byte { return newID(kv.NewSpaceID(space), question) }

func newID(space kv.SpaceID, question string) [16]byte {
	h := sha256.New()
	h.Write([]byte("prediction\x00"))
	h.Write(space[:])
	h.Write([]byte("\x00" + normalise(question)))
	return [16]byte(h.Sum(nil)[:16])
}

// normalise makes repeats of a question equal. IDs depend on it: changing it needs a new
// format version.
func normalise(question string) string {
	s := norm.NFC.String(strings.ToLower(strings.ToValidUTF8(question, "")))
	s = strings.Join(strings.Fields(s), " ")
	if bare := strings.TrimFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) }); bare != "" {
		return bare
	}
	return s
}
