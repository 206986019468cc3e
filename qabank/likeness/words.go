package likeness

import (
	"strings"
	"unicode"
)

// word is a word of a question.
type word struct {
	text   string  // in lower case
	weight float64 // how much it says: short words say little, names and numbers most
	number bool
	name   bool // capitalised inside the sentence
	kind   kind // of the words that decide what is asked
}

// kind is what a word decides about a question.
type kind uint8

const (
	plain    kind = iota
	negation      // not, never, kein
	asking        // who, when, wie
	dated         // a month or a weekday
)

// maxWords bounds the time of a comparison, which grows with the square of the words.
const maxWords = 200

// split returns the first words of a text. A Chinese character is a word.
func split(text string) []word {
	var words []word
	var b strings.Builder
	first := true
	end := func() {
		if b.Len() == 0 {
			return
		}
		for _, part := range contraction(b.String()) {
			words = append(words, newWord(part, first))
			first = false
		}
		b.Reset()
	}
	runes := []rune(text)
	for i, r := range runes {
		if len(words) > maxWords {
			return words
		}
		switch {
		case unicode.Is(unicode.Han, r):
			end()
			words = append(words, newWord(string(r), true))
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			b.WriteRune(r)
		case (r == '\'' || r == '’') && b.Len() > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i+1]):
			b.WriteRune('\'')
		case (r == '.' || r == ',' || r == ':' || r == '-') && b.Len() > 0 && unicode.IsNumber(runes[i-1]) && i+1 < len(runes) && unicode.IsNumber(runes[i+1]):
			b.WriteRune(r)
		default:
			end()
		}
	}
	end()
	return words
}

// contraction splits when's and doesn't into their words.
func contraction(w string) []string {
	low := strings.ToLower(w)
	if n, ok := strings.CutSuffix(low, "n't"); ok {
		switch n {
		case "":
			return []string{"not"}
		case "wo":
			return []string{"will", "not"}
		case "ca":
			return []string{"can", "not"}
		case "sha":
			return []string{"shall", "not"}
		}
		return []string{w[:len(n)], "not"}
	}
	if low == "cannot" {
		return []string{"can", "not"}
	}
	for _, c := range [][2]string{{"'s", "is"}, {"'re", "are"}, {"'m", "am"}, {"'ll", "will"}, {"'ve", "have"}, {"'d", "would"}} {
		if n, ok := strings.CutSuffix(low, c[0]); ok && n != "" {
			if c[0] == "'s" && lexicon()[n] != asking && n != "it" && n != "that" && n != "there" && n != "let" {
				return []string{w[:len(n)]} // a genitive
			}
			return []string{w[:len(n)], c[1]}
		}
	}
	if plain := strings.ReplaceAll(w, "'", ""); plain != "" {
		return []string{plain}
	}
	return nil
}

func newWord(raw string, first bool) word {
	w := word{text: strings.ToLower(raw), kind: lexicon()[strings.ToLower(raw)]}
	letters := len([]rune(raw))
	w.number = strings.ContainsFunc(raw, unicode.IsNumber)
	w.name = !first && raw != "I" && unicode.IsUpper([]rune(raw)[0]) && w.kind == plain
	switch {
	case w.number || w.name || w.kind == dated || unicode.Is(unicode.Han, []rune(raw)[0]):
		w.weight = 1
	case w.kind != plain || letters <= 3:
		w.weight = 0
	case letters == 4:
		w.weight = 0.5
	default:
		w.weight = 1
	}
	return w
}
