package static

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

func TestRefuse(t *testing.T) {
	set := func(key string, v any) func(*recipe) {
		return func(r *recipe) { r.set = map[string]any{key: v} }
	}
	tokens := func(tokens ...string) func(*recipe) {
		return func(r *recipe) { r.tokens = tokens }
	}
	value := func(typ gguf.Type, x float32) func(*recipe) {
		return func(r *recipe) {
			r.typ = typ
			r.bytes = func(b []byte) {
				if typ == gguf.F32 {
					binary.LittleEndian.PutUint32(b[len(b)-4:], math.Float32bits(x))
					return
				}
				at := len(b) - 2
				if typ == gguf.Q8_0 {
					at = len(b) - blockBytes
				}
				binary.LittleEndian.PutUint16(b[at:], 0x7c00|uint16(math.Float32bits(x)>>13&0x3ff))
			}
		}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		change func(*recipe)
		kind   fault.Kind
		want   string
	}{
		{set("general.architecture", nil), fault.Invalid, "general.architecture is missing or not a name"},
		{set("general.architecture", uint32(3)), fault.Invalid, "general.architecture is missing or not a name"},
		{set("general.architecture", "bert"), fault.Unsupported, `the file is of architecture "bert"; a table of word vectors is "static"`},
		{set("general.name", nil), fault.Invalid, "general.name is missing"},
		{set("general.name", ""), fault.Invalid, `general.name is "", not a name`},
		{set("general.name", uint32(7)), fault.Invalid, "general.name is of kind uint32 and must be string"},
		{set(keyVersion, uint32(2)), fault.Unsupported, "static.version is 2, and versions up to 1 are known here"},
		{set(keyVersion, uint32(0)), fault.Invalid, "static.version is 0"},
		{set(keyDim, nil), fault.Invalid, "static.embedding_length is missing"},
		{set(keyDim, uint32(0)), fault.Invalid, "static.embedding_length is 0 and must be between 1 and 16384"},
		{set(keyDim, uint32(1<<31)), fault.Invalid, "static.embedding_length is 2147483648"},
		{set(keyDim, int32(64)), fault.Invalid, "static.embedding_length is of kind int32 and must be uint32"},
		{set(keyDim, []uint32{64}), fault.Invalid, "static.embedding_length is of kind array of 1 uint32 and must be uint32"},
		{set(keyDim, uint32(32)), fault.Invalid, `tensor "token_embd.weight" is 64 x 104 and must be 32 x 104, for 64 tokens and 40 hashed rows`},
		{set(keyContext, nil), fault.Invalid, "static.context_length is missing"},
		{set(keyContext, uint32(0)), fault.Invalid, "static.context_length is 0 and must be between 1 and 1048576"},
		{set(keyContext, uint32(math.MaxUint32)), fault.Invalid, "static.context_length is 4294967295"},
		{set(keyHashed, nil), fault.Invalid, "static.hash_rows is missing"},
		{set(keyHashed, uint32(math.MaxUint32)), fault.Invalid, "static.hash_rows is 4294967295 and must be between 0 and 16777216"},
		{set(keyHashed, uint32(41)), fault.Invalid, "is 64 x 104 and must be 64 x 105, for 64 tokens and 41 hashed rows"},
		{set(keyThreshold, nan), fault.Invalid, "static.threshold is NaN and must be between -1 and 1"},
		{set(keyThreshold, float32(1.5)), fault.Invalid, "static.threshold is 1.5 and"},
		{set(keyThreshold, "high"), fault.Invalid, "static.threshold is of kind string and must be float32"},
		{set(keyModel, nil), fault.Invalid, "tokenizer.ggml.model is missing"},
		{set(keyModel, "gpt2"), fault.Unsupported, `tokenizer.ggml.model is "gpt2" and must be "static"`},
		{set(keyTokens, nil), fault.Invalid, "tokenizer.ggml.tokens is missing"},
		{set(keyTokens, []int32{1}), fault.Invalid, "tokenizer.ggml.tokens is of kind array of 1 int32 and must be array of string"},
		{set(keyTokens, "a b c"), fault.Invalid, "tokenizer.ggml.tokens is of kind string and must be array of string"},
		{tokens(), fault.Invalid, "tokenizer.ggml.tokens is empty: the table has no words"},
		{tokens("▁a", "▁b", ""), fault.Invalid, "token 2 is empty"},
		{tokens("▁a", "▁b", "▁a"), fault.Invalid, `tokens 0 and 2 are both "▁a"`},
		{tokens("▁a", "\xe2\x96"), fault.Invalid, `token 1 is "\xe2\x96", which is not UTF-8`},
		{tokens(strings.Repeat("a", 257)), fault.Invalid, "token 0 is 257 bytes long, and may be 256"},
		{func(r *recipe) { r.noTensor = true }, fault.Invalid, `tensor "token_embd.weight" is missing`},
		{func(r *recipe) { r.name = "output.weight" }, fault.Invalid, `tensor "token_embd.weight" is missing`},
		{func(r *recipe) { r.another = true }, fault.Invalid, `tensor "another.weight" is not part of a table`},
		{func(r *recipe) { r.typ = gguf.Q4_0 }, fault.Unsupported, `tensor "token_embd.weight" is q4_0; f32, f16 and q8_0 are read here`},
		{func(r *recipe) { r.dims = []uint64{64} }, fault.Invalid, `tensor "token_embd.weight" is 64 and must be 64 x 104`},
		{func(r *recipe) { r.dims = []uint64{64, 2, 52} }, fault.Invalid, "is 64 x 2 x 52 and must be 64 x 104"},
		{func(r *recipe) { r.dims = []uint64{64, 64} }, fault.Invalid, "is 64 x 64 and must be 64 x 104"},
		{value(gguf.F32, nan), fault.Invalid, `row 103 of tensor "token_embd.weight" holds NaN: values are finite`},
		{value(gguf.F32, -inf), fault.Invalid, `row 103 of tensor "token_embd.weight" holds -Inf`},
		{value(gguf.F32, 1e30), fault.Invalid, `row 103 of tensor "token_embd.weight" holds 1e+30: values are finite and at most 16777216`},
		{value(gguf.F16, nan), fault.Invalid, "holds NaN"},
		{value(gguf.F16, inf), fault.Invalid, "holds +Inf"},
		{value(gguf.Q8_0, nan), fault.Invalid, `row 103 of tensor "token_embd.weight" has the scale NaN`},
		{value(gguf.Q8_0, inf), fault.Invalid, "has the scale +Inf"},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := small()
			c.change(&r)
			_, err := Parse(context.Background(), "some.gguf", r.encode(t))
			if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind {
				t.Errorf("got  %v: %v\nwant %v: %s", fault.KindOf(err), err, c.kind, c.want)
			} else if !strings.HasPrefix(err.Error(), "static: open: some.gguf: ") {
				t.Errorf("the error names neither operation nor file: %v", err)
			}
		})
	}
}

// A file cut short anywhere, or that is none, is refused with a reason.
func TestRefuseDamage(t *testing.T) {
	data := small().encode(t)
	for n := 0; n < len(data); n += 1 + n/5 {
		if _, err := Parse(context.Background(), "cut", data[:n]); fault.KindOf(err) != fault.Invalid {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bert := small()
	bert.set = map[string]any{"general.architecture": "bert"}
	empty := small()
	empty.tokens = nil
	for _, c := range []struct {
		path string
		kind fault.Kind
		want string
	}{
		{filepath.Join(dir, "none.gguf"), fault.NotFound, "none.gguf"},
		{dir, fault.Invalid, "is not a file but a folder"},
		{write("page.gguf", []byte("<html>")), fault.Invalid, "a web page: the download failed"},
		{write("bert.gguf", bert.encode(t)), fault.Unsupported, `bert.gguf: the file is of architecture "bert"`},
		{write("empty.gguf", empty.encode(t)), fault.Invalid, "empty.gguf: tokenizer.ggml.tokens is empty"},
	} {
		_, err := Open(context.Background(), c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind || !strings.HasPrefix(err.Error(), "static: open: ") {
			t.Errorf("got  %v: %v\nwant %v: %s", fault.KindOf(err), err, c.kind, c.want)
		}
	}
}
