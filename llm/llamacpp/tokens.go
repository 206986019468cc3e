package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// A vocabulary converts text to tokens and back. llama.cpp's tokeniser is safe for
// concurrent use.
type vocabulary struct {
	c     *C.struct_llama_vocab
	size  int
	begin int32 // first token of a prompt; -1: none
	// llama.cpp parses user-defined tokens even in plain text. These are the visible
	// ones, by first byte, so that text can be cut inside them.
	defined map[byte][]string
	spm     bool
	texts   tokenTexts
}

// maxRun is the maximum number of bytes without a space, or of spaces, tokenised at once.
// Most BPE vocabularies are split by std::regex, which recurses for every character of a
// match: 25,000 of them used 8 MiB of stack and crashed the process. SPM needs quadratic
// time when it falls back to bytes: two minutes for 1 MB of newlines.
const (
	maxRun  = 512
	maxText = 16 << 10
)

func newVocabulary(c *C.struct_llama_vocab) *vocabulary {
	v := &vocabulary{c: c, size: int(C.llama_vocab_n_tokens(c)), begin: -1, defined: map[byte][]string{}, spm: C.llama_vocab_type(c) == C.LLAMA_VOCAB_TYPE_SPM}
	if bool(C.llama_vocab_get_add_bos(c)) {
		v.begin = int32(C.llama_vocab_bos(c))
	}
	for t := range v.size {
		if C.llama_vocab_get_attr(c, C.llama_token(t))&C.LLAMA_TOKEN_ATTR_USER_DEFINED == 0 {
			continue
		}
		text := C.GoString(C.llama_vocab_get_text(c, C.llama_token(t)))
		if utf8.ValidString(text) && utf8.RuneCountInString(text) > 1 && strings.TrimSpace(strings.ReplaceAll(text, "\u2581", " ")) != "" {
			v.defined[text[0]] = append(v.defined[text[0]], text)
		}
	}
	return v
}

// segments tokenises each segment separately, with the begin token at the start.
func (v *vocabulary) segments(segs []percached.Segment) ([][]int32, error) {
	out := make([][]int32, len(segs))
	for i, s := range segs {
		if s.Tokens != nil {
			for _, t := range s.Tokens {
				if t < 0 || int(t) >= v.size {
					return nil, invalid("segment %d: token %d is not in the vocabulary of %d", i, t, v.size)
				}
			}
			out[i] = s.Tokens
			continue
		}
		var tokens []int32
		for _, t := range s.Texts {
			var err error
			if tokens, err = v.append(tokens, t); err != nil {
				return nil, err
			}
		}
		// The template may contain the begin token itself.
		if i == 0 && v.begin >= 0 && (len(tokens) == 0 || tokens[0] != v.begin) {
			tokens = append([]int32{v.begin}, tokens...)
		}
		out[i] = tokens
	}
	return out, nil
}

func (v *vocabulary) append(tokens []int32, t percached.Text) ([]int32, error) {
	text := strings.ToValidUTF8(t.Text, string(utf8.RuneError))
	if t.Special {
		return v.tokenize(tokens, text, true, false)
	}
	var err error
	for i, part := range v.cut(text) {
		if tokens, err = v.tokenize(tokens, part, false, i > 0); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// cut splits text inside every user-defined token, so that documents contain only text.
func (v *vocabulary) cut(text string) []string {
	var parts []string
	from := 0
	for i := 0; i < len(text) && len(v.defined) > 0; i++ {
		for _, d := range v.defined[text[i]] {
			if strings.HasPrefix(text[i:], d) {
				_, n := utf8.DecodeRuneInString(d)
				parts = append(parts, text[from:i+n])
				from = i + n
				break
			}
		}
	}
	return append(parts, text[from:])
}

// tokenize tokenises a text in portions that C can handle. behind means that the text
// continues another.
func (v *vocabulary) tokenize(tokens []int32, text string, special, behind bool) ([]int32, error) {
	for text != "" {
		n := v.portion(text)
		var err error
		if behind && v.spm {
			tokens, err = v.inner(tokens, text[:n], special)
		} else {
			tokens, err = v.call(tokens, text[:n], false, special)
		}
		if err != nil {
			return nil, err
		}
		text, behind = text[n:], true
	}
	return tokens, nil
}

// inner removes the space that SPM vocabularies put before every text; it is wrong in the
// middle of a text. No token contains the mark, so the tokens after it are unaffected.
func (v *vocabulary) inner(tokens []int32, text string, special bool) ([]int32, error) {
	const mark = "\x01"
	alone, err := v.call(nil, mark, false, false)
	if err != nil {
		return nil, err
	}
	marked, err := v.call(nil, mark+text, false, special)
	if err != nil {
		return nil, err
	}
	if len(marked) < len(alone) || !slices.Equal(marked[:len(alone)], alone) {
		return v.call(tokens, text, false, special)
	}
	return append(tokens, marked[len(alone):]...), nil
}

// portion is how much of a text to tokenise at once: nearly always all of it.
func (v *vocabulary) portion(text string) int {
	if v.spm {
		n := min(len(text), maxText)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		return n
	}
	from, space := 0, false
	for i, r := range text {
		switch {
		case i == 0 || unicode.IsSpace(r) != space:
			from, space = i, unicode.IsSpace(r)
		case i-from >= maxRun:
			return i
		}
	}
	return len(text)
}

// framed returns the tokens of a text with those that embedding models put around it.
func (v *vocabulary) framed(text string) ([]int32, error) { return v.call(nil, text, true, false) }

func (v *vocabulary) call(tokens []int32, text string, framed, special bool) ([]int32, error) {
	if len(text) > math.MaxInt32/2 {
		return nil, invalid("a text of %d bytes is too long", len(text))
	}
	buf := make([]int32, len(text)/2+16)
	for {
		n := C.pc_tokenize(v.c, (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.int32_t(len(text)),
			(*C.llama_token)(&buf[0]), C.int32_t(len(buf)), C.bool(framed), C.bool(special))
		switch {
		case n == math.MinInt32:
			return nil, fault.New(fault.Internal, "llamacpp: tokenize", "%s", takeErrors())
		case n < 0:
			buf = make([]int32, -n)
			continue
		}
		return append(tokens, buf[:n]...), nil
	}
}

// piece is the text of a token; control tokens have none.
func (v *vocabulary) piece(t int32) []byte {
	buf := make([]byte, 64)
	n := C.llama_token_to_piece(v.c, C.llama_token(t), (*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf)), 0, false)
	if n < 0 {
		buf = make([]byte, -n)
		n = C.llama_token_to_piece(v.c, C.llama_token(t), (*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf)), 0, false)
	}
	return buf[:max(n, 0)]
}

// written is the text of a generated token. A control token's text must be hidden.
func (v *vocabulary) written(t int32) (text []byte, hidden bool) {
	if C.llama_vocab_get_attr(v.c, C.llama_token(t))&C.LLAMA_TOKEN_ATTR_CONTROL != 0 {
		return []byte(C.GoString(C.llama_vocab_get_text(v.c, C.llama_token(t)))), true
	}
	return v.piece(t), false
}

func (v *vocabulary) ends(t int32) bool { return bool(C.llama_vocab_is_eog(v.c, C.llama_token(t))) }

// takeErrors returns llama.cpp's latest complaint, for an error message.
func takeErrors() string {
	var buf [2000]byte
	n := C.pc_take_errors((*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf)))
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(buf[:n]), "?")), " ")
	if s == "" {
		return "llama.cpp gave no reason"
	}
	return s
}
