package llamacpp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// recurrentModels are one all of whose layers are recurrent, and one that attends, too.
func recurrentModels() map[string]func(*testing.T) string {
	return map[string]func(*testing.T) string{"recurrent": mamba, "hybrid": hybrid}
}

// What a recurrent model remembers at a segment's end comes back exactly: also where
// segments in between are computed, in another engine, after other prompts, and after
// what was refused.
func TestRecurrentWarmEqualsCold(t *testing.T) {
	for name, file := range recurrentModels() {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			e, err := openFile(t, path, func(c *Config) { c.piece = 2 << 10 }) // a slice is one piece all the same
			if err != nil {
				t.Fatal(err)
			}
			if i := e.Info(); i.NoSlices != "" || i.BytesPerToken <= 0 || !strings.Contains(i.NoParallel, "is recurrent") {
				t.Fatalf("no slices %q, %d bytes per token, not parallel %q", i.NoSlices, i.BytesPerToken, i.NoParallel)
			}
			testLengths(t, e)
			testSubsets(t, e)
			other, err := openFile(t, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			p := newNumbers(33).prompt(percached.Sequential, 12, 50, 40, 9)
			cold := generate(t, e, p)
			captured := generate(t, e, capturing(p))
			equal(t, "captured", cold, captured)
			for mask := range 8 {
				for _, e := range []*Engine{e, other} {
					equal(t, fmt.Sprintf("stored %03b", mask), cold, generate(t, e, with(p, captured.Slices, mask)))
				}
			}
			q := p
			q.Placement = percached.Parallel
			if _, err := e.Generate(t.Context(), q, nil); fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), e.Info().NoParallel) {
				t.Errorf("chunks side by side: %v", err)
			}
			equal(t, "after what was refused", cold, generate(t, e, with(p, captured.Slices, 0b111)))
		})
	}
}

// A slice of another chunk that is dressed up to pass every check changes the answer.
func TestWrongRecurrentSliceChangesAnswer(t *testing.T) {
	for name, file := range recurrentModels() {
		e, err := openFile(t, file(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newNumbers(5)
		a, b := r.prompt(percached.Sequential, 20, 50, 9), r.prompt(percached.Sequential, 20, 50, 9)
		b.Segments[0] = a.Segments[0]
		cold, other := generate(t, e, capturing(a)), generate(t, e, capturing(b))
		forged := *cold.Slices[1]
		forged.Pieces = slices.Clone(other.Slices[1].Pieces)
		if warm := generate(t, e, with(a, []*percached.Slice{cold.Slices[0], &forged, nil}, 0b11)); slices.Equal(cold.Logits, warm.Logits) {
			t.Errorf("%s: a wrong slice changed nothing", name)
		}
	}
}

// A slice that is wrong in one thing is refused for that thing.
func TestRefuseRecurrentSlices(t *testing.T) {
	for name, file := range recurrentModels() {
		e, err := openFile(t, file(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := newNumbers(12).prompt(percached.Sequential, 20, 50, 30, 9)
		cold := generate(t, e, capturing(p))
		l := e.cache.layout.recurrent
		at := func(field int, v uint32) spoil {
			return func(s *percached.Slice) {
				b := s.Pieces[0].KV
				binary.LittleEndian.PutUint32(b[len(b)-l.size()+4*field:], v)
				s.Pieces[0].Sum = s.Pieces[0].Checksum()
			}
		}
		for _, b := range []badSlice{
			{"no cell", at(0, 0), "has 0 cells instead of 1"},
			{"two cells", at(0, 2), "has 2 cells instead of 1"},
			{"position", at(1, 70), "has 70 as the last position instead of 69"},
			{"position before all", at(1, 1<<31), "as the last position instead of 69"},
			{"a sequence", at(2, 1), "has 1 sequences instead of 0"},
			{"the other way round", at(3, 1), "has 1 as the order of states instead of 0"},
			{"layers", at(4, 3), "has 3 layers instead of 2"},
			{"type", at(5, 1), "of type 1 instead of"},
			{"size", at(6, 8), "has 8 bytes of type 0"},
			{"size without end", at(7, 1<<31), "instead of"},
			{"a bit", func(s *percached.Slice) { s.Pieces[0].KV[len(s.Pieces[0].KV)-l.size()+recurrentHead+recordHead] ^= 4 }, "is damaged"},
			{"a byte too few", func(s *percached.Slice) {
				k := s.Pieces[0].KV
				s.Pieces[0].KV = k[:len(k)-1]
				s.Pieces[0].Sum = s.Pieces[0].Checksum()
			}, "50 tokens take"},
		} {
			stored := slices.Clone(cold.Slices)
			stored[1] = cloneSlice(stored[1])
			b.spoil(stored[1])
			_, err := e.Generate(t.Context(), with(p, stored, 0b111), nil)
			var refused *percached.SliceError
			if !errors.As(err, &refused) || refused.Segment != 1 || !strings.Contains(refused.Reason, b.want) {
				t.Errorf("%s, %s: %v, want %q", name, b.name, err, b.want)
			}
		}
		equal(t, "after them all", cold, generate(t, e, with(p, cold.Slices, 0b111)))
	}
}

// States that are not numbers are not stored.
func TestRecurrentNotFinite(t *testing.T) {
	l := &recurrentLayout{layers: 1, records: []recurrentRecord{{0, 8}, {1, 4}}}
	b := make([]byte, l.size())
	if !l.finite(b) {
		t.Error("zeros are not numbers")
	}
	for _, at := range []int{recurrentHead + recordHead, recurrentHead + recordHead + 4} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			c := slices.Clone(b)
			binary.LittleEndian.PutUint32(c[at:], math.Float32bits(float32(v)))
			if l.finite(c) {
				t.Errorf("%v at %d is a number", v, at)
			}
		}
	}
	binary.LittleEndian.PutUint16(b[len(b)-2:], 0x7c00)
	if l.finite(b) {
		t.Error("an infinite half is a number")
	}
	if why := l.tooLarge(); why != "" {
		t.Error(why)
	}
	l.records[0].size = 30 << 20
	if why := l.tooLarge(); !strings.Contains(why, "30 MiB for each chunk, more than 16") {
		t.Error(why)
	}
}
