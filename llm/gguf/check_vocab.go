package gguf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const tok = "tokenizer.ggml."

// maxToken far exceeds the longest token of any real model. llama.cpp keeps some
// vocabularies as trees and walks them recursively, one call for each byte.
const maxToken = 4 << 10

// model is the kind of tokenizer in the file.
func (c *checker) tokenizerModel() string {
	s, _ := c.Str(tok + "model")
	return s
}

// tokens checks the list of tokens as C reads it: up to the first zero byte.
func (c *checker) tokens() {
	model := c.tokenizerModel()
	switch {
	case model == "":
		c.invalid("%smodel is missing: the file has no tokenizer", tok)
	case model == "none" || model == "no_vocab":
		c.unsupported("the file has no tokenizer (%smodel is %q)", tok, model)
	case !slices.Contains([]string{"llama", "gpt2", "bert", "t5", "rwkv", "plamo2"}, model):
		c.unsupported("tokenizer %q is not known to this llama.cpp", model)
	}
	list, ok := c.Strs(tok + "tokens")
	switch {
	case c.err != nil:
		return
	case !ok && c.Has(tok+"tokens"):
		v := c.meta[tok+"tokens"]
		c.invalid("%stokens is %s %s and must be an array of strings", tok, article(v.typeName()), v.typeName())
		return
	case len(list) == 0:
		c.invalid("%stokens is missing or empty", tok)
		return
	}
	c.vocab = uint64(len(list))
	seen := make(map[string]int, len(list))
	for i, t := range list {
		if model != "rwkv" && beyondUnicode(t) {
			c.invalid("token %d is %q: a letter beyond Unicode, which llama.cpp throws upon", i, t)
			return
		}
		if len(t) > maxToken {
			c.invalid("token %d is %d bytes long, and may be %d", i, len(t), maxToken)
			return
		}
		t, _, _ = strings.Cut(t, "\x00")
		if t == "" {
			t = fmt.Sprintf("[EMPTY_%d]", i) // as llama.cpp calls it
		}
		if first, twice := seen[t]; twice {
			c.invalid("tokens %d and %d are both %q", first, i, t)
			return
		}
		seen[t] = i
	}
	c.byText = seen
}

// beyondUnicode finds bytes that look like UTF-8 of a code point above U+10FFFF. Other
// invalid UTF-8 is harmless.
func beyondUnicode(s string) bool {
	for i := 0; i+3 < len(s); i++ {
		if s[i] >= 0xf4 && s[i] <= 0xf7 && (s[i] > 0xf4 || s[i+1] >= 0x90) &&
			s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80 && s[i+3]&0xc0 == 0x80 {
			return true
		}
	}
	return false
}

// tokenTypes checks the lists parallel to the tokens. C reads them without checking their
// length.
func (c *checker) tokenTypes() {
	parallel := func(name string, want ...Kind) *value {
		v := c.meta[tok+name]
		switch {
		case v == nil || c.err != nil:
			return nil
		case v.kind != KindArray || !slices.Contains(want, v.elem):
			c.invalid("%s%s is %s %s and must be an array of %s", tok, name, article(v.typeName()), v.typeName(), want[0])
		case uint64(v.n) != c.vocab:
			c.invalid("%s%s has %d elements for %d tokens", tok, name, v.n, c.vocab)
		default:
			return v
		}
		return nil
	}
	if v := parallel("scores", KindFloat32); v != nil {
		for i := range v.n {
			if x := number(v.elem, v.raw[4*i:]); math.IsNaN(x) {
				c.invalid("the score of token %d is not a number", i)
				return
			}
		}
	}
	v := parallel("token_type", KindInt32, KindUint32)
	if v == nil {
		return
	}
	list, _ := c.Strs(tok + "tokens")
	model := c.tokenizerModel()
	for i, t := range list {
		n, negative := integer(v.elem, v.raw[4*i:])
		switch {
		case negative || n > 6:
			c.invalid("token %d has type %d; known are 0 to 6", i, int32(n))
			return
		case int32(n) != tokenByte:
		case model == "bert":
			c.invalid("token %d is a byte token, which a bert tokenizer cannot have", i)
			return
		case model != "gpt2" && model != "rwkv" && !isByteToken(t):
			c.invalid("token %d is of type byte but is called %q, not like <0x0A>", i, t)
			return
		}
	}
}

func isByteToken(s string) bool {
	return len(s) == 6 && strings.HasPrefix(s, "<0x") && s[5] == '>' && isHex(s[3]) && isHex(s[4])
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f' }

// specialTokens checks the ids in the file and the tokenizer's default ids.
func (c *checker) specialTokens() {
	defaults := map[string]map[string]uint64{
		"llama":  {"bos": 1, "eos": 2, "unknown": 0},
		"bert":   {"bos": 101, "unknown": 100, "seperator": 102, "padding": 0, "mask": 103},
		"gpt2":   {"bos": 11, "eos": 11},
		"t5":     {"eos": 1, "unknown": 2, "padding": 0},
		"plamo2": {"bos": 1, "eos": 2, "unknown": 0, "padding": 3},
	}[c.tokenizerModel()]
	for _, name := range strings.Fields("bos eos eot eom unknown seperator padding mask cls fim_pre fim_suf fim_mid fim_pad fim_rep fim_sep prefix suffix middle") {
		key := tok + name + "_token_id"
		id, ok := c.Uint(key)
		fallback, has := defaults[name]
		switch {
		case ok && id >= c.vocab:
			c.invalid("%s is %d, but there are only %d tokens", key, id, c.vocab)
		case !ok && has && fallback >= c.vocab:
			c.invalid("%s is missing, and the usual one, %d, is not among the %d tokens", key, fallback, c.vocab)
		}
	}
	if pre, _ := c.Str(tok + "pre"); pre == "glm4" || pre == "chatglm-bpe" || c.tokenizerModel() == "t5" {
		if add, _ := c.Bool(tok + "add_bos_token"); add && !c.Has(tok+"bos_token_id") {
			c.invalid("%sadd_bos_token is true, but %sbos_token_id is missing", tok, tok)
		}
	}
}

// phi3 checks an assumption of llama.cpp: it recognises these models by name and looks up
// their tokens without checking that they exist.
func (c *checker) phi3() {
	name := strings.ToLower(c.Name())
	if !strings.Contains(name, "phi-3") && !strings.Contains(name, "phi3") {
		return
	}
	for _, t := range []string{"</s>", "<unk>", "<s>", "<|endoftext|>"} {
		if _, ok := c.byText[t]; !ok {
			c.unsupported("general.name is %q, and llama.cpp wants models called so to have a token %q", c.Name(), t)
		}
	}
}

// tokenizerParts checks what each kind of tokenizer needs in addition to its tokens.
func (c *checker) tokenizerParts() {
	c.phi3()
	switch c.tokenizerModel() {
	case "gpt2":
		c.merges()
	case "llama", "plamo2":
		// A byte without a token makes the tokenizer throw at run time, which ends the
		// process.
		for b := range 256 {
			_, hex := c.byText[fmt.Sprintf("<0x%02X>", b)]
			_, plain := c.byText[string([]byte{byte(b)})]
			if !hex && (!plain || c.tokenizerModel() == "plamo2") {
				c.invalid("the tokenizer has no token for byte <0x%02X>", b)
				return
			}
		}
	case "t5":
		v := c.meta[tok+"precompiled_charsmap"]
		if v != nil && (v.kind != KindArray || v.elem.size() != 1 || v.n > 0 && v.n < 5) {
			c.invalid("%sprecompiled_charsmap is %s %s and must be an array of at least 5 uint8", tok, article(v.typeName()), v.typeName())
		} else if v != nil && v.n > 0 && v.raw[v.n-1] != 0 {
			c.invalid("%sprecompiled_charsmap does not end in a zero byte, up to which llama.cpp reads", tok)
		}
	case "rwkv":
		c.rwkvBytes()
	}
}

// rwkvBytes requires a token for each byte in one of the spellings that llama.cpp reads.
// Without one it loops forever or returns an invalid token.
func (c *checker) rwkvBytes() {
	short := map[byte]string{'\t': `\t`, '\n': `\n`, '\r': `\r`}
	for i := range 256 {
		b := byte(i)
		forms := []string{fmt.Sprintf(`\x%02x`, b), short[b]}
		if b != '\\' {
			forms = append(forms, string([]byte{b}))
		}
		if !strings.ContainsRune("tnrx", rune(b)) {
			forms = append(forms, `\`+string([]byte{b}))
		}
		if !slices.ContainsFunc(forms, func(form string) bool { _, ok := c.byText[form]; return ok }) {
			c.invalid(`the tokenizer has no token for byte \x%02x`, b)
			return
		}
	}
}

func (c *checker) merges() {
	v := c.meta[tok+"merges"]
	switch {
	case v == nil:
		c.invalid("%smerges is missing", tok)
	case v.kind != KindArray || v.elem != KindString && v.n > 0:
		c.invalid("%smerges is %s %s and must be an array of strings", tok, article(v.typeName()), v.typeName())
	}
	if c.err != nil {
		return
	}
	for i, m := range v.list {
		// The first letter may be a space itself.
		if len(m) < 3 || !strings.Contains(m[1:], " ") || m[len(m)-1] == ' ' && strings.Count(m[1:], " ") == 1 {
			c.invalid("merge %d is %q, not two pieces with a space between", i, m)
			return
		}
	}
}
