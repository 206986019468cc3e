package openai

import (
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Tokens of a server are estimates: percached needs them to know what fits into the context,
// before it asks. They are cut finer than those of usual models, so that a prompt that fits by
// them fits on the server. A text can be made of its tokens again.
//
// A token is a mark, a byte, or up to four characters of ASCII: a space and a capital at most,
// then small letters. Digits and signs are alone. All beyond ASCII is as many tokens as bytes: a
// vocabulary made for English has no more than that for other writing.
const (
	firstByte  = 4 // before it the marks
	firstRun   = firstByte + 256
	runLetters = 54 // of the alphabet of runs: none, a space, 26 small letters, 26 capitals
	mostRun    = 4
	vocabulary = firstRun + runLetters*runLetters*runLetters*runLetters
)

// noTokens is why tokens are not the model's.
const noTokens = "the server lays out prompts with its own template and counts their tokens itself; before that percached estimates them, and rather too many"

// estimate returns the tokens of a text.
func estimate(ids []int32, text string) []int32 {
	for text != "" {
		if n := runLength(text); n > 1 {
			id := int32(0)
			for i := range n {
				id = id*runLetters + letter(text[i])
			}
			ids, text = append(ids, firstRun+id), text[n:]
			continue
		}
		ids, text = append(ids, firstByte+int32(text[0])), text[1:]
	}
	return ids
}

// runLength is how many bytes at the head of a text are one token of letters.
func runLength(text string) int {
	n := 0
	if text[0] == ' ' {
		n++
	}
	if n < len(text) && text[n] >= 'A' && text[n] <= 'Z' {
		n++
	}
	for n < min(len(text), mostRun) && text[n] >= 'a' && text[n] <= 'z' {
		n++
	}
	return n
}

// letter is the number of a character in the alphabet of runs, from 1.
func letter(c byte) int32 {
	switch {
	case c == ' ':
		return 1
	case c >= 'a':
		return 2 + int32(c-'a')
	}
	return 28 + int32(c-'A')
}

// partsOfTokens returns the text of tokens, split at marks.
func partsOfTokens(ids []int32) []part {
	var all []part
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			all = append(all, part{-1, text.String()})
			text.Reset()
		}
	}
	for _, id := range ids {
		switch {
		case id < firstByte:
			flush()
			all = append(all, part{mark: int(id)})
		case id < firstRun:
			text.WriteByte(byte(id - firstByte))
		default:
			text.WriteString(runOf(id - firstRun))
		}
	}
	flush()
	return all
}

// runOf is the text of a token of letters.
func runOf(id int32) string {
	var b [mostRun]byte
	at := len(b)
	for ; id > 0 && at > 0; id /= runLetters {
		at--
		switch c := byte(id % runLetters); {
		case c <= 1:
			b[at] = ' '
		case c < 28:
			b[at] = 'a' + c - 2
		default:
			b[at] = 'A' + c - 28
		}
	}
	return string(b[at:])
}

// tokensOf returns the tokens of one segment.
func tokensOf(s percached.Segment) []int32 {
	ids := []int32{}
	if s.Tokens != nil {
		return append(ids, s.Tokens...)
	}
	for _, t := range s.Texts {
		for _, p := range partsOf(t) {
			if p.mark >= 0 {
				ids = append(ids, int32(p.mark))
			} else {
				ids = estimate(ids, p.text)
			}
		}
	}
	return ids
}

// checkTokens refuses a token that stands for nothing.
func checkTokens(op string, segment int, ids []int32) error {
	for _, id := range ids {
		if id < 0 || id >= vocabulary || id < firstByte && int(id) >= len(roles) {
			return fault.New(fault.Invalid, op, "segment %d: token %d is not in the vocabulary of %d", segment, id, vocabulary)
		}
	}
	return nil
}
