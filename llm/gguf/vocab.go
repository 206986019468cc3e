package gguf

import (
	"fmt"
	"strings"
)

// The types of a token in tokenizer.ggml.token_type.
const (
	tokenNormal  int32 = 1
	tokenUnknown int32 = 2
	tokenControl int32 = 3
	tokenUser    int32 = 4
	tokenUnused  int32 = 5
	tokenByte    int32 = 6
)

// vocabulary is what a random model's tokenizer is made of.
type vocabulary struct {
	tokens []string
	types  []int32
	scores []float32
	merges []string
	ids    map[string]int
}

// add appends a token unless it is there already.
func (v *vocabulary) add(token string, kind int32) bool {
	if v.ids == nil {
		v.ids = map[string]int{}
	}
	if _, ok := v.ids[token]; ok {
		return false
	}
	v.ids[token] = len(v.tokens)
	v.tokens = append(v.tokens, token)
	v.types = append(v.types, kind)
	return true
}

func (v *vocabulary) id(token string) uint32 { return uint32(v.ids[token]) }

// pad fills up to n tokens; the last ones of a vocabulary are its control tokens.
func (v *vocabulary) pad(n int) {
	for i := len(v.tokens); i < n; i++ {
		v.add(fmt.Sprintf("<unused%d>", i), tokenNormal)
	}
}

// byteLetters are the 256 printable letters that stand for bytes in byte-level
// BPE: printable Latin-1 stands for itself, the rest follows from U+0100 on.
func byteLetters() (letters [256]string) {
	next := rune(256)
	for b := range 256 {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			letters[b] = string(rune(b))
		default:
			letters[b] = string(next)
			next++
		}
	}
	return letters
}

// bpe is a byte-level vocabulary: 256 bytes, merges, control tokens, one user-defined token.
func bpe(size int) *vocabulary {
	v := &vocabulary{}
	letters := byteLetters()
	for _, l := range letters {
		v.add(l, tokenNormal)
	}
	special := []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
	room := size - len(special) - 1
	for _, m := range trainMerges(room-len(v.tokens), letters[' '], func(r rune) string { return letters[byte(r)] }) {
		v.add(m.left+m.right, tokenNormal)
		v.merges = append(v.merges, m.left+" "+m.right)
	}
	v.pad(room)
	for _, t := range special {
		v.add(t, tokenControl)
	}
	v.add("<|note|>", tokenUser)
	return v
}

// lowered is what llama.cpp writes for a space in SPM and WPM vocabularies.
const lowered = "▁"

// spm is a scored vocabulary with a token for every byte.
func spm(size int) *vocabulary {
	v := &vocabulary{}
	v.add("<unk>", tokenUnknown)
	v.add("<s>", tokenControl)
	v.add("</s>", tokenControl)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), tokenByte)
	}
	special := []string{"<start_of_turn>", "<end_of_turn>"}
	room := size - len(special) - 1
	v.add(lowered, tokenNormal)
	for c := '!'; c <= '~'; c++ {
		v.add(string(c), tokenNormal)
	}
	for _, m := range trainMerges(room-len(v.tokens), lowered, func(r rune) string { return string(r) }) {
		v.add(m.left+m.right, tokenNormal)
	}
	v.pad(room)
	for _, t := range special {
		v.add(t, tokenControl)
	}
	v.add("<|note|>", tokenUser)
	v.scores = make([]float32, len(v.tokens))
	for i, kind := range v.types {
		if kind == tokenNormal {
			v.scores[i] = -float32(i) // earlier pieces are merged first
		}
	}
	return v
}

// wpm is a lower-case WordPiece vocabulary, its word starts marked as
// llama.cpp wants them.
func wpm(size int) *vocabulary {
	v := &vocabulary{}
	for _, t := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		v.add(t, tokenControl)
	}
	for c := '!'; c <= '~'; c++ {
		l := strings.ToLower(string(c))
		v.add(lowered+l, tokenNormal)
		v.add(l, tokenNormal)
	}
	for _, suffix := range []string{"s", "ed", "ing", "er", "ly", "ion", "th"} {
		v.add(suffix, tokenNormal)
	}
	for _, w := range words() {
		if len(v.tokens) < size {
			v.add(lowered+w, tokenNormal)
		}
	}
	v.pad(size)
	return v
}
