package llamacpp

/*
#include "pack.h"
*/
import "C"

import (
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// A packed piece is llama.cpp's state with the keys and values of each layer in a smaller
// form. Everything else stays as it is: counts, positions, types, and the states of
// recurrent layers. So unpacking gives a state of the usual layout, and the usual checks
// hold for it.
//
// Keys lose more than values by rounding: some channels are large in every token. So in
// the form of 4 bits, a channel's keys share a range over about 32 tokens, while values
// share a scale over 32 numbers of a token (measured: docs/measurements.md).

var _ llm.Packer = (*Engine)(nil)

const opPack = "llamacpp: pack"

// pcPacking is how the rows of a layer are packed.
type pcPacking = C.pc_packing

// packing is how a form packs keys and values.
func packing(f percached.Form) (keys, values pcPacking) {
	if f == percached.Q8 {
		return C.PC_BLOCK8, C.PC_BLOCK8
	}
	return C.PC_CHANNEL4, C.PC_BLOCK4
}

// Pack implements llm.Packer.
func (e *Engine) Pack(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
	l := e.checker.layout
	if l == nil {
		return nil, fault.New(fault.Unsupported, opPack, "%s", e.info.NoSlices)
	}
	if why := l.unpackable(); why != "" {
		return nil, fault.New(fault.Unsupported, opPack, "%s", why)
	}
	if to <= s.Form || to > percached.Q4 {
		return nil, fault.New(fault.Invalid, opPack, "cannot pack a slice from %s to %s", s.Form, to)
	}
	whole := step{slice: s, start: s.Start, tokens: s.Tokens, path: s.Path}
	if err := e.checker.check(&whole); err != nil {
		return nil, fault.New(fault.Invalid, opPack, "%w", err)
	}
	packed := *s
	packed.Form, packed.Pieces = to, make([]percached.Piece, len(s.Pieces))
	for i, p := range whole.slice.Pieces {
		p.KV = l.pack(p.KV, p.To-p.From, to)
		p.Q = append([]byte(nil), p.Q...)
		p.Sum = p.Checksum()
		packed.Pieces[i] = p
	}
	return &packed, nil
}

// unpackable is why no smaller form of such states is known, or "".
func (l *layout) unpackable() string {
	if len(l.layers) == 0 {
		return "the model is recurrent: it has no keys and values"
	}
	if l.transposed {
		return "values are stored by channel, because flash attention is off"
	}
	for _, w := range l.layers {
		if gguf.Type(w.keyType) != gguf.F16 || gguf.Type(w.valueType) != gguf.F16 {
			return "keys and values are not in f16"
		}
		if w.keyRow%64 != 0 || w.valueRow%64 != 0 {
			return fmt.Sprintf("rows of %d and %d bytes are no blocks of 32 numbers", w.keyRow, w.valueRow)
		}
	}
	if l.window != nil {
		return l.window.unpackable()
	}
	return ""
}

const rowsHead = 4 + 8 // type and length of a row, before the rows of a layer

// each calls fn for the parts of a state of n tokens in their order: of what is not
// packed, with width 0, its length; of rows, how many numbers a row has.
func (l *layout) each(n int, form percached.Form, fn func(p pcPacking, bytes, width int)) {
	keys, values := packing(form)
	fn(0, l.lead+blobHead+n*blobToken+blobMid, 0)
	for _, w := range l.layers {
		fn(0, rowsHead, 0)
		fn(keys, n*int(w.keyRow), int(w.keyRow)/2)
	}
	for _, w := range l.layers {
		fn(0, rowsHead, 0)
		fn(values, n*int(w.valueRow), int(w.valueRow)/2)
	}
	if l.window != nil {
		l.window.each(n, form, fn)
	}
	if l.recurrent != nil {
		fn(0, l.recurrent.size(), 0)
	}
}

// packedSize is the exact length of a packed state of n tokens.
func (l *layout) packedSize(n int, form percached.Form) int {
	size := 0
	l.each(n, form, func(p pcPacking, bytes, width int) {
		if width > 0 {
			bytes = int(C.pc_packed_size(p, C.size_t(n), C.size_t(width)))
		}
		size += bytes
	})
	return size
}

// pack packs a state of the right length.
func (l *layout) pack(b []byte, n int, form percached.Form) []byte {
	out := make([]byte, 0, l.packedSize(n, form))
	l.each(n, form, func(p pcPacking, bytes, width int) {
		if width == 0 {
			out = append(out, b[:bytes]...)
		} else {
			room := out[len(out) : len(out)+int(C.pc_packed_size(p, C.size_t(n), C.size_t(width)))]
			C.pc_pack(p, bytesOf(b), C.size_t(n), C.size_t(width), bytesOf(room))
			out = out[:len(out)+len(room)]
		}
		b = b[bytes:]
	})
	return out
}

// checkForm returns what is wrong with a state in one of the forms, before it is unpacked.
func (l *layout) checkForm(form percached.Form, b []byte, start, n int) error {
	if form == percached.Exact {
		return l.check(b, start, n)
	}
	if why := l.unpackable(); why != "" {
		return fmt.Errorf("is packed, but %s", why)
	}
	if want := l.packedSize(n, form); len(b) != want {
		return fmt.Errorf("has %d bytes, %d tokens take %d in form %s", len(b), n, want, form)
	}
	return nil
}

// unpack returns the state of n tokens that was packed.
func (l *layout) unpack(b []byte, n int, form percached.Form) ([]byte, error) {
	if err := l.checkForm(form, b, 0, n); err != nil {
		return nil, err
	}
	out := make([]byte, 0, l.size(n))
	l.each(n, form, func(p pcPacking, bytes, width int) {
		if width == 0 {
			out, b = append(out, b[:bytes]...), b[bytes:]
			return
		}
		rows := out[len(out) : len(out)+bytes]
		C.pc_unpack(p, bytesOf(b), C.size_t(n), C.size_t(width), bytesOf(rows))
		out, b = out[:len(out)+bytes], b[int(C.pc_packed_size(p, C.size_t(n), C.size_t(width))):]
	})
	return out, nil
}

// bytesOf is the address of bytes that C may use during one call.
func bytesOf(b []byte) *C.uint8_t { return (*C.uint8_t)(&b[0]) }

// unpacked returns a packed slice in the form that llama.cpp reads. Its sums are not set:
// they were compared before.
func (l *layout) unpacked(sl *percached.Slice) (*percached.Slice, error) {
	whole := *sl
	whole.Form, whole.Pieces = percached.Exact, make([]percached.Piece, len(sl.Pieces))
	for i, p := range sl.Pieces {
		var err error
		if p.KV, err = l.unpack(p.KV, p.To-p.From, sl.Form); err != nil {
			return nil, fmt.Errorf("piece %d %w", i, err)
		}
		whole.Pieces[i] = p
	}
	return &whole, nil
}
