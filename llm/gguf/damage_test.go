package gguf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// small is a legal file with a bit of everything, about 1 KB.
func small() *Builder {
	b := &Builder{}
	b.Set("general.architecture", "llama")
	b.Set("a.uint8", uint8(200))
	b.Set("a.int8", int8(-3))
	b.Set("a.uint16", uint16(60000))
	b.Set("a.int16", int16(-300))
	b.Set("a.int32", int32(-70000))
	b.Set("a.float32", float32(0.5))
	b.Set("a.bool", true)
	b.Set("a.uint64", uint64(1)<<63)
	b.Set("a.int64", int64(-1)<<40)
	b.Set("a.float64", 0.25)
	b.Set("l.strings", []string{"one", "", "three"})
	b.Set("l.floats", []float32{1, -2, 3.5})
	b.Set("l.ints", []int32{7, -8})
	b.Set("l.bools", []bool{true, false})
	b.Set("l.none", []uint16{})
	b.Tensor("uno", F32, []uint64{4, 2}, FromFloats([]float32{1, 2, 3, 4, 5, 6, 7, 8}))
	b.Tensor("two", F32, []uint64{3}, FromFloats([]float32{9, 10, 11}))
	return b
}

func encode(t testing.TB, b *Builder) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := b.WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// at finds what stands n bytes behind a text in the file.
func at(t *testing.T, data []byte, text string, n int) []byte {
	t.Helper()
	i := bytes.Index(data, []byte(text))
	if i < 0 {
		t.Fatalf("%q is not in the file", text)
	}
	return data[i+len(text)+n:]
}

// patched overwrites what stands n bytes behind a text.
func patched(text string, n int, v any) func(*testing.T, []byte) []byte {
	return func(t *testing.T, data []byte) []byte {
		var w bytes.Buffer
		put(&w, v)
		copy(at(t, data, text, n), w.Bytes())
		return data
	}
}

func header(n int, v any) func(*testing.T, []byte) []byte { return patched("GGUF", n-4, v) }

func cut(n int) func(*testing.T, []byte) []byte {
	return func(_ *testing.T, data []byte) []byte {
		if n < 0 {
			return data[:len(data)+n]
		}
		return data[:n]
	}
}

func begins(text string) func(*testing.T, []byte) []byte {
	return func(*testing.T, []byte) []byte { return append([]byte(text), make([]byte, 600)...) }
}

func TestOpenRefusesDamage(t *testing.T) {
	const huge = uint64(1) << 60
	for _, c := range []struct {
		name   string
		damage func(*testing.T, []byte) []byte
		kind   fault.Kind
		want   string
	}{
		{"empty", cut(0), fault.Invalid, "the file is empty"},
		{"three bytes", cut(3), fault.Invalid, `this is not a GGUF file: it begins with "GGU"`},
		{"magic alone", cut(4), fault.Invalid, "the file is cut short: the header takes 24 bytes, but the file ends at byte 4"},
		{"header alone", cut(24), fault.Invalid, "the file is cut short: the length of a metadata key at byte 24 takes 8 bytes, but the file ends at byte 24"},
		{"cut in a key", cut(40), fault.Invalid, "a metadata key at byte 32 takes 20 bytes, but the file ends at byte 40"},
		{"cut in metadata", cut(400), fault.Invalid, "the file is cut short"},
		{"cut in data", cut(-40), fault.Invalid, `the file is cut short: tensor "uno" ends at byte 640, but the file ends at byte 632 (8 bytes are missing)`},
		{"safetensors", begins("\x40\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":"), fault.Invalid, "not a GGUF file but a safetensors file"},
		{"zip", begins("PK\x03\x04"), fault.Invalid, "not a GGUF file but a zip archive (PyTorch files are such)"},
		{"pickle", begins("\x80\x02}q"), fault.Invalid, "not a GGUF file but a Python pickle"},
		{"ELF", begins("\x7fELF\x02"), fault.Invalid, "not a GGUF file but an ELF program"},
		{"web page", begins("\n <!DOCTYPE html><html>"), fault.Invalid, "not a GGUF file but a web page: the download failed"},
		{"JSON", begins(`{"error": "unauthorized"}`), fault.Invalid, "not a GGUF file but JSON text"},
		{"LFS pointer", begins("version https://git-lfs.github.com/spec/v1\n"), fault.Invalid, "not a GGUF file but a Git LFS pointer"},
		{"gzip", begins("\x1f\x8b\x08"), fault.Invalid, "not a GGUF file but gzip-compressed"},
		{"old GGML", begins("lmgg"), fault.Invalid, "not a GGUF file but a GGML file from before GGUF"},
		{"zeros", begins("\x00\x00\x00\x00"), fault.Invalid, `it begins with "\x00\x00\x00\x00"`},
		{"version 1", header(4, uint32(1)), fault.Unsupported, "GGUF version 1 went out of use in 2023"},
		{"version 0", header(4, uint32(0)), fault.Unsupported, "GGUF version 0 is not known here: versions 2 and 3 are read"},
		{"version 4", header(4, uint32(4)), fault.Unsupported, "GGUF version 4 is not known here"},
		{"big endian", header(4, uint32(3<<24)), fault.Unsupported, "the file is big endian (version 0x3000000): only little-endian files are read"},
		{"tensors without end", header(8, huge), fault.Invalid, "the header claims 1152921504606846976 tensors; no model has more than 32768"},
		{"keys without end", header(16, huge), fault.Invalid, "the header claims 1152921504606846976 metadata keys; no model has more than 16384"},
		{"one key too many", header(16, uint64(17)), fault.Invalid, "a tensor's name at byte 529 is 562949953421312 bytes long"},
		{"one tensor too many", header(8, uint64(3)), fault.Invalid, `tensor 2 at byte 590 is called "", which is not a name`},
		{"long key", header(24, huge), fault.Invalid, "a metadata key at byte 24 is 1152921504606846976 bytes long, and may be 65535"},
		{"empty key", header(24, uint64(0)), fault.Invalid, `metadata key 0 at byte 24 is "", not a name`},
		{"key with a zero byte", patched("GGUF", 28, [2]byte{'g', 0}), fault.Invalid, `not a name`},
		{"key twice", patched("a.int3", -1, [2]byte{'1', '6'}), fault.Invalid, `metadata key "a.int16" stands twice, at bytes`},
		{"kind unknown", patched("a.uint8", 0, uint32(13)), fault.Invalid, `the value of "a.uint8" at byte 84 has kind 13, which GGUF does not know`},
		{"string without end", patched("general.architecture", 4, huge), fault.Invalid, `the value of "general.architecture" at byte 56 is 1152921504606846976 bytes long`},
		{"string behind the end", patched("general.architecture", 4, uint64(100000)), fault.Invalid, `the value of "general.architecture" at byte 64 takes 100000 bytes, but the file ends`},
		{"bool of 2", patched("a.bool", 4, [1]byte{2}), fault.Invalid, `the value of "a.bool" at byte 213 holds a bool that is 2`},
		{"bool of 3 in a list", patched("l.bools", 17, [1]byte{3}), fault.Invalid, "holds a bool that is 3 (element 1)"},
		{"array of arrays", patched("l.ints", 4, uint32(9)), fault.Unsupported, `the value of "l.ints" at byte 429 is an array of arrays, which llama.cpp cannot read`},
		{"array of what", patched("l.ints", 4, uint32(77)), fault.Invalid, "is an array of kind 77, which GGUF does not know"},
		{"numbers without end", patched("l.ints", 8, huge<<2), fault.Invalid, "claims 4611686018427387904 elements of 4 bytes, but the file ends"},
		{"numbers behind the end", patched("l.ints", 8, uint64(200)), fault.Invalid, `the file is cut short: the value of "l.ints" at byte 441 takes 800 bytes, but the file ends at byte 672`},
		{"strings without end", patched("l.strings", 8, huge), fault.Invalid, "claims 1152921504606846976 strings, but the file ends"},
		{"one string without end", patched("l.strings", 16, huge), fault.Invalid, `string 0 of the value of "l.strings" at byte 335 claims 1152921504606846976 bytes`},
		{"name too long", patched("l.none", 16, uint64(64)), fault.Invalid, "the name of tensor 0 at byte 512 is 64 bytes long; llama.cpp takes 63"},
		{"name empty", patched("l.none", 16, uint64(0)), fault.Invalid, `tensor 0 at byte 512 is called "", which is not a name`},
		{"tensor twice", patched("two", -3, [3]byte{'u', 'n', 'o'}), fault.Invalid, `tensor "uno" stands twice in the directory`},
		{"no dimensions", patched("uno", 0, uint32(0)), fault.Invalid, "0 dimensions; 1 to 4 are possible"},
		{"dimensions of 0", patched("two", 4, uint64(0)), fault.Invalid, `dimension 0 of tensor "two" is 0`},
		{"five dimensions", patched("two", 0, uint32(5)), fault.Invalid, `tensor "two" at byte 566 has 5 dimensions; 1 to 4 are possible`},
		{"dimensions that overflow", patched("two", -31, uint64(1)<<63), fault.Invalid, `the dimensions of tensor "uno" multiply to more than 2^62`},
		{"tensor larger than the file", patched("two", 4, uint64(1)<<40), fault.Invalid, `tensor "two" takes 1099511627776 values of f32: more than the whole file of`},
		{"type unknown", patched("two", 12, uint32(40)), fault.Invalid, `tensor "two" has type 40, which is not known`},
		{"type taken back", patched("two", 12, uint32(4)), fault.Invalid, `tensor "two" has type 4, which is not known`},
		{"row of no whole blocks", patched("two", 12, uint32(8)), fault.Invalid, `tensor "two" has rows of 3 values; q8_0 needs a multiple of 32`},
		{"offset not aligned", patched("two", 16, uint64(33)), fault.Invalid, `tensor "two" starts at byte 33 of the data, which is not a multiple of the alignment 32`},
		{"offset behind the end", patched("two", 16, huge), fault.Invalid, `tensor "two" starts at byte 1152921504606846976 of the data; the file has`},
		{"overlap", patched("two", 16, uint64(0)), fault.Invalid, "overlap at byte"},
		{"text", func(_ *testing.T, d []byte) []byte { return bytes.ToValidUTF8(d, []byte("\ufffd")) }, fault.Invalid, "took it for text and replaced bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.damage(t, encode(t, small()))
			path := filepath.Join(t.TempDir(), "damaged.gguf")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if err == nil {
				t.Fatal("Open took it")
			}
			if !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind {
				t.Errorf("got  %v: %v\nwant %v: %s", fault.KindOf(err), err, c.kind, c.want)
			}
			if !strings.HasPrefix(err.Error(), "gguf: read: damaged.gguf: ") || strings.Count(err.Error(), "gguf: read") != 1 {
				t.Errorf("the error does not name operation and file once: %v", err)
			}
		})
	}
}

func TestAlignment(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{uint32(64), ""},
		{uint32(1), ""},
		{uint32(0), "general.alignment is 0 and must be a power of two"},
		{uint32(48), "general.alignment is 48 and must be a power of two"},
		{uint32(1 << 31), "general.alignment is 2147483648 and must be a power of two"},
		{uint64(32), "general.alignment is a uint64 and must be a uint32"},
		{[]uint32{32}, "general.alignment is an array of 1 uint32 and must be a uint32"},
	} {
		b := &Builder{}
		b.Set("general.alignment", c.value)
		if v, ok := c.value.(uint32); ok && v > 0 && v <= 64 {
			b.Alignment = v
		}
		b.Tensor("x", F32, []uint64{3}, FromFloats([]float32{1, 2, 3}))
		b.Tensor("y", F32, []uint64{1}, FromFloats([]float32{4}))
		data := encode(t, b)
		f, err := Parse(bytes.NewReader(data), int64(len(data)))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		case c.want == "":
			if v, err := f.Values("y"); err != nil || v[0] != 4 {
				t.Errorf("%v: %v, %v", c.value, v, err)
			}
		}
	}
}

func TestOpenNotAFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(dir); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "is not a file but a folder") {
		t.Errorf("folder: %v", err)
	}
}

// A claim of gigabytes in a file of a kilobyte must not cost gigabytes.
func TestHostileCountsCostNothing(t *testing.T) {
	data := encode(t, small())
	binary.LittleEndian.PutUint64(at(t, data, "l.strings", 8), 100)
	n := testing.AllocsPerRun(5, func() {
		if _, err := Parse(bytes.NewReader(data), int64(len(data))); err == nil {
			t.Error("it was taken")
		}
	})
	if n > 500 {
		t.Errorf("%v allocations", n)
	}
}
