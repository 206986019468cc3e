package llmtest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached"
)

// The fake's vocabulary: control tokens, then one token per byte, then words by
// their hash. Plain text yields bytes and words alone.
const (
	tokenBegin int32 = iota
	tokenEnd
	tokenStart
	tokenStop
	firstByte  int32 = 8
	firstWord        = firstByte + 256
	vocabulary       = 1 << 14
)

// controls are what Special text may spell.
var controls = []struct {
	text string
	id   int32
}{{"<s>", tokenBegin}, {"</s>", tokenEnd}, {"<|im_start|>", tokenStart}, {"<|im_end|>", tokenStop}}

var chat = percached.ChatFormat{
	Name:     "chatml",
	System:   "<|im_start|>system\n",
	Question: "<|im_end|>\n<|im_start|>user\n",
	Answer:   "<|im_end|>\n<|im_start|>assistant\n",
	Lone:     "<|im_start|>user\n",
}

// tokenize gives each segment's tokens, those that are set as they are.
func tokenize(segments []percached.Segment, begin bool) [][]int32 {
	out := make([][]int32, len(segments))
	for i, s := range segments {
		ids := []int32{}
		if s.Tokens != nil {
			out[i] = append(ids, s.Tokens...)
			continue
		}
		if i == 0 && begin {
			ids = append(ids, tokenBegin)
		}
		for _, t := range s.Texts {
			if t.Special {
				ids = special(ids, t.Text)
			} else {
				ids = plain(ids, t.Text)
			}
		}
		out[i] = ids
	}
	return out
}

func special(ids []int32, text string) []int32 {
	for text != "" {
		at, n, id := len(text), 0, int32(0)
		for _, c := range controls {
			if i := strings.Index(text, c.text); i >= 0 && i < at {
				at, n, id = i, len(c.text), c.id
			}
		}
		ids = plain(ids, text[:at])
		if n > 0 {
			ids = append(ids, id)
		}
		text = text[at+n:]
	}
	return ids
}

func plain(ids []int32, text string) []int32 {
	for text != "" {
		n := word(text)
		if n == 0 {
			ids = append(ids, firstByte+int32(text[0]))
			text = text[1:]
			continue
		}
		ids = append(ids, wordToken(text[:n]))
		text = text[n:]
	}
	return ids
}

func wordToken(w string) int32 {
	h := uint64(len(w))
	for i := range len(w) {
		h = mix(h, uint64(w[i]))
	}
	return firstWord + int32(h%uint64(vocabulary-firstWord))
}

// word is how many bytes at the head of text make a word token: a space, if
// any, and letters and digits, twelve bytes at the most.
func word(text string) int {
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	i := start
	for i < len(text) && i-start < 12 {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += n
	}
	if i == start {
		return 0
	}
	return i
}
