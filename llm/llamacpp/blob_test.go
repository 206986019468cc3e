package llamacpp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/percached/percached"
)

// layouts are those of the fuzz test: values by token, by channel, and by token with
// layers of a sliding window behind, the last with the lead of later versions.
func layouts() []*layout {
	byToken, byChannel := &layout{}, &layout{transposed: true}
	for range 2 {
		byToken.layers = append(byToken.layers, layerLayout{keyType: 8, valueType: 2, keyRow: 34, valueRow: 18})
		byChannel.layers = append(byChannel.layers, layerLayout{keyType: 1, valueType: 1, keyRow: 8, valueRow: 8, valueElement: 2, valueWidth: 4})
	}
	byChannel.layers[1].keyRow = 12
	window := &layout{layers: byToken.layers[:1], window: &layout{layers: byToken.layers}}
	led := &layout{lead: blobLead, layers: byToken.layers, window: &layout{layers: byToken.layers[:1]}}
	return []*layout{byToken, byChannel, window, led}
}

// exact writes a state of n tokens as llama.cpp does, field by field, with
// tensors and sequence numbers taken from src.
func exact(l *layout, start, n int, src []byte) []byte {
	var w bytes.Buffer
	u32 := func(v ...uint32) { binary.Write(&w, binary.LittleEndian, v) }
	u64 := func(v uint64) { binary.Write(&w, binary.LittleEndian, v) }
	free := func(n int) {
		if at := w.Len(); at+n <= len(src) {
			w.Write(src[at : at+n])
		} else {
			w.Write(make([]byte, n))
		}
	}
	if l.lead != 0 {
		u32(blobMagic)
		free(4)
	}
	u32(1, uint32(n))
	for i := range n {
		u32(uint32(start+i), 1)
		free(4)
	}
	way := uint32(0)
	if l.transposed {
		way = 1
	}
	u32(way, uint32(len(l.layers)))
	for _, x := range l.layers {
		u32(uint32(x.keyType))
		u64(x.keyRow)
		free(n * int(x.keyRow))
	}
	for _, x := range l.layers {
		u32(uint32(x.valueType))
		if l.transposed {
			u32(x.valueElement, x.valueWidth)
		} else {
			u64(x.valueRow)
		}
		free(n * int(x.valueRow))
	}
	if l.window != nil {
		w.Write(exact(l.window, start, n, src[min(w.Len(), len(src)):]))
	}
	return w.Bytes()
}

// What is checked is exact, and what is exact passes; nothing makes the
// readers reach past the end, which would panic.
func FuzzBlob(f *testing.F) {
	for i, l := range layouts() {
		for _, n := range []int{1, 3} {
			b := exact(l, 40, n, nil)
			f.Add(b, uint8(i), uint16(40), uint8(n))
			f.Add(b[:len(b)-1], uint8(i), uint16(40), uint8(n))
			f.Add(append(bytes.Clone(b), 0), uint8(i), uint16(40), uint8(n))
			f.Add(b, uint8(i+1), uint16(40), uint8(n))
			for _, at := range []int{l.behindTokens(0)(n), l.behindTokens(4)(n)} {
				for _, v := range []byte{0, 1, 2, 255} {
					wrong := bytes.Clone(b)
					wrong[at] = v
					f.Add(wrong, uint8(i), uint16(40), uint8(n))
					f.Add(wrong[:at+4], uint8(i), uint16(40), uint8(n))
				}
			}
		}
	}
	f.Add([]byte{}, uint8(0), uint16(0), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, way uint8, start uint16, tokens uint8) {
		l, n := layouts()[int(way)%len(layouts())], int(tokens)
		want := exact(l, int(start), n, b)
		if len(want) != l.size(n) {
			t.Fatalf("a state of %d tokens has %d bytes, size says %d", n, len(want), l.size(n))
		}
		if err := l.check(b, int(start), n); (err == nil) != bytes.Equal(b, want) {
			t.Errorf("check says %v; exact: %v", err, bytes.Equal(b, want))
		}
		got, err := readLayout(b, n, true, false)
		if err != nil {
			return
		}
		// What was read explains every byte, and all else may be free.
		if len(got.layers) == 0 || got.size(n) != len(b) {
			t.Fatalf("read %d layers, %d bytes of %d", len(got.layers), got.size(n), len(b))
		}
		for ; got != nil; got = got.window {
			head := got.behindTokens(0)(n)
			if again := exact(got, 0, n, b); !bytes.Equal(again[head:got.own(n)], b[head:got.own(n)]) {
				t.Errorf("what was read is not what was written:\n%x\n%x", b[head:], again[head:])
			}
			b = b[got.own(n):]
		}
	})
}

// A state that llama.cpp itself refuses, which the checks keep from it, leaves
// nothing behind: no cell, and no bit in a later run.
func TestRefusedByC(t *testing.T) {
	for _, flash := range []string{"on", "off"} {
		e := open(t, tiny, func(c *Config) { c.FlashAttn, c.Context = flash, 256 })
		p := newNumbers(16).prompt(percached.Sequential, 20, 50, 9)
		cold := generate(t, e, capturing(p))
		sound := cold.Slices[1].Pieces[0].KV
		l := e.cache.layout
		do := func(f func(ctx context.Context) error) {
			t.Helper()
			if err := e.worker.do(context.Background(), percached.Foreground, f); err != nil {
				t.Fatalf("flash attention %s: %v", flash, err)
			}
		}
		// empty: a sequence takes a token at position 0 only if it has none.
		empty := func(ctx context.Context, seq int) error {
			defer e.cache.drop(seq)
			return e.cache.decode(ctx, []int32{1}, 0, seq, false, nil)
		}
		bad := map[string][]byte{
			"cut in the values":       sound[:len(sound)-1],
			"cut in the keys":         sound[:l.keys(2, 40)(50)],
			"cut in a head":           sound[:l.keys(1, 6)(50)],
			"cut behind the tokens":   sound[:l.behindTokens(0)(50)],
			"cut in the tokens":       sound[:l.behindTokens(-3)(50)],
			"cut in the first number": sound[:3],
		}
		for name, change := range map[string]spoil{
			"layers":            field(l.behindTokens(4), 5),
			"key type":          field(l.keys(3, 0), 8),
			"key row":           field(l.keys(2, 4), 64),
			"value type":        field(l.values(1, 0), 8),
			"values turned":     field(l.behindTokens(0), 1-l.flag()),
			"no sequence":       field(l.token(4, 4), 0),
			"too many streams":  field(l.counts(0), 2),
			"too many to place": field(l.counts(4), 300),
		} {
			s := &percached.Slice{Pieces: make([]percached.Piece, 2)}
			s.Pieces[1] = percached.Piece{To: 50, KV: bytes.Clone(sound)}
			change(s)
			bad[name] = s.Pieces[1].KV
		}
		for name, b := range bad {
			t.Run(fmt.Sprintf("flash attention %s/%s", flash, name), func(t *testing.T) {
				do(func(ctx context.Context) error {
					e.cache.clear(false)
					// Often enough to fill the context if anything stayed.
					for range 10 {
						sl := &percached.Slice{Pieces: []percached.Piece{{To: 50, KV: bytes.Clone(b)}}}
						if err := e.cache.copyIn(sl); err == nil {
							t.Error("C took it")
						}
						for _, seq := range []int{mainSeq, scratchSeq} {
							if err := empty(ctx, seq); err != nil {
								return fmt.Errorf("sequence %d is not empty: %w", seq, err)
							}
						}
					}
					return nil
				})
				equal(t, "afterwards, cold", cold, generate(t, e, p))
				equal(t, "afterwards, warm", cold, generate(t, e, with(p, cold.Slices, 0b11)))
			})
		}
		// The control: what C takes makes the sequence anything but empty.
		do(func(ctx context.Context) error {
			e.cache.clear(false)
			if err := e.cache.copyIn(cold.Slices[0]); err != nil {
				return err
			}
			if empty(ctx, mainSeq) == nil {
				t.Error("a sequence that holds 20 tokens looks empty")
			}
			return nil
		})
	}
}
