package gguf

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

func TestRoundTrip(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		b := small()
		b.Version = version
		path := filepath.Join(t.TempDir(), "x.gguf")
		if err := b.WriteFile(path, nil); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.version != version || f.alignment != 32 || f.dataOffset%32 != 0 {
			t.Errorf("version %d, alignment %d, data at %d", f.version, f.alignment, f.dataOffset)
		}
		if len(f.Keys()) != len(b.pairs) {
			t.Errorf("keys: %v", f.Keys())
		}
		for _, p := range b.pairs {
			if got := readBack(f, p.key); !reflect.DeepEqual(got, p.value) {
				t.Errorf("%s: got %T %v, want %T %v", p.key, got, got, p.value, p.value)
			}
		}
		one, _ := f.Values("uno")
		two, _ := f.Values("two")
		if !reflect.DeepEqual(one, []float32{1, 2, 3, 4, 5, 6, 7, 8}) || !reflect.DeepEqual(two, []float32{9, 10, 11}) {
			t.Errorf("values: %v %v", one, two)
		}
		if tn, ok := f.Tensor("two"); !ok || tn.Type != F32 || !reflect.DeepEqual(tn.Dims, []uint64{3}) || tn.Size != 12 {
			t.Errorf("tensor: %+v", tn)
		}
		if _, err := os.Stat(path + ".part"); err == nil {
			t.Error("the unfinished file was left")
		}
	}
}

// readBack reads a value back as the type it was written as.
func readBack(f *File, key string) any {
	kind, n, _ := f.Kind(key)
	if n >= 0 {
		ints, _ := f.Ints(key)
		reals, _ := f.Floats(key)
		list, _ := f.Strs(key)
		switch kind {
		case KindString:
			return list
		case KindFloat32:
			return narrow[float32](reals)
		case KindInt32:
			return narrow[int32](ints)
		case KindUint16:
			return narrow[uint16](ints)
		case KindBool:
			raw := f.meta[key].raw
			out := make([]bool, len(raw))
			for i := range raw {
				out[i] = raw[i] == 1
			}
			return out
		}
		return nil
	}
	u, _ := f.Uint(key)
	i, _ := f.Int(key)
	x, _ := f.Float(key)
	s, _ := f.Str(key)
	v, _ := f.Bool(key)
	return map[Kind]any{
		KindUint8: uint8(u), KindInt8: int8(i), KindUint16: uint16(u), KindInt16: int16(i), KindUint32: uint32(u),
		KindInt32: int32(i), KindUint64: u, KindInt64: i, KindFloat32: float32(x), KindFloat64: x, KindString: s, KindBool: v,
	}[kind]
}

func narrow[To, From int32 | uint16 | float32 | int64 | float64](in []From) []To {
	out := make([]To, len(in))
	for i := range in {
		out[i] = To(in[i])
	}
	return out
}

// A value of the wrong kind is as good as none, never a wrong one.
func TestGettersHoldKinds(t *testing.T) {
	data := encode(t, small())
	f, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"negative as Uint", second(f.Uint("a.int8"))},
		{"2^63 as Int", second(f.Int("a.uint64"))},
		{"string as Uint", second(f.Uint("general.architecture"))},
		{"number as Str", second(f.Str("a.uint8"))},
		{"list as Str", second(f.Str("l.strings"))},
		{"number as Bool", second(f.Bool("a.uint8"))},
		{"bool as Float", second(f.Float("a.bool"))},
		{"floats as Ints", second(f.Ints("l.floats"))},
		{"strings as Floats", second(f.Floats("l.strings"))},
		{"floats as Strs", second(f.Strs("l.floats"))},
		{"nothing", f.Has("nothing")},
	} {
		if c.ok {
			t.Errorf("%s was taken", c.what)
		}
	}
	if f.Len("l.strings") != 3 || f.Len("l.none") != 0 || f.Len("a.int8") != 0 {
		t.Error("lengths are wrong")
	}
}

func second[T any](_ T, ok bool) bool { return ok }

func TestBuilderRefuses(t *testing.T) {
	fill := FromFloats(nil)
	for want, do := range map[string]func(b *Builder){
		`key "k" is set twice`:             func(b *Builder) { b.Set("k", true); b.Set("k", true) },
		`key "k": a int cannot be written`: func(b *Builder) { b.Set("k", 1) },
		`tensor "t" is added twice`:        func(b *Builder) { b.Tensor("t", F32, []uint64{1}, fill); b.Tensor("t", F32, []uint64{1}, fill) },
		`tensor "t": q8_0 cannot hold`:     func(b *Builder) { b.Tensor("t", Q8_0, []uint64{33}, fill) },
		`tensor "t": f32 cannot hold`:      func(b *Builder) { b.Tensor("t", F32, nil, fill) },
		`tensor "t": type(99) cannot hold`: func(b *Builder) { b.Tensor("t", 99, []uint64{4}, fill) },
		`tensor "t": 0 values are too few`: func(b *Builder) { b.Tensor("t", F32, []uint64{4}, fill) },
		`tensor "t": the well is dry`: func(b *Builder) {
			b.Tensor("t", F32, []uint64{4}, func([]byte, int64) error { return errors.New("the well is dry") })
		},
	} {
		b := &Builder{}
		do(b)
		dir := t.TempDir()
		err := b.WriteFile(filepath.Join(dir, "x"), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "gguf: write: ") {
			t.Errorf("got %v, want %s", err, want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %s was left", want, left[0].Name())
		}
	}
	if err := small().WriteFile(filepath.Join(t.TempDir(), "no", "folder"), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		v := FromHalf(uint16(h))
		if v != v {
			if r := FromHalf(half(v)); r == r {
				t.Fatalf("%#04x is not a number, and comes back as %v", h, r)
			}
			continue
		}
		if got := half(v); got != uint16(h) {
			t.Fatalf("%#04x is %v and comes back as %#04x", h, v, got)
		}
	}
	for v, want := range map[float32]uint16{
		1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, float32(math.Inf(-1)): 0xfc00,
		5.9604645e-08: 1, 2.9802322e-08: 0, 2.9802326e-08: 1, 1e-30: 0, 1.0004883: 0x3c00, 1.0004885: 0x3c01, 0.33325195: 0x3555,
	} {
		if got := half(v); got != want {
			t.Errorf("half(%v) = %#04x, want %#04x", v, got, want)
		}
	}
}

// The quantised layouts as ggml defines them, by hand.
func TestValues(t *testing.T) {
	raw := map[Type][]byte{
		F16:  {0x00, 0x3c, 0x00, 0xc0},
		BF16: {0x80, 0x3f, 0x00, 0xc0},
		Q8_0: append([]byte{0x00, 0x38}, 4, 0xfe), // scale 0.5
		Q4_0: {0x00, 0x40, 0x9a, 0x0f},            // scale 2
	}
	want := map[Type]map[int]float32{
		F16: {0: 1, 1: -2}, BF16: {0: 1, 1: -2}, Q8_0: {0: 2, 1: -1, 2: 0},
		Q4_0: {0: 4, 16: 2, 1: 14, 17: -16, 2: -16},
	}
	b := &Builder{}
	for typ, bytes := range raw {
		n := uint64(2)
		if typ == Q8_0 || typ == Q4_0 {
			n = 32
		}
		b.Tensor(typ.String(), typ, []uint64{n}, func(p []byte, _ int64) error {
			clear(p)
			copy(p, bytes)
			return nil
		})
	}
	b.Tensor("odd", 10, []uint64{256}, func(p []byte, _ int64) error { return nil })
	data := encode(t, b)
	f, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for typ, values := range want {
		got, err := f.Values(typ.String())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if got[i] != v {
				t.Errorf("%v value %d: got %v, want %v", typ, i, got[i], v)
			}
		}
	}
	if _, err := f.Values("odd"); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
	if _, err := f.Values("none"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}
