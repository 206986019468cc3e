package retrieval

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// Every finite half stays itself, every half becomes a finite number, and a number
// becomes the half nearest to it.
func TestHalves(t *testing.T) {
	for h := range uint32(1 << 16) {
		if f := float64(fromHalf(uint16(h))); math.IsInf(f, 0) || math.IsNaN(f) {
			t.Fatalf("%x is %v", h, f)
		}
		if h>>10&0x1f == 0x1f { // infinite or not a number: never stored
			continue
		}
		if back := toHalf(fromHalf(uint16(h))); back != uint16(h) {
			t.Fatalf("%04x became %04x", h, back)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		f := float32(r.NormFloat64() * math.Pow(2, float64(r.IntN(40)-28)))
		got := float64(fromHalf(toHalf(f)))
		for _, step := range []int{-1, 1} {
			if other := float64(fromHalf(uint16(int(toHalf(f)) + step))); math.Abs(got-float64(f)) > math.Abs(other-float64(f)) && math.Signbit(other) == math.Signbit(got) {
				t.Fatalf("%v became %v, %v is nearer", f, got, other)
			}
		}
	}
	inf := float32(math.Inf(1))
	for in, want := range map[float32]float32{inf: maxHalf, -inf: -maxHalf, 1e9: maxHalf, 1e-12: 0} {
		if got := fromHalf(toHalf(in)); got != want {
			t.Errorf("%v became %v", in, got)
		}
	}
	if got := fromHalf(toHalf(float32(math.NaN()))); got != 0 {
		t.Error(got)
	}
}

func TestDot(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := range 70 {
		a, b := make([]float32, n), make([]float32, n)
		want := 0.0
		for i := range a {
			a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			want += float64(a[i]) * float64(b[i])
		}
		if got := float64(percached.Dot(a, b)); math.Abs(got-want) > 1e-4 {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	r := record{Seen: 9, Active: generation{Number: 2, Embedder: "e", Dimensions: 64, Seq: 8}, Next: &generation{Number: 3, Dimensions: 1}}
	got, err := decodeRecord(r.encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got); d != "" {
		t.Error(d)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record{Seen: 1, Active: generation{Dimensions: 3}}.encode())
	f.Add([]byte{formatSpace, '{', '}'})
	f.Add([]byte{formatSpace + 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil && (r.Active.Dimensions < 0 || r.Active.Dimensions > maxDimensions) {
			t.Error(r)
		}
	})
}

func FuzzVector(f *testing.F) {
	f.Add(encodeVector(7, toHalves([]float32{1, -2, 0.5})))
	f.Add([]byte{formatVector})
	f.Fuzz(func(t *testing.T, b []byte) {
		v := make([]uint16, 3)
		if version, ok := decodeVector(b, v); ok {
			if version == 0 {
				t.Error("a version of none")
			}
			for _, h := range v {
				if x := fromHalf(h); math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Error(v)
				}
			}
		}
	})
}
