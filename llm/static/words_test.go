package static

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

func wordsOf(text string) []string {
	var out []string
	words(text, func(w []byte) bool {
		out = append(out, string(w))
		return true
	})
	return out
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"space of all sorts", " \t\r\n\v\f\x1c\x1f\u00a0\u0085\u1680\u2003\u2028\u3000", nil},
		{"sentence", "When does the train leave?", []string{"when", "does", "the", "train", "leave", "?"}},
		{"number", "order x4471: 3.5", []string{"order", "x4471", ":", "3", ".", "5"}},
		{"email", "Anna.Meyer+x@example.com", []string{"anna", ".", "meyer", "+", "x", "@", "example", ".", "com"}},
		{"apostrophe", "don't", []string{"don", "'", "t"}},
		{"accents", "Zürich ZÜRICH Zu\u0308rich café", []string{"zurich", "zurich", "zurich", "cafe"}},
		{"letters that stay", "Straße ŁÓDŹ Æon", []string{"straße", "łodz", "æon"}},
		{"capital sharp s", "STRAẞE", []string{"straße"}},
		{"turkish", "İstanbul ISPARTA ılık", []string{"istanbul", "isparta", "ılık"}},
		{"greek", "ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ", []string{"σισυφοσ", "οδυσσευσ"}},
		{"russian", "Привет, мир", []string{"привет", ",", "мир"}},
		{"spacing accents", "a´b¨c", []string{"a", "b", "c"}},
		{"compatibility", "ﬁle ½ x² ① Ⅷ ﬀ™ Ｆｕｌｌ", []string{"file", "1", "⁄", "2", "x2", "1", "viii", "fftm", "full"}},
		{"ideographs", "會議在星期二 9時", []string{"會", "議", "在", "星", "期", "二", "9", "時"}},
		{"ideographs in a word", "ab漢cd𠀀e", []string{"ab", "漢", "cd", "𠀀", "e"}},
		{"kana", "がんバレー ﾊﾟ々", []string{"か", "ん", "ハ", "レ", "ー", "ハ", "々"}},
		{"hangul", "회의는 a가b", []string{"회", "의", "는", "a", "가", "b"}},
		{"hangul in parts", norm.NFD.String("회의각"), []string{"회", "의", "각"}},
		{"hangul half in parts", "가\u11a8각\u11a8", []string{"각", "각", "\u11a8"}},
		{"hangul that is none", "\u1100\u1100\u1161x\u1112 ㄱ", []string{"\u1100", "가", "x\u1112", "\u1100"}},
		{"bopomofo, thai", "ㄅㄆ ไทย", []string{"ㄅㄆ", "ไทย"}},
		{"emoji", "ok👍🏽! 👩\u200d💻 ❤\ufe0f", []string{"ok", "👍", "🏽", "!", "👩", "\u200d", "💻", "❤"}},
		{"invalid", "a\xff\xfeb\x00c", []string{"a", "\ufffd", "\ufffd", "b", "\x00", "c"}},
		{"cut letter", "za\xe2\x82", []string{"za", "\ufffd", "\ufffd"}},
		{"the mark", "▁the▁", []string{"▁", "the", "▁"}},
		{"control tokens are text", "<s>[SEP]", []string{"<", "s", ">", "[", "sep", "]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, wordsOf(c.text)); d != "" {
				t.Errorf("%q:\n%s", c.text, d)
			}
		})
	}
}

// Who has read enough is not given more.
func TestWordsStop(t *testing.T) {
	for _, text := range []string{"a b c", "a,b", "漢漢漢", "가가"} {
		n := 0
		words(text, func([]byte) bool { n++; return false })
		if n != 1 {
			t.Errorf("%q: %d words", text, n)
		}
	}
}

var (
	jamo   = regexp.MustCompile(`[\x{1100}-\x{1112}][\x{1161}-\x{1175}][\x{11a8}-\x{11c2}]?`)
	single = regexp.MustCompile(`[\x{3001}-\x{30ff}\x{31f0}-\x{31ff}\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{ac00}-\x{d7a3}` +
		`\x{f900}-\x{faff}\x{1aff0}-\x{1b16f}\x{20000}-\x{3ffff}]`)
)

// plainWords are words by the letter of FORMAT.md, step by step.
func plainWords(text string) []string {
	var s strings.Builder
	for _, r := range text { // what is invalid comes as U+FFFD, byte by byte
		for _, d := range norm.NFKD.String(string(r)) {
			if !unicode.Is(unicode.Mn, d) {
				s.WriteRune(d)
			}
		}
	}
	plain := strings.Map(unicode.ToLower, jamo.ReplaceAllStringFunc(s.String(), norm.NFC.String))
	var out []string
	run := false
	for _, r := range plain {
		letter := unicode.In(r, unicode.L, unicode.N) && !single.MatchString(string(r))
		switch {
		case letter && run:
			out[len(out)-1] += string(r)
		case letter, !unicode.IsSpace(r) && (r < 0x1c || r > 0x1f):
			out = append(out, string(r))
		}
		run = letter
	}
	return out
}

// Every character within a word, also those that no edition knows.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= 0x323ff; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		text := "a" + string(r) + "B"
		if got, want := wordsOf(text), plainWords(text); !slices.Equal(got, want) {
			t.Errorf("%U: got %q, want %q", r, got, want)
		}
	}
}
