package llamacpp

import (
	"encoding/binary"
	"fmt"

	"github.com/percached/percached/llm/gguf"
)

// layout is how llama.cpp writes the state of a sequence: counts, then one record for
// each token, then keys for each layer and values for each layer. The engine reads it
// from a state that it wrote itself at startup. Every stored piece must match it in every
// field before C sees it.
type layout struct {
	transposed bool // values are stored by channel, not by token (flash attention off)
	layers     []layerLayout
	// lead is the number of bytes before the first count: later versions of llama.cpp
	// write a magic number and the sequence there.
	lead int
	// window is the layout of layers with a sliding window: llama.cpp keeps them in a
	// separate cache and writes it after the first. Nil: none.
	window *layout
	// recurrent is the last part. Nil: no layer is recurrent. If all layers are, there
	// are no other layers.
	recurrent *recurrentLayout
}

type layerLayout struct {
	keyType, valueType int32
	keyRow             uint64 // bytes of one token's keys
	valueRow           uint64 // bytes of one token's values
	valueElement       uint32 // transposed: bytes of one element
	valueWidth         uint32 // transposed: elements per token
}

const (
	blobLead  = 4 + 4     // magic number, sequence
	blobHead  = 4 + 4     // streams, tokens
	blobToken = 4 + 4 + 4 // position, sequences, sequence
	blobMid   = 4 + 4     // transposed, layers
)

// blobMagic begins a state with a lead. Other states begin with the number of streams, 1.
const blobMagic = 0xaf143cd8

// size is the exact length of a state of n tokens.
func (l *layout) size(n int) int {
	size := l.own(n)
	if l.window != nil {
		size += l.window.size(n)
	}
	if l.recurrent != nil {
		size += l.recurrent.size()
	}
	return size
}

// depth is the number of layers.
func (l *layout) depth() int {
	n := len(l.layers)
	if l.window != nil {
		n += l.window.depth()
	}
	return n
}

// own is the length of the first cache.
func (l *layout) own(n int) int {
	if len(l.layers) == 0 {
		return l.lead
	}
	size := l.lead + blobHead + n*blobToken + blobMid
	for i := range l.layers {
		size += 4 + 8 + n*int(l.layers[i].keyRow)
		if l.transposed {
			size += 4 + 4 + 4 + n*int(l.layers[i].valueRow)
		} else {
			size += 4 + 8 + n*int(l.layers[i].valueRow)
		}
	}
	return size
}

// plain clears the source sequence numbers in a state of n tokens, which llama.cpp never
// reads, so that equal tensors are equal bytes.
func (l *layout) plain(b []byte, n int) {
	if l.lead != 0 {
		clear(b[4:l.lead])
	}
	if len(l.layers) == 0 {
		return
	}
	for i := range n {
		clear(b[l.lead+blobHead+i*blobToken+8:][:4])
	}
	if l.window != nil {
		l.window.plain(b[l.own(n):], n)
	}
}

// tokensIn is how many tokens a piece of this many bytes holds, at most the sliding
// window: from a longer piece, later versions of llama.cpp leave out what its last token
// does not see.
func (l *layout) tokensIn(piece, window int) int {
	n := max(1, piece/l.bytesPerToken())
	if l.lead != 0 && window > 0 {
		n = min(n, window)
	}
	return n
}

// bytesPerToken is the size of one token; with recurrent layers, its share in a segment
// of typical chunk length.
func (l *layout) bytesPerToken() int {
	if l.recurrent == nil {
		return l.size(1) - l.size(0)
	}
	const chunk = 128
	return l.size(chunk)/chunk + 1
}

// check returns what is wrong with a state of n tokens that begins at start.
func (l *layout) check(b []byte, start, n int) error {
	if want := l.size(n); len(b) != want {
		return fmt.Errorf("has %d bytes, %d tokens take %d", len(b), n, want)
	}
	r := blobReader{b: b}
	if l.lead != 0 {
		if v := r.u32(); v != blobMagic {
			return fmt.Errorf("begins with %#x instead of %#x", v, uint32(blobMagic))
		}
		r.u32() // the source sequence, not read back
	}
	if l.window != nil {
		if err := l.window.check(b[l.own(n):], start, n); err != nil {
			return fmt.Errorf("%w (sliding window)", err)
		}
	}
	if l.recurrent != nil {
		if err := l.recurrent.check(b[len(b)-l.recurrent.size():], start+n-1); err != nil || len(l.layers) == 0 {
			return err
		}
	}
	if v := r.u32(); v != 1 {
		return fmt.Errorf("holds %d streams instead of 1", v)
	}
	if v := r.u32(); v != uint32(n) {
		return fmt.Errorf("holds %d tokens instead of %d", v, n)
	}
	for i := range n {
		if pos := r.u32(); pos != uint32(start+i) {
			return fmt.Errorf("token %d stands at position %d instead of %d", i, int32(pos), start+i)
		}
		if v := r.u32(); v != 1 {
			return fmt.Errorf("token %d belongs to %d sequences instead of 1", i, v)
		}
		r.u32() // the source sequence, not read back
	}
	// The length is right, so while the fields are, so are the positions of those after
	// them.
	if v := r.u32(); v != l.flag() {
		return fmt.Errorf("stores values the other way round (flash attention on or off): %d instead of %d", v, l.flag())
	}
	if v := r.u32(); v != uint32(len(l.layers)) {
		return fmt.Errorf("has %d layers instead of %d", v, len(l.layers))
	}
	for i, w := range l.layers {
		if v := int32(r.u32()); v != w.keyType {
			return fmt.Errorf("holds keys of type %d instead of %d in layer %d", v, w.keyType, i)
		}
		if v := r.u64(); v != w.keyRow {
			return fmt.Errorf("takes %d bytes instead of %d for a token's keys in layer %d", v, w.keyRow, i)
		}
		r.rows(n, w.keyRow)
	}
	for i, w := range l.layers {
		if v := int32(r.u32()); v != w.valueType {
			return fmt.Errorf("holds values of type %d instead of %d in layer %d", v, w.valueType, i)
		}
		if l.transposed {
			if v := r.u32(); v != w.valueElement {
				return fmt.Errorf("takes %d bytes instead of %d for one value in layer %d", v, w.valueElement, i)
			}
			if v := r.u32(); v != w.valueWidth {
				return fmt.Errorf("has %d values instead of %d for a token in layer %d", v, w.valueWidth, i)
			}
		} else if v := r.u64(); v != w.valueRow {
			return fmt.Errorf("takes %d bytes instead of %d for a token's values in layer %d", v, w.valueRow, i)
		}
		r.rows(n, w.valueRow)
	}
	return nil
}

// finite reports whether all tensors of a state of n tokens and the right length are
// finite.
func (l *layout) finite(b []byte, n int) bool {
	if l.window != nil && !l.window.finite(b[l.own(n):], n) {
		return false
	}
	if l.recurrent != nil {
		if ok := l.recurrent.finite(b[len(b)-l.recurrent.size():]); !ok || len(l.layers) == 0 {
			return ok
		}
	}
	b = b[l.lead+blobHead+n*blobToken+blobMid:]
	next := func(typ int32, row uint64) bool {
		const head = 4 + 8 // the same length for values by channel
		rows := b[head:][:n*int(row)]
		b = b[head+len(rows):]
		switch gguf.Type(typ) {
		case gguf.F16:
			return finiteHalves(rows)
		case gguf.Q8_0:
			return finiteScales(rows, 2+32)
		case gguf.Q4_0:
			return finiteScales(rows, 2+16)
		}
		return true
	}
	for i := range l.layers {
		if !next(l.layers[i].keyType, l.layers[i].keyRow) {
			return false
		}
	}
	for i := range l.layers {
		if !next(l.layers[i].valueType, l.layers[i].valueRow) {
			return false
		}
	}
	return true
}

// A half with an exponent of all ones is not finite: adding one to the lowest bit of the
// exponent then sets the sign bit.
const (
	halfExponent = 0x7c00
	halfOne      = 0x0400
	halfSign     = 0x8000
	fourHalves   = 0x0001_0001_0001_0001
)

// finiteHalves runs at memory speed: four at a time, without a branch.
func finiteHalves(b []byte) bool {
	var seen uint64
	for ; len(b) >= 8; b = b[8:] {
		seen |= binary.LittleEndian.Uint64(b)&(halfExponent*fourHalves) + halfOne*fourHalves
	}
	for ; len(b) >= 2; b = b[2:] {
		seen |= uint64(binary.LittleEndian.Uint16(b))&halfExponent + halfOne
	}
	return seen&(halfSign*fourHalves) == 0
}

// finiteScales checks the halves at the start of blocks of this size.
func finiteScales(b []byte, block int) bool {
	var seen uint16
	for ; len(b) >= block; b = b[block:] {
		seen |= binary.LittleEndian.Uint16(b)&halfExponent + halfOne
	}
	return seen&halfSign == 0
}

// flag is how a state says how its values are stored.
func (l *layout) flag() uint32 {
	if l.transposed {
		return 1
	}
	return 0
}

// readLayout reads the layout from a state of n tokens of a model with attending and
// recurrent layers.
func readLayout(b []byte, n int, attend, recurrent bool) (*layout, error) {
	r := blobReader{b: b}
	lead := 0
	if len(b) >= blobLead && binary.LittleEndian.Uint32(b) == blobMagic {
		lead = blobLead
	}
	r.skip(lead)
	l, err := &layout{}, error(nil)
	if attend {
		r.skip(blobHead + n*blobToken)
		l, err = r.layout(n)
	}
	if err != nil {
		return nil, err
	}
	l.lead = lead
	if recurrent {
		l.recurrent, err = readRecurrent(r.b)
		return l, err
	}
	if err == nil && len(r.b) != 0 {
		r.skip(blobHead + n*blobToken)
		l.window, err = r.layout(n)
	}
	if err == nil && len(r.b) != 0 {
		err = fmt.Errorf("%d bytes behind the last layer", len(r.b))
	}
	return l, err
}

// maxLayers is llama.cpp's own limit.
const maxLayers = 512

// blobReader never reads past the end.
type blobReader struct {
	b   []byte
	bad bool
}

func (r *blobReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *blobReader) skip(n int) { r.take(n) }

func (r *blobReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *blobReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *blobReader) rows(n int, row uint64) {
	if row > uint64(len(r.b)) {
		r.take(-1)
		return
	}
	r.skip(n * int(row))
}

func (r *blobReader) layout(n int) (*layout, error) {
	flag := r.u32()
	if flag > 1 {
		return nil, fmt.Errorf("says neither yes nor no to values the other way round: %d", flag)
	}
	l := &layout{transposed: flag == 1}
	count := r.u32()
	if count == 0 || count > maxLayers {
		return nil, fmt.Errorf("has %d layers", count)
	}
	l.layers = make([]layerLayout, count)
	for i := range l.layers {
		l.layers[i].keyType = int32(r.u32())
		l.layers[i].keyRow = r.u64()
		r.rows(n, l.layers[i].keyRow)
	}
	for i := range l.layers {
		v := &l.layers[i]
		v.valueType = int32(r.u32())
		if l.transposed {
			v.valueElement = r.u32()
			v.valueWidth = r.u32()
			v.valueRow = uint64(v.valueElement) * uint64(v.valueWidth)
		} else {
			v.valueRow = r.u64()
		}
		r.rows(n, v.valueRow)
	}
	if r.bad {
		return nil, fmt.Errorf("is cut short")
	}
	return l, nil
}
