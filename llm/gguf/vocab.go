package gguf

import (
	"fmt"
	"strings"
	"unicode"
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

// vocabulary is the tokenizer data of a random model.
type vocabulary struct {
	tokens []string
	types  []int32
	scores []float32
	merges []string
	ids    map[string]int
}

// add appends a token unless it exists.
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

// lowered is llama.cpp's character for a space in SPM and WPM vocabularies.
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

// wpm is a lower-case WordPiece vocabulary, with word starts marked for llama.cpp.
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

// merge joins two neighbouring pieces into one.
type merge struct{ left, right string }

// trainMerges finds up to n merges by byte-pair encoding: it repeatedly joins the most
// frequent neighbours into one piece. The corpus is the word list, whose first words
// weigh most. letter returns the piece for a letter of a word, and space is what begins a
// word inside a sentence.
func trainMerges(n int, space string, letter func(rune) string) []merge {
	type word struct {
		pieces []int32
		weight int
	}
	var (
		names  []string
		ids    = map[string]int32{}
		corpus []word
	)
	id := func(piece string) int32 {
		n, ok := ids[piece]
		if !ok {
			n = int32(len(names))
			ids[piece] = n
			names = append(names, piece)
		}
		return n
	}
	add := func(lead, text string, weight int) {
		var pieces []int32
		if lead != "" {
			pieces = append(pieces, id(lead))
		}
		for _, r := range text {
			pieces = append(pieces, id(letter(r)))
		}
		corpus = append(corpus, word{pieces, weight})
	}
	for i, w := range words() {
		weight := 1 << 20 / (i + 40)
		add(space, w, weight)
		add("", w, weight/16)
		add(space, string(unicode.ToUpper(rune(w[0])))+w[1:], weight/16)
	}
	counts := map[[2]int32]int{}
	count := func(w word, sign int) {
		for i := 1; i < len(w.pieces); i++ {
			pair := [2]int32(w.pieces[i-1 : i+1])
			if counts[pair] += sign * w.weight; counts[pair] == 0 {
				delete(counts, pair)
			}
		}
	}
	for _, w := range corpus {
		count(w, 1)
	}
	var merges []merge
	for len(merges) < n && len(counts) > 0 {
		var best [2]int32
		top := 0
		for m, c := range counts {
			// With equal counts, take the pair of older pieces, independent of the map's
			// order.
			if c > top || c == top && (m[0] < best[0] || m[0] == best[0] && m[1] < best[1]) {
				best, top = m, c
			}
		}
		m := merge{names[best[0]], names[best[1]]}
		merges = append(merges, m)
		joined := id(m.left + m.right)
		for i, w := range corpus {
			if !holds(w.pieces, best) {
				continue
			}
			count(w, -1)
			corpus[i].pieces = join(w.pieces, best, joined)
			count(corpus[i], 1)
		}
	}
	return merges
}

func holds(pieces []int32, pair [2]int32) bool {
	for i := 1; i < len(pieces); i++ {
		if pieces[i-1] == pair[0] && pieces[i] == pair[1] {
			return true
		}
	}
	return false
}

// join replaces each pair by one piece, in place.
func join(pieces []int32, pair [2]int32, by int32) []int32 {
	out := pieces[:0]
	for i := 0; i < len(pieces); i++ {
		if i+1 < len(pieces) && pieces[i] == pair[0] && pieces[i+1] == pair[1] {
			out = append(out, by)
			i++
			continue
		}
		out = append(out, pieces[i])
	}
	return out
}

// words are the words of the random vocabularies: the most frequent ones, and those of
// documents about which percached answers, so that prompts have as few tokens as with a
// real vocabulary.
func words() []string {
	return strings.Fields(`
the of and to in is you that it he was for on are as with his they be at one have this from or had by but
some what there we can out other were all your when up use word how said an each she which do their time if
will way about many then them would write like so these her long make thing see him two has look more day
could go come did my sound no most number who over know water than call first people may down side been now
find any new work part take get place made live where after back little only round man year came show every
good me give our under name very through just form much great think say help low line before turn cause same
mean differ move right boy old too does tell sentence set three want air well also play small end put home
read hand port large spell add even land here must big high such follow act why ask men change went light
kind off need house picture try us again animal point mother world near build self earth father
meeting email mail note notes project budget report question answer document documents summary please thanks
hello regards subject team week month monday tuesday wednesday thursday friday schedule review contract gas
power price market office call attached sent company business management plan customer deadline invoice
decided agreed discuss action item owner tomorrow today yesterday morning afternoon based context following
using information system user assistant model date title source according because between during without
person agreement payment account service product energy trading data file server update issue problem
`)
}
