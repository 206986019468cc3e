package static

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// words calls visit for each word of a text, in order, until it returns false. The word
// is only valid during the call. FORMAT.md has the rules.
func words(text string, visit func(word []byte) bool) {
	c := cutter{visit: visit, word: make([]byte, 0, 64)}
	for i := 0; i < len(text) && !c.over; {
		if b := text[i]; b < utf8.RuneSelf {
			i++
			c.release()
			c.ascii(b)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		// An invalid byte is the replacement character, which has no decomposition.
		d := norm.NFKD.PropertiesString(text[i : i+size]).Decomposition()
		i += size
		if d == nil {
			c.char(r)
			continue
		}
		for len(d) > 0 {
			r, size := utf8.DecodeRune(d)
			d = d[size:]
			c.char(r)
		}
	}
	c.release()
	c.end()
}

// cutter builds words from decomposed characters.
type cutter struct {
	visit func(word []byte) bool
	word  []byte // as far as read
	held  rune   // a part of a Hangul syllable that may continue; 0 = none
	over  bool   // visit returned false
}

// end ends the current word, if any.
func (c *cutter) end() {
	if len(c.word) > 0 && !c.over {
		c.over = !c.visit(c.word)
	}
	c.word = c.word[:0]
}

// char adds the next character of the decomposition.
func (c *cutter) char(r rune) {
	if r >= 0x300 && unicode.Is(unicode.Mn, r) || c.join(r) {
		return
	}
	c.release()
	c.put(unicode.ToLower(r))
}

// put adds a lower-case character.
func (c *cutter) put(r rune) {
	switch {
	case r < utf8.RuneSelf:
		c.ascii(byte(r))
	case alone(r):
		c.single(r)
	case unicode.IsLetter(r), unicode.IsNumber(r):
		c.word = utf8.AppendRune(c.word, r)
	case unicode.IsSpace(r):
		c.end()
	default:
		c.single(r)
	}
}

// ascii is a fast path of put for ASCII, in any case.
func (c *cutter) ascii(b byte) {
	switch {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		c.word = append(c.word, b)
	case 'A' <= b && b <= 'Z':
		c.word = append(c.word, b+'a'-'A')
	case b == ' ', '\t' <= b && b <= '\r', 0x1c <= b && b <= 0x1f:
		c.end()
	default:
		c.single(rune(b))
	}
}

// single adds a character that is a word.
func (c *cutter) single(r rune) {
	c.end()
	c.word = utf8.AppendRune(c.word, r)
	c.end()
}

// alone reports whether a letter is a word by itself: kana, ideographs and Hangul
// syllables, by their blocks.
func alone(r rune) bool {
	switch {
	case r < 0x3001:
		return false
	case r <= 0x30ff, 0x31f0 <= r && r <= 0x31ff, 0x3400 <= r && r <= 0x4dbf, 0x4e00 <= r && r <= 0x9fff,
		syllable(r), 0xf900 <= r && r <= 0xfaff, 0x1aff0 <= r && r <= 0x1b16f, 0x20000 <= r && r <= 0x3ffff:
		return true
	}
	return false
}

// Hangul in Unicode: a syllable is a leading consonant, a vowel, and one of 27 trailing
// consonants or none.
const (
	hangulFirst, hangulLast   = 0xac00, 0xd7a3
	leadFirst, leadLast       = 0x1100, 0x1112
	vowelFirst, vowelLast     = 0x1161, 0x1175
	trailFirst, trailLast     = 0x11a8, 0x11c2
	hangulVowels, hangulTails = 21, 28
)

func syllable(r rune) bool { return hangulFirst <= r && r <= hangulLast }

// join composes the parts of a syllable, as some programs and all macOS file names
// contain them. It reports whether it used r.
func (c *cutter) join(r rune) bool {
	switch {
	case leadFirst <= r && r <= leadLast, syllable(r) && (r-hangulFirst)%hangulTails == 0:
		c.release()
		c.held = r
	case vowelFirst <= r && r <= vowelLast && leadFirst <= c.held && c.held <= leadLast:
		c.held = hangulFirst + ((c.held-leadFirst)*hangulVowels+(r-vowelFirst))*hangulTails
	case trailFirst <= r && r <= trailLast && syllable(c.held):
		c.held += r - trailFirst + 1
		c.release()
	default:
		return false
	}
	return true
}

// release adds what join held.
func (c *cutter) release() {
	if r := c.held; r != 0 {
		c.held = 0
		c.put(r)
	}
}
