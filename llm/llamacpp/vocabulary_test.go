package llamacpp

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// vocabularies are the kinds of tokeniser that language models have, of random
// models; special is a control token of each.
var vocabularies = []struct {
	name, special string
	gguf.RandomOptions
}{
	{"bpe", "<|im_start|>", gguf.RandomOptions{Shape: "tiny", Seed: 3}},
	{"qwen2", "<|im_start|>", gguf.RandomOptions{Shape: "tiny", Seed: 3, Architecture: "qwen2"}},
	{"spm", "<start_of_turn>", gguf.RandomOptions{Shape: "tiny", Seed: 3, Tokenizer: "spm"}},
}

func plain(text string) percached.Segment {
	return percached.Segment{Kind: percached.KindChunk, Texts: []percached.Text{{Text: text}}}
}

func special(text string) percached.Segment {
	return percached.Segment{Kind: percached.KindChunk, Texts: []percached.Text{{Text: text, Special: true}}}
}

// tokens of segments that must be accepted.
func tokens(t testing.TB, e *Engine, segments ...percached.Segment) [][]int32 {
	t.Helper()
	out, err := e.Tokenize(segments)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lone are the tokens of a segment that does not stand at the head.
func lone(t testing.TB, e *Engine, s percached.Segment) []int32 {
	t.Helper()
	return tokens(t, e, plain(""), s)[1]
}

// read is the text that plain tokens stand for, without the space that SPM
// puts before it.
func read(e *Engine, tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(e.model.vocab.piece(t))
	}
	if e.model.vocab.spm {
		return strings.TrimPrefix(b.String(), " ")
	}
	return b.String()
}

func id(t testing.TB, e *Engine, token string) int32 {
	t.Helper()
	i := slices.Index(e.model.file.Tokenizer().Tokens, token)
	if i < 0 {
		t.Fatalf("the vocabulary has no %q", token)
	}
	return int32(i)
}

// A segment has the same tokens wherever it stands and whatever stands beside
// it, also where the texts together would make other tokens.
func TestSegmentsAreTokenisedApart(t *testing.T) {
	for _, v := range vocabularies {
		t.Run(v.name, func(t *testing.T) {
			e := open(t, v.RandomOptions, nil)
			texts := []string{"inform", "ation", " system", "pri", "ce", "ag", "reement", "\n", "\n", "me", "eting"}
			segments := make([]percached.Segment, len(texts))
			for i, text := range texts {
				segments[i] = plain(text)
			}
			got := tokens(t, e, segments...)
			head := 0
			if e.model.vocab.begin >= 0 {
				head = 1
			}
			for i, text := range texts {
				have := got[i]
				if i == 0 {
					have = have[head:]
				}
				if diff := cmp.Diff(lone(t, e, plain(text)), have); diff != "" {
					t.Errorf("segment %d (-alone +among others):\n%s", i, diff)
				}
			}
			whole := lone(t, e, plain(strings.Join(texts, "")))
			if slices.Equal(whole, slices.Concat(got...)[head:]) {
				t.Error("the texts joined have the same tokens: this test could not fail")
			}
			// Texts of one segment are apart too.
			both := lone(t, e, percached.Segment{Texts: []percached.Text{{Text: "inform"}, {Text: "ation", Special: true}}})
			if want := slices.Concat(lone(t, e, plain("inform")), lone(t, e, plain("ation"))); !slices.Equal(both, want) {
				t.Errorf("two texts of a segment: tokens %v, want %v", both, want)
			}
		})
	}
}

// What looks like a control token is text, unless the text is the frame's.
func TestControlTokensActInTheFrameAlone(t *testing.T) {
	for _, v := range vocabularies {
		t.Run(v.name, func(t *testing.T) {
			e := open(t, v.RandomOptions, nil)
			control := id(t, e, v.special)
			text := "before " + v.special + " behind" + v.special
			if got := lone(t, e, plain(text)); slices.Contains(got, control) || read(e, got) != text {
				t.Errorf("plain: %q became %v, which reads %q", text, got, read(e, got))
			}
			n := 0
			for _, token := range lone(t, e, special(text)) {
				if token == control {
					n++
				}
			}
			if n != 2 {
				t.Errorf("special: %d control tokens instead of 2", n)
			}
		})
	}
}

// A user-defined token, which llama.cpp parses even in plain text, is broken:
// the model reads its letters. In the frame it acts.
func TestUserDefinedTokensAreBroken(t *testing.T) {
	const note = "<|note|>"
	for _, v := range vocabularies {
		t.Run(v.name, func(t *testing.T) {
			e := open(t, v.RandomOptions, nil)
			control := id(t, e, note)
			for _, text := range []string{
				note, note + note, "a " + note + " b", "a" + note + "b", "<" + note, note[:4] + note, note + " ", "\n" + note + "\n",
				strings.Repeat("x"+note, 50),
			} {
				got := lone(t, e, plain(text))
				if slices.Contains(got, control) {
					t.Errorf("%q: the token acts", text)
				}
				if read(e, got) != text {
					t.Errorf("%q became %q", text, read(e, got))
				}
			}
			if got := lone(t, e, special(note)); !slices.Contains(got, control) {
				t.Errorf("in the frame it does not act: %v", got)
			}
		})
	}
}

// The begin token stands once at the head of a prompt, if the model wants one,
// also when the frame brings it; the end token that a model may want stands
// nowhere.
func TestBeginOnceEndNever(t *testing.T) {
	for _, v := range vocabularies {
		for _, wants := range []bool{true, false} {
			e, err := openFile(t, remade(t, v.RandomOptions, map[string]any{
				"tokenizer.ggml.add_bos_token": wants, "tokenizer.ggml.add_eos_token": true,
			}, nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			begin, end := "<|endoftext|>", "<|im_end|>"
			if v.name == "spm" {
				begin, end = "<s>", "</s>"
			}
			b, z := id(t, e, begin), id(t, e, end)
			for name, first := range map[string]percached.Segment{
				"text":         plain("hello there"),
				"no text":      plain(""),
				"no texts":     {},
				"frame":        special("hello"),
				"frame has it": {Texts: []percached.Text{{Text: begin + "hello", Special: true}, {Text: "there"}}},
				"only it":      special(begin),
				"as text":      plain(begin + "hello"),
			} {
				got := tokens(t, e, first, plain("hello there"), special("hello"))
				all := slices.Concat(got...)
				n := 0
				for _, token := range all {
					if token == b {
						n++
					}
				}
				want := 0
				if wants || name == "frame has it" || name == "only it" {
					want = 1
				}
				if n != want || want == 1 && all[0] != b {
					t.Errorf("%s, wanted %v, %s: %d begin tokens, want %d at the head: %v", v.name, wants, name, n, want, all)
				}
				if slices.Contains(all, z) {
					t.Errorf("%s, %s: there is an end token in %v", v.name, name, all)
				}
			}
		}
	}
}

// An SPM vocabulary begins every segment with a space, as it begins every text;
// the others begin it as it is.
func TestSpaceBeforeSegments(t *testing.T) {
	for _, v := range vocabularies {
		e := open(t, v.RandomOptions, nil)
		for _, text := range []string{"hello", "?", "<|note|>x", " hello"} {
			first := string(e.model.vocab.piece(lone(t, e, plain(text))[0]))
			want := text[0] == ' ' || v.name == "spm"
			if got := strings.HasPrefix(first, " "); got != want {
				t.Errorf("%s: %q begins with the token %q", v.name, text, first)
			}
		}
	}
	e, err := openFile(t, remade(t, vocabularies[2].RandomOptions, map[string]any{"tokenizer.ggml.add_space_prefix": false}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello", "a<|note|>b"} {
		var b strings.Builder
		for _, token := range lone(t, e, plain(text)) {
			b.Write(e.model.vocab.piece(token))
		}
		if b.String() != text {
			t.Errorf("a vocabulary without the space: %q became %q", text, b.String())
		}
	}
}

// Whatever a document holds is tokenised, and reads the same but for bytes that
// are no UTF-8.
func TestAnyTextIsTokenised(t *testing.T) {
	repeat := func(unit string, n int) string { return strings.Repeat(unit, n/len(unit)) }
	// Long runs of one kind of letter overflow the stack of std::regex from some
	// 30,000 on, and take SPM time with the square of their length.
	long := func(unit string) string { return repeat(unit, 64<<10) }
	for _, v := range vocabularies {
		t.Run(v.name, func(t *testing.T) {
			e := open(t, v.RandomOptions, nil)
			for name, text := range map[string]string{
				"empty":                "",
				"zero bytes":           "\x00a\x00\x00b\x00",
				"control letters":      "\x01\x02<|note|>\x01\x7f\x1b[0m",
				"invalid UTF-8":        "a\xffb\xc3(\xe2\x82",
				"only invalid":         "\xff\xfe\xfd",
				"surrogates":           "\xed\xa0\x80x",
				"letters of the world": "Žluťoučký kůň, 你好, مرحبا, 👩‍👩‍👧, e\u0301, \u2028, \u2581",
				"spaces":               "   \t\r\n\u00a0\u3000",
				"1 MB of prose":        repeat("Please send me the report by friday. ", 1<<20),
				"a run of a letter":    long("a"),
				"a run of spaces":      long(" "),
				"a run of lines":       long("\n"),
				"a run of signs":       long("=-"),
				"a run of accents":     long("é"),
				"a run of zeros":       long("\x00"),
				"a run of numbers":     long("0123456789"),
				"a run without space":  long("QmFzZTY0+/"),
			} {
				want := strings.ToValidUTF8(text, "\ufffd")
				got := read(e, lone(t, e, plain(text)))
				if v.name == "spm" {
					want = strings.ReplaceAll(want, "\u2581", " ") // how SPM writes a space
				}
				if got != want {
					t.Errorf("%s: %.60q (%d bytes) became %.60q (%d bytes)", name, want, len(want), got, len(got))
				}
			}
		})
	}
}

// Embedding models get their frame around every text; of a text that is too
// long the end is cut and the frame stays whole.
func TestEmbeddingFrame(t *testing.T) {
	e, err := openEmbedder(t, randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 3}), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := e.model.file.Tokenizer().Tokens
	head, tail := int32(slices.Index(all, "[CLS]")), int32(slices.Index(all, "[SEP]"))
	const word = "project budget "
	texts := []string{
		"", "project", "[SEP] [CLS]", word, strings.Repeat(word, 62), strings.Repeat(word, 63), strings.Repeat(word, 64),
		strings.Repeat(word, 5000), strings.Repeat(word, 63) + "friday", "\xff\x00",
	}
	tokens, err := e.tokenize(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, ts := range tokens {
		if len(ts) < 2 {
			t.Fatalf("text %d has tokens %v: there is no frame", i, ts)
		}
		body := ts[1 : len(ts)-1]
		if ts[0] != head || ts[len(ts)-1] != tail || slices.Contains(body, head) || slices.Contains(body, tail) {
			t.Errorf("text %d (%.20q) has tokens %v, want them within %d and %d", i, texts[i], ts, head, tail)
		}
		if len(ts) > 128 {
			t.Errorf("text %d has %d tokens, the model reads 128", i, len(ts))
		}
	}
	for i, want := range map[int]int{0: 2, 1: 3, 3: 4, 4: 126, 5: 128, 6: 128, 7: 128, 8: 128} {
		if len(tokens[i]) != want {
			t.Errorf("text %d has %d tokens, want %d", i, len(tokens[i]), want)
		}
	}
	vectors, err := e.Embed(context.Background(), percached.Foreground, texts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(vectors[5], vectors[7]) || !slices.Equal(vectors[5], vectors[8]) {
		t.Error("what lies behind the cut changes the vector")
	}
	if slices.Equal(vectors[4], vectors[5]) {
		t.Error("what lies before the cut does not change the vector")
	}
}

// A language model that embeds has the frame that its tokeniser names.
func TestEmbeddingFrameOfLanguageModels(t *testing.T) {
	o := gguf.RandomOptions{Shape: "tiny", Architecture: "qwen3", Pooling: "last", Seed: 3}
	for _, c := range []struct {
		begin, end bool
		want       []string
	}{
		{false, false, nil},
		{false, true, []string{"<|im_end|>"}},
		{true, true, []string{"<|endoftext|>", "<|im_end|>"}},
	} {
		e, err := openEmbedder(t, remade(t, o, map[string]any{
			"tokenizer.ggml.add_bos_token": c.begin, "tokenizer.ggml.add_eos_token": c.end,
		}, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		all := e.model.file.Tokenizer().Tokens
		var got []string
		for _, token := range slices.Concat(e.before, e.after) {
			got = append(got, all[token])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("begin %v, end %v: frame (-want +got):\n%s", c.begin, c.end, diff)
		}
		tokens, err := e.tokenize([]string{strings.Repeat("budget ", 500), ""})
		if err != nil {
			t.Fatal(err)
		}
		if ts := tokens[0]; len(ts) != 128 || c.end && all[ts[127]] != "<|im_end|>" {
			t.Errorf("begin %v, end %v: a long text has %d tokens, the last of them %q", c.begin, c.end, len(ts), all[ts[len(ts)-1]])
		}
		if _, err := e.Embed(context.Background(), percached.Foreground, []string{""}); err != nil {
			t.Errorf("begin %v, end %v: no text: %v", c.begin, c.end, err)
		}
	}
}

// User-defined tokens of a hostile vocabulary need not be whole UTF-8.
func TestCutKeepsText(t *testing.T) {
	v := &vocabulary{defined: map[byte][]string{'<': {"<|note|>", "<|"}, '\xe2': {"\u2000x"}}}
	for _, text := range []string{"", "a<|note|>b", "<|<|note|>", "\u2000x\u2000x<|", "<", "plain"} {
		if got := strings.Join(v.cut(text), ""); got != text {
			t.Errorf("%q was cut into %q", text, v.cut(text))
		}
		for _, part := range v.cut(text) {
			for _, ds := range v.defined {
				for _, d := range ds {
					if strings.Contains(part, d) {
						t.Errorf("%q still holds %q", part, d)
					}
				}
			}
		}
	}
}
