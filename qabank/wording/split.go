package wording

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// token is a word, number or sign as it was written.
type token struct {
	raw   string // in small letters
	name  bool   // written large where only names are
	comma bool   // a comma or the like stands before it
	used  string // the name of what it was made from, where it is no word as written
}

// maxTokens is where reading ends: what is behind is another difference.
const maxTokens = 200

// split cuts a question into tokens; more says that there was too much.
func split(text string) (out []token, more bool) {
	text = norm.NFC.String(strings.ToValidUTF8(text, ""))
	r := []rune(strings.Map(straight, text))
	comma := false
	for i := 0; i < len(r); {
		end := i + 1
		switch c := r[i]; {
		case letter(c) || unicode.IsNumber(c) || sign(r, i) || dotted(r, i):
			for end < len(r) && (letter(r[end]) || unicode.IsNumber(r[end]) || joins(r, end)) {
				end++
			}
			for end < len(r) && (r[end] == '+' || r[end] == '#') {
				end++
			}
		case c == '%' || c == '&' || c == '#' || unicode.In(c, unicode.Sc, unicode.Sm, unicode.So):
		default:
			comma = comma || strings.ContainsRune(",;:.!?()", c) && !abbreviates(out, r, i)
			i++
			continue
		}
		if len(out) == maxTokens {
			return out, true
		}
		w := string(r[i:end])
		first, _, _ := strings.Cut(w, "'")
		large := unicode.IsUpper(r[i]) && len(out) > 0 && (len([]rune(first)) > 1 || first != "I")
		out = append(out, token{raw: strings.ToLower(w), name: large, comma: comma})
		i, comma = end, false
	}
	return withoutShouting(out, r), false
}

// withoutShouting takes no word for a name where large letters say nothing:
// where all are large, or nearly every word begins with one.
func withoutShouting(out []token, r []rune) []token {
	large, words := 0, 0
	for _, t := range out {
		if len(t.raw) > 2 {
			words++
			if t.name {
				large++
			}
		}
	}
	lower := false
	for _, c := range r {
		lower = lower || unicode.IsLower(c)
	}
	if !lower || words > 3 && large >= words-1 {
		for i := range out {
			out[i].name = false
		}
	}
	return out
}

func letter(c rune) bool { return unicode.IsLetter(c) || unicode.IsMark(c) }

func straight(c rune) rune {
	switch {
	case strings.ContainsRune("‘’‛′`´ʼ", c):
		return '\''
	case c == '−' || unicode.Is(unicode.Pd, c):
		return '-'
	case unicode.Is(unicode.Cf, c):
		return -1
	}
	return c
}

func digit(r []rune, i int) bool { return i >= 0 && i < len(r) && unicode.IsDigit(r[i]) }

// sign says whether a minus stands here: right before a number, behind nothing.
func sign(r []rune, i int) bool {
	return r[i] == '-' && digit(r, i+1) && (i == 0 || unicode.IsSpace(r[i-1]) || r[i-1] == '(')
}

// dotted says whether a number or name begins with its point: .5, .net.
func dotted(r []rune, i int) bool {
	return r[i] == '.' && i+1 < len(r) && (unicode.IsLetter(r[i+1]) || digit(r, i+1)) && (i == 0 || unicode.IsSpace(r[i-1]))
}

// abbreviates says whether a point ends a title or an initial before a name, and no sentence:
// Dr. Berg, Phillip K. Allen.
func abbreviates(out []token, r []rune, i int) bool {
	if r[i] != '.' || len(out) == 0 || i+2 >= len(r) || r[i+1] != ' ' || !unicode.IsLetter(r[i+2]) {
		return false
	}
	switch w := out[len(out)-1]; w.raw {
	case "mr", "mrs", "ms", "dr", "prof", "st", "rev", "capt", "lt", "sgt":
		return true
	default:
		initial := len(out) > 1 && i > 1 && unicode.IsUpper(r[i-1]) && r[i-2] == ' '
		return initial && out[len(out)-2].name && unicode.IsUpper(r[i+2])
	}
}

// joins says whether a mark between two characters is part of the word.
func joins(r []rune, i int) bool {
	if i == 0 || i+1 >= len(r) {
		return false
	}
	a, b := r[i-1], r[i+1]
	digits := unicode.IsDigit(a) && unicode.IsDigit(b)
	both := (letter(a) || unicode.IsDigit(a)) && (letter(b) || unicode.IsDigit(b))
	switch r[i] {
	case '.', '@', '_', '\'':
		return both
	case ',', ':', '/', '-':
		return digits
	}
	return false
}

// expand takes contractions apart.
func expand(in []token) []token {
	var out []token
	for i, t := range in {
		if full, ok := bare[t.raw]; ok {
			out = appendWords(out, t, full)
			continue
		}
		head, tail, ok := cutContraction(t.raw)
		if !ok {
			t.raw = strings.TrimSuffix(t.raw, "'")
			out = append(out, t)
			continue
		}
		if tail == "'s" {
			if clitic[head] || followedByForm(in, i) {
				tail = "is"
			}
			out = append(out, token{raw: head, name: t.name, comma: t.comma, used: t.used}, token{raw: tail})
			continue
		}
		out = append(out, token{raw: head, name: t.name, comma: t.comma})
		out = appendWords(out, token{}, tail)
	}
	return out
}

// bare are contractions written without their mark, and those that are no sum
// of their parts.
var bare = map[string]string{
	"whats": "what is", "wheres": "where is", "whos": "who is", "whens": "when is", "hows": "how is",
	"dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not", "arent": "are not", "wasnt": "was not",
	"cant": "can not", "couldnt": "could not", "shouldnt": "should not", "havent": "have not", "hasnt": "has not",
	"cannot": "can not", "can't": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
	"i'm": "i am", "im": "i am", "ive": "i have", "i'd": "i would", "let's": "let us", "o'clock": "o'clock",
	"gonna": "going to", "wanna": "want to", "gotta": "have to", "&": "and",
}

// clitic are words behind which 's is "is", never a mark of possession.
var clitic = map[string]bool{
	"what": true, "who": true, "when": true, "where": true, "how": true, "why": true, "which": true,
	"that": true, "it": true, "he": true, "she": true, "there": true, "here": true, "this": true, "everything": true, "something": true,
}

// followedByForm: in "Ana's coming" the mark is a verb.
func followedByForm(in []token, i int) bool {
	if i+1 >= len(in) || in[i+1].name {
		return false
	}
	_, f := english().lemma(in[i+1].raw)
	return i > 0 && f == ing && i+2 >= len(in)
}

func cutContraction(w string) (head, tail string, ok bool) {
	for end, full := range map[string]string{"n't": "not", "'s": "'s", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'m": "am"} {
		if head, ok := strings.CutSuffix(w, end); ok && head != "" {
			return head, full, true
		}
	}
	return w, "", false
}

func appendWords(out []token, like token, text string) []token {
	for i, w := range strings.Fields(text) {
		out = append(out, token{raw: w, comma: like.comma && i == 0})
	}
	return out
}
