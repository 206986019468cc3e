package llamacpp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// cloneSlice copies a slice through and through.
func cloneSlice(s *percached.Slice) *percached.Slice {
	c := *s
	c.Tokens = slices.Clone(s.Tokens)
	c.Pieces = slices.Clone(s.Pieces)
	for i := range c.Pieces {
		c.Pieces[i].KV, c.Pieces[i].Q = bytes.Clone(s.Pieces[i].KV), bytes.Clone(s.Pieces[i].Q)
	}
	return &c
}

// A spoil makes a sound slice wrong.
type spoil func(s *percached.Slice)

// field changes a number of the second piece and makes the checksum right
// again; at finds it, given the number of tokens in the piece.
func field(at func(n int) int, v uint32) spoil {
	return state(func(b []byte, n int) []byte {
		binary.LittleEndian.PutUint32(b[at(n):], v)
		return b
	})
}

func state(change func(b []byte, n int) []byte) spoil {
	return func(s *percached.Slice) {
		p := &s.Pieces[1]
		p.KV = change(p.KV, p.To-p.From)
		p.Sum = p.Checksum()
	}
}

// Places of the state's numbers, for a piece of n tokens.
func (l *layout) counts(at int) func(int) int { return func(int) int { return l.lead + at } }

func (l *layout) token(i, at int) func(int) int { return l.counts(blobHead + i*blobToken + at) }

func (l *layout) behindTokens(at int) func(int) int {
	return func(n int) int { return l.lead + blobHead + n*blobToken + at }
}

// keys finds a field at the head of a layer's keys, values of its values.
func (l *layout) keys(layer, at int) func(int) int {
	return func(n int) int {
		pos := l.behindTokens(blobMid)(n)
		for i := range layer {
			pos += 4 + 8 + n*int(l.layers[i].keyRow)
		}
		return pos + at
	}
}

func (l *layout) values(layer, at int) func(int) int {
	return func(n int) int {
		pos := l.keys(len(l.layers), 0)(n)
		for i := range layer {
			pos += 4 + 8 + n*int(l.layers[i].valueRow)
		}
		return pos + at
	}
}

type badSlice struct {
	name  string
	spoil spoil
	want  string
}

func badSlices(l *layout, start int) []badSlice {
	bad := []badSlice{
		{"other model", func(s *percached.Slice) { s.Model = "0123456789abcdef" }, "another model or other settings (0123456789ab, not"},
		{"no model", func(s *percached.Slice) { s.Model = "" }, "another model or other settings (, not"},
		{"other path", func(s *percached.Slice) { s.Path[7] ^= 1 }, "computed behind other segments"},
		{"other place", func(s *percached.Slice) { s.Start++ }, "begins at position 21 instead of 20"},
		{"place before all", func(s *percached.Slice) { s.Start = -1 }, "begins at position -1 instead of 20"},
		{"a token changed", func(s *percached.Slice) { s.Tokens[3]++ }, "its tokens are not the segment's"},
		{"unknown planes", func(s *percached.Slice) { s.Planes = 7 }, "unknown planes 7"},
		{"queries missing", func(s *percached.Slice) { s.Planes = percached.QKV }, "piece 0 has 0 bytes of queries instead of"},
		{"queries nobody spoke of", func(s *percached.Slice) { s.Pieces[1].Q = make([]byte, 6) }, "piece 1 has 6 bytes of queries instead of 0"},
		{"no pieces", func(s *percached.Slice) { s.Pieces = nil }, "it has no pieces"},
		{"first piece missing", func(s *percached.Slice) { s.Pieces = s.Pieces[1:] }, "piece 0 holds tokens 16 to 32 of 50; token 0 should come next"},
		{"piece missing", func(s *percached.Slice) { s.Pieces = slices.Delete(s.Pieces, 1, 2) }, "piece 1 holds tokens 32 to 48 of 50; token 16 should come next"},
		{"last piece missing", func(s *percached.Slice) { s.Pieces = s.Pieces[:len(s.Pieces)-1] }, "its pieces end at token 48 of 50"},
		{"pieces out of order", func(s *percached.Slice) { s.Pieces[2], s.Pieces[3] = s.Pieces[3], s.Pieces[2] }, "piece 2 holds tokens 48 to 50 of 50; token 32"},
		{"piece twice", func(s *percached.Slice) { s.Pieces = slices.Insert(s.Pieces, 1, s.Pieces[0]) }, "piece 1 holds tokens 0 to 16 of 50; token 16"},
		{"pieces that overlap", func(s *percached.Slice) { s.Pieces[1].From-- }, "piece 1 holds tokens 15 to 32 of 50; token 16"},
		{"piece turned round", func(s *percached.Slice) { s.Pieces[1].To = 3 }, "piece 1 holds tokens 16 to 3 of 50; token 16"},
		{"piece of nothing", func(s *percached.Slice) { s.Pieces[1].To = 16 }, "piece 1 holds tokens 16 to 16 of 50"},
		{"piece too far", func(s *percached.Slice) { s.Pieces[3].To = 51 }, "piece 3 holds tokens 48 to 51 of 50"},
		{"piece longer than its bytes", func(s *percached.Slice) { s.Pieces = s.Pieces[:1]; s.Pieces[0].To = 50 }, "50 tokens take"},
		{"checksum", func(s *percached.Slice) { s.Pieces[2].Sum ^= 1 }, "piece 2 is damaged: its checksum is wrong"},
		{"a bit of a tensor", func(s *percached.Slice) { s.Pieces[1].KV[len(s.Pieces[1].KV)-9] ^= 4 }, "piece 1 is damaged: its checksum is wrong"},
		{"no bytes", func(s *percached.Slice) { s.Pieces[1].KV = nil }, "piece 1 has 0 bytes, 16 tokens take"},
		{"a byte too few", state(func(b []byte, _ int) []byte { return b[:len(b)-1] }), fmt.Sprintf("piece 1 has %d bytes", l.size(16)-1)},
		{"a byte too many", state(func(b []byte, _ int) []byte { return append(b, 0) }), fmt.Sprintf("piece 1 has %d bytes", l.size(16)+1)},
		{"no streams", field(l.counts(0), 0), "piece 1 holds 0 streams instead of 1"},
		{"two streams", field(l.counts(0), 2), "piece 1 holds 2 streams instead of 1"},
		{"tokens without end", field(l.counts(4), 1<<31), "piece 1 holds 2147483648 tokens instead of 16"},
		{"first position", field(l.token(0, 0), 7), "token 0 stands at position 7 instead of 36"},
		{"last position", field(l.token(15, 0), 1<<31), "token 15 stands at position -2147483648 instead of 51"},
		{"no sequence", field(l.token(2, 4), 0), "token 2 belongs to 0 sequences instead of 1"},
		{"sequences without end", field(l.token(2, 4), 1<<31), "token 2 belongs to 2147483648 sequences instead of 1"},
		{"values the other way round", field(l.behindTokens(0), 1-l.flag()), "stores values the other way round (flash attention on or off): "},
		{"values in no known way", field(l.behindTokens(0), 3), "flash attention on or off): 3 instead of"},
		{"no layers", field(l.behindTokens(4), 0), "has 0 layers instead of 4"},
		{"layers without end", field(l.behindTokens(4), 1<<31), "has 2147483648 layers instead of 4"},
		{"key type", field(l.keys(0, 0), 8), "holds keys of type 8 instead of 1 in layer 0"},
		{"key type of the last layer", field(l.keys(3, 0), 2), "holds keys of type 2 instead of 1 in layer 3"},
		{"key row", field(l.keys(1, 4), 64), "takes 64 bytes instead of 128 for a token's keys in layer 1"},
		{"key row without end", field(l.keys(1, 8), 1<<31), "takes 9223372036854775936 bytes instead of 128 for a token's keys in layer 1"},
		{"value type", field(l.values(0, 0), 0), "holds values of type 0 instead of 1 in layer 0"},
	}
	if !l.transposed {
		return append(bad,
			badSlice{"value row", field(l.values(2, 4), 127), "takes 127 bytes instead of 128 for a token's values in layer 2"},
			badSlice{"value row without end", field(l.values(3, 8), 1), "takes 4294967424 bytes instead of 128 for a token's values in layer 3"})
	}
	return append(bad,
		badSlice{"value element", field(l.values(2, 4), 4), "takes 4 bytes instead of 2 for one value in layer 2"},
		badSlice{"value width", field(l.values(3, 8), 32), "has 32 values instead of 64 for a token in layer 3"})
}

// Every slice that is wrong in one thing is refused for that thing before
// anything is computed, and the engine answers as if nobody had tried.
func TestRefuseSlices(t *testing.T) {
	for _, flash := range []string{"on", "off"} {
		t.Run("flash attention "+flash, func(t *testing.T) {
			e := open(t, tiny, func(c *Config) { c.FlashAttn, c.piece = flash, 16*1036 })
			p := newNumbers(12).prompt(percached.Sequential, 20, 50, 30, 9)
			cold := generate(t, e, capturing(p))
			if n := len(cold.Slices[1].Pieces); n != 4 {
				t.Fatalf("%d pieces instead of 4", n)
			}
			seen := map[string]string{}
			for _, b := range badSlices(e.cache.layout, 20) {
				t.Run(b.name, func(t *testing.T) {
					stored := slices.Clone(cold.Slices)
					stored[1] = cloneSlice(stored[1])
					b.spoil(stored[1])
					refuseSlice(t, e, with(p, stored, 0b111), 1, b.want, seen)
				})
			}
			equal(t, "after them all, warm", cold, generate(t, e, with(p, cold.Slices, 0b111)))
			equal(t, "after them all, cold", cold, generate(t, e, p))
		})
	}
}

// refuseSlice wants a SliceError for a segment, alone in its reason, and
// nothing done.
func refuseSlice(t *testing.T, e *Engine, p percached.Prompt, segment int, want string, seen map[string]string) {
	t.Helper()
	r, err := e.Generate(context.Background(), p, func(string) error {
		t.Error("it answered")
		return nil
	})
	refused, ok := errors.AsType[*percached.SliceError](err)
	if !ok {
		t.Fatalf("it was not refused: %v", err)
	}
	if refused.Segment != segment || !strings.Contains(refused.Reason, want) {
		t.Errorf("got  segment %d: %s\nwant segment %d: %s", refused.Segment, refused.Reason, segment, want)
	}
	if r.Usage != (percached.Usage{}) || r.Text != "" || r.Slices != nil {
		t.Errorf("something was done: %+v", r)
	}
	if other, twice := seen[refused.Reason]; twice && !strings.Contains(want, "checksum") {
		t.Errorf("the reason is that of %q: %s", other, refused.Reason)
	}
	seen[refused.Reason] = t.Name()
}

// Slices that are sound, but of another engine, prompt or place.
func TestRefuseForeignSlices(t *testing.T) {
	flash := func(c *Config) { c.FlashAttn = "on" }
	e := open(t, tiny, flash)
	p := newNumbers(13).prompt(percached.Sequential, 20, 50, 30, 9)
	cold := generate(t, e, capturing(p))
	seen := map[string]string{}
	seed := tiny
	seed.Seed = 9
	for name, foreign := range map[string]*Engine{
		"weights":            open(t, seed, flash),
		"architecture":       open(t, gguf.RandomOptions{Architecture: "qwen2", Seed: 1}, flash),
		"K/V type":           open(t, tiny, func(c *Config) { c.FlashAttn, c.KeyType, c.ValueType = "on", "q8_0", "q8_0" }),
		"key type":           open(t, tiny, func(c *Config) { c.FlashAttn, c.KeyType = "on", "q4_0" }),
		"no flash attention": open(t, tiny, func(c *Config) { c.FlashAttn = "off" }),
		"split":              open(t, tiny, func(c *Config) { c.FlashAttn, c.Split = "on", 16 }),
	} {
		theirs := generate(t, foreign, capturing(p)).Slices
		t.Run(name, func(t *testing.T) {
			refuseSlice(t, e, with(p, theirs, 0b111), 0, "of another model or other settings", seen)
			if foreign.info.Split != e.info.Split || foreign.info.Architecture != e.info.Architecture || name == "weights" {
				return // laid out alike: the name alone tells
			}
			forged := cloneSlice(theirs[0])
			forged.Model = e.info.Fingerprint
			want := " bytes, 20 tokens take "
			if name == "no flash attention" {
				want = "values the other way round"
			}
			refuseSlice(t, e, with(p, []*percached.Slice{forged, nil, nil, nil}, 1), 0, want, seen)
		})
	}
	t.Run("segments", func(t *testing.T) {
		other := newNumbers(14).prompt(percached.Sequential, 20, 50, 30, 9)
		other.Segments[1] = p.Segments[1]
		theirs := generate(t, e, capturing(other)).Slices
		refuseSlice(t, e, with(p, theirs, 0b010), 1, "computed behind other segments", seen)
		refuseSlice(t, e, with(p, theirs, 0b100), 2, "its tokens are not the segment's", seen)
	})
	t.Run("placement", func(t *testing.T) {
		side := p
		side.Placement = percached.Parallel
		theirs := generate(t, e, capturing(side)).Slices
		refuseSlice(t, e, with(p, theirs, 0b100), 2, "begins at position 20 instead of 70", seen)
	})
	t.Run("a segment without tokens", func(t *testing.T) {
		q := with(p, cold.Slices, 0b010)
		q.Segments[1].Tokens = []int32{}
		refuseSlice(t, e, q, 1, "its segment has no tokens", seen)
	})
	t.Run("a model without slices", func(t *testing.T) {
		g, err := openFile(t, axes(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := generate(t, g, p)
		refuseSlice(t, g, with(p, cold.Slices, 0b001), 0, "positions on several axes", seen)
		equal(t, "afterwards", before, generate(t, g, p))
	})
	equal(t, "after them all", cold, generate(t, e, p))
}

// Queries are checked like the rest, and must be whole.
func TestRefuseQueries(t *testing.T) {
	e := open(t, tiny, nil)
	p := newNumbers(15).prompt(percached.Sequential, 20, 50, 9)
	p.Planes = percached.QKV
	cold := generate(t, e, capturing(p))
	if len(cold.Slices[1].Pieces[0].Q) != 2*4*50*128 {
		t.Fatalf("%d bytes of queries", len(cold.Slices[1].Pieces[0].Q))
	}
	seen := map[string]string{}
	for _, b := range []badSlice{
		{"too short", func(s *percached.Slice) { s.Pieces[0].Q = s.Pieces[0].Q[2:] }, "has 51198 bytes of queries instead of 51200"},
		{"too long", func(s *percached.Slice) { s.Pieces[0].Q = append(s.Pieces[0].Q, 0) }, "has 51201 bytes of queries instead of 51200"},
		{"gone", func(s *percached.Slice) { s.Pieces[0].Q = nil }, "has 0 bytes of queries instead of 51200"},
		{"not spoken of", func(s *percached.Slice) { s.Planes = percached.KV }, "has 51200 bytes of queries instead of 0"},
		{"damaged", func(s *percached.Slice) { s.Pieces[0].Q[77] ^= 1 }, "its checksum is wrong"},
	} {
		t.Run(b.name, func(t *testing.T) {
			stored := slices.Clone(cold.Slices)
			stored[1] = cloneSlice(stored[1])
			b.spoil(stored[1])
			refuseSlice(t, e, with(p, stored, 0b11), 1, b.want, seen)
		})
	}
	equal(t, "after them all", cold, generate(t, e, with(p, cold.Slices, 0b11)))
}
