package llamacpp

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// half cuts a number to half precision, and takes the smallest for 0.
func half(f float32) uint16 {
	b := math.Float32bits(f)
	if math.Abs(float64(f)) < 0x1p-14 {
		return 0
	}
	return uint16(b>>16&0x8000) | uint16((b>>23&255)-112)<<10 | uint16(b>>13&1023)
}

// packedLayouts are states of several widths, with a window, with later versions' lead,
// and with a recurrent state behind.
func packedLayouts() map[string]*layout {
	row := func(n uint64) layerLayout {
		return layerLayout{keyType: 1, valueType: 1, keyRow: n, valueRow: n}
	}
	return map[string]*layout{
		"plain":     {layers: []layerLayout{row(64), row(384)}},
		"window":    {layers: []layerLayout{row(128)}, window: &layout{layers: []layerLayout{row(192)}}},
		"lead":      {lead: blobLead, layers: []layerLayout{row(64)}},
		"recurrent": {layers: []layerLayout{row(64)}, recurrent: &recurrentLayout{layers: 3, records: []recurrentRecord{{0, 40}, {0, 17}}}},
	}
}

// randomState has large channels in its keys, as models have.
func randomState(l *layout, n int, r *rand.Rand) []byte {
	var b []byte
	l.each(n, percached.Q8, func(_ pcPacking, size, width int) {
		if width == 0 {
			part := make([]byte, size)
			for i := range part {
				part[i] = byte(r.Uint32())
			}
			b = append(b, part...)
			return
		}
		for i := range size / 2 {
			v := r.NormFloat64()
			if i%width == 5 {
				v = v + 30
			}
			b = binary.LittleEndian.AppendUint16(b, half(float32(v)))
		}
	})
	return b
}

// What is packed comes back nearly equal, and everything else unchanged.
func TestPackedComesBackNearly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, l := range packedLayouts() {
		for _, n := range []int{1, 2, 31, 33, 47, 48, 100} {
			b := randomState(l, n, r)
			if len(b) != l.size(n) {
				t.Fatalf("%s: the parts of %d tokens have %d bytes instead of %d", name, n, len(b), l.size(n))
			}
			for form, tolerance := range map[percached.Form]float64{percached.Q8: 0.13, percached.Q4: 0.45} {
				packed := l.pack(b, n, form)
				if len(packed) != l.packedSize(n, form) {
					t.Fatalf("%s: %d tokens in form %s have %d bytes instead of %d", name, n, form, len(packed), l.packedSize(n, form))
				}
				got, err := l.unpack(packed, n, form)
				if err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				from := 0
				l.each(n, form, func(_ pcPacking, size, width int) {
					a, c := b[from:from+size], got[from:from+size]
					from += size
					if width == 0 {
						if !bytes.Equal(a, c) {
							t.Errorf("%s, %d tokens, %s: bytes that are no keys and values changed", name, n, form)
						}
						return
					}
					for i := 0; i < size; i += 2 {
						x, y := fromHalf(binary.LittleEndian.Uint16(a[i:])), fromHalf(binary.LittleEndian.Uint16(c[i:]))
						if i/2%width >= 32 { // not beside the large channel
							worst = max(worst, math.Abs(x-y))
						}
					}
				})
				if worst > tolerance {
					t.Errorf("%s, %d tokens, %s: a number is off by %.3f, more than %.3f", name, n, form, worst, tolerance)
				}
			}
		}
	}
}

// The aim: the form of 4 bits holds three times as many tokens in the same bytes.
func TestPackedIsSmaller(t *testing.T) {
	l := &layout{layers: slices.Repeat([]layerLayout{{keyType: 1, valueType: 1, keyRow: 384, valueRow: 384}}, 30)}
	for form, least := range map[percached.Form]float64{percached.Q8: 1.85, percached.Q4: 3} {
		if times := float64(l.size(45)) / float64(l.packedSize(45, form)); times < least {
			t.Errorf("%s is %.2f times smaller, less than %.2f", form, times, least)
		}
	}
}

func packedSlice(t *testing.T, e *Engine, s *percached.Slice, to percached.Form) *percached.Slice {
	t.Helper()
	packed, err := e.Pack(s, to)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// A run with packed slices restores them, is the same each time, and captures nothing that
// was computed behind one.
func TestPackedSlicesAreRestored(t *testing.T) {
	e := open(t, tiny, nil)
	for _, form := range []percached.Form{percached.Q8, percached.Q4} {
		for place, captured := range map[percached.Placement][]bool{
			percached.Sequential: {false, false, false, false}, percached.Parallel: {false, false, true, false},
		} {
			p := newNumbers(3).prompt(place, 20, 70, 33, 10)
			cold := generate(t, e, capturing(p))
			sl := slices.Clone(cold.Slices)
			sl[1] = packedSlice(t, e, sl[1], form)
			sl[2] = nil
			p = capturing(p)
			first := generate(t, e, with(p, sl, 0b011))
			if want := len(sl[0].Tokens) + len(sl[1].Tokens); first.Usage.Reused != want {
				t.Errorf("%s, %s: %d tokens were reused instead of %d", place, form, first.Usage.Reused, want)
			}
			for i, want := range captured {
				if got := first.Slices[i] != nil; got != want {
					t.Errorf("%s, %s: captured segment %d: %v instead of %v", place, form, i, got, want)
				}
			}
			if place == percached.Parallel {
				if diff := cmp.Diff(cold.Slices[2], first.Slices[2]); diff != "" {
					t.Errorf("%s: a branch beside a packed one differs: %s", form, diff)
				}
			}
			equal(t, place.String()+" "+form.String()+", again", first, generate(t, e, with(p, sl, 0b011)))
		}
	}
}

func TestPackRefuses(t *testing.T) {
	e := open(t, tiny, nil)
	s := generate(t, e, capturing(newNumbers(3).prompt(percached.Sequential, 20, 70, 10))).Slices[1]
	q4 := packedSlice(t, e, s, percached.Q4)
	for name, try := range map[string]func() error{
		"to a larger form": func() error { _, err := e.Pack(q4, percached.Q8); return err },
		"to its own form":  func() error { _, err := e.Pack(q4, percached.Q4); return err },
		"to exact":         func() error { _, err := e.Pack(s, percached.Exact); return err },
		"another model": func() error {
			other := *s
			other.Model = "other"
			_, err := e.Pack(&other, percached.Q4)
			return err
		},
	} {
		if err := try(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	for _, o := range []func(*Config){
		func(c *Config) { c.KeyType, c.ValueType = "q8_0", "q8_0" },
		func(c *Config) { c.FlashAttn = "off" },
	} {
		other := open(t, tiny, o)
		s := generate(t, other, capturing(newNumbers(3).prompt(percached.Sequential, 20, 70, 10))).Slices[1]
		if _, err := other.Pack(s, percached.Q4); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("the error is %v", err)
		}
	}
}

// No bytes make unpacking fail otherwise than by an error.
func FuzzUnpack(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	all := packedLayouts()
	for _, l := range all {
		f.Add(l.pack(randomState(l, 40, r), 40, percached.Q4), 40, uint8(2))
	}
	f.Fuzz(func(t *testing.T, b []byte, n int, form uint8) {
		if n < 1 || n > 1000 || form < 1 || form > 2 {
			return
		}
		for name, l := range all {
			got, err := l.unpack(b, n, percached.Form(form))
			if err == nil && len(got) != l.size(n) {
				t.Errorf("%s: %d bytes instead of %d", name, len(got), l.size(n))
			}
		}
	})
}

// What each form costs before llama.cpp reads it: the checksum, and unpacking.
func BenchmarkUnpack(b *testing.B) {
	const tokens = 45 // a piece of SmolLM2-135M
	l := &layout{layers: slices.Repeat([]layerLayout{{keyType: 1, valueType: 1, keyRow: 384, valueRow: 384}}, 30)}
	state := randomState(l, tokens, rand.New(rand.NewPCG(1, 1)))
	for _, form := range percached.Forms() {
		b.Run(form.String(), func(b *testing.B) {
			p := percached.Piece{To: tokens, KV: state}
			if form != percached.Exact {
				p.KV = l.pack(state, tokens, form)
			}
			for b.Loop() {
				p.Checksum()
				if form != percached.Exact {
					if _, err := l.unpack(p.KV, tokens, form); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(p.KV)), "bytes")
		})
	}
}
