package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Sequences of an engine's context. The question sees the main one.
const (
	mainSeq = iota
	branchSeq
	scratchSeq
	sequences
)

// A cache is one llama.cpp context and its contents. Only its worker uses it.
type cache struct {
	c          *C.pc_context
	vocabulary int
	split      int
	layout     *layout
	layers     int
	queryWidth int
	pace       *pace

	pieceTokens int    // tokens in one piece of a slice
	room        []byte // buffer for one piece that is not kept

	onBatch func() // called before each batch, if not nil. For tests
}

const (
	opDecode  = "llamacpp: decode"
	opCapture = "llamacpp: capture"
)

// clear empties the context. The bytes of earlier runs stay, masked; wipe overwrites
// them, in case they are not finite.
func (k *cache) clear(wipe bool) { C.pc_clear(k.c, C.bool(wipe)) }

// queries holds the queries of one segment: [layer][token][width].
type queries struct {
	data  []uint16
	at, n int // tokens computed, total tokens
}

// decode computes one batch. If C was told to stop, the cause of ctx is the error.
func (k *cache) decode(ctx context.Context, tokens []int32, pos, seq int, logits bool, q *queries) error {
	var room *C.uint16_t
	var shape C.pc_queries
	if q != nil {
		room = (*C.uint16_t)(unsafe.SliceData(q.data))
		shape = C.pc_queries{layers: C.int32_t(k.layers), tokens: C.int32_t(q.n), width: C.int32_t(k.queryWidth), at: C.int32_t(q.at)}
	}
	if k.onBatch != nil {
		k.onBatch()
	}
	k.pace.set(k.c)
	rc := C.pc_decode(k.c, (*C.llama_token)(unsafe.SliceData(tokens)), C.int32_t(len(tokens)), C.llama_pos(pos), C.llama_seq_id(seq), C.bool(logits), room, shape)
	return k.batchError(ctx, int(rc), len(tokens), pos)
}

// batchError is the error of a batch with this return code.
func (k *cache) batchError(ctx context.Context, rc, tokens, pos int) error {
	switch {
	case rc == 0:
		return nil
	case ctx.Err() != nil:
		takeErrors() // drop the abort's message, which is not an error
		return context.Cause(ctx)
	case rc == 1:
		return fault.New(fault.Internal, opDecode, "no room for %d tokens at position %d", tokens, pos)
	}
	return fault.New(fault.Internal, opDecode, "llama.cpp returned %d: %s", rc, takeErrors())
}

// check computes one batch of an answer, and returns the best token behind each of its
// tokens, negative if the scores are not finite.
func (k *cache) check(ctx context.Context, tokens []int32, pos int) ([]int32, error) {
	if k.onBatch != nil {
		k.onBatch()
	}
	k.pace.set(k.c)
	best := make([]int32, len(tokens))
	rc := C.pc_check(k.c, (*C.llama_token)(&tokens[0]), C.int32_t(len(tokens)), C.llama_pos(pos), mainSeq, C.int32_t(k.vocabulary), (*C.int32_t)(&best[0]))
	return best, k.batchError(ctx, int(rc), len(tokens), pos)
}

// compute computes a segment's tokens in batches at fixed offsets from its start. logits
// requests the scores after the last one.
func (k *cache) compute(ctx context.Context, s *step, seq int, logits bool, q *queries) error {
	for from := 0; from < len(s.tokens); from += k.split {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+k.split, len(s.tokens))
		if q != nil {
			q.at = from
		}
		if err := k.decode(ctx, s.tokens[from:to], s.start+from, seq, logits && to == len(s.tokens), q); err != nil {
			return err
		}
	}
	return nil
}

// copyOut creates a slice of a computed segment in seq.
func (k *cache) copyOut(s *step, seq int, fingerprint string, q *queries) (*percached.Slice, error) {
	sl := &percached.Slice{Model: fingerprint, Path: s.path, Start: s.start, Tokens: append([]int32(nil), s.tokens...)}
	if q != nil {
		sl.Planes = percached.QKV
	}
	per := k.pieceTokens
	for from := 0; from < len(s.tokens); from += per {
		p := percached.Piece{From: from, To: min(from+per, len(s.tokens))}
		p.KV = make([]byte, k.layout.size(p.To-p.From))
		if err := k.copyPiece(s, seq, p.From, p.To, p.KV); err != nil {
			return nil, err
		}
		if q != nil {
			p.Q = q.cut(p.From, p.To, k.layers, k.queryWidth)
		}
		p.Sum = p.Checksum()
		sl.Pieces = append(sl.Pieces, p)
	}
	return sl, nil
}

// look checks like copyOut that all tensors are finite, but keeps nothing.
func (k *cache) look(s *step, seq int) error {
	for from := 0; from < len(s.tokens); from += k.pieceTokens {
		to := min(from+k.pieceTokens, len(s.tokens))
		n := k.layout.size(to - from)
		k.room = slices.Grow(k.room[:0], n)[:n]
		if err := k.copyPiece(s, seq, from, to, k.room); err != nil {
			return err
		}
	}
	return nil
}

// copyPiece copies the tensors of some tokens of a computed segment. Values that are not
// finite must reach neither a store nor, masked, a later run.
func (k *cache) copyPiece(s *step, seq, from, to int, b []byte) error {
	n := C.pc_copy_out(k.c, C.llama_seq_id(seq), C.llama_pos(s.start+from), C.llama_pos(s.start+to), scratchSeq,
		(*C.uint8_t)(&b[0]), C.size_t(len(b)))
	if int(n) != len(b) {
		return fault.New(fault.Internal, opCapture, "got %d bytes for %d tokens instead of %d: %s", int(n), to-from, len(b), takeErrors())
	}
	k.layout.plain(b, to-from)
	if !k.layout.finite(b, to-from) {
		k.clear(true)
		return fault.New(fault.Internal, opCapture, "%w", llm.ErrNotFinite)
	}
	return nil
}

// copyIn restores a checked slice into the main sequence.
func (k *cache) copyIn(sl *percached.Slice) error {
	for i := range sl.Pieces {
		b := sl.Pieces[i].KV
		n := C.pc_copy_in(k.c, mainSeq, scratchSeq, (*C.uint8_t)(&b[0]), C.size_t(len(b)))
		if int(n) != len(b) {
			return fault.New(fault.Internal, "llamacpp: restore", "llama.cpp took %d of %d bytes: %s", int(n), len(b), takeErrors())
		}
	}
	return nil
}

// logits copies the scores after the last batch.
func (k *cache) logits() ([]float32, error) {
	p := C.llama_get_logits_ith(C.pc_llama(k.c), -1)
	if p == nil {
		return nil, fault.New(fault.Internal, opDecode, "there are no scores: %s", takeErrors())
	}
	return append([]float32(nil), unsafe.Slice((*float32)(p), k.vocabulary)...), nil
}

// scores copies the scores behind one token of the last batch.
func (k *cache) scores(i int) []float32 {
	p := C.llama_get_logits_ith(C.pc_llama(k.c), C.int32_t(i))
	if p == nil {
		return nil
	}
	return slices.Clone(unsafe.Slice((*float32)(p), k.vocabulary))
}

// best is the greedy choice after the last batch; negative: scores are not finite.
func (k *cache) best() int32 { return int32(C.pc_argmax(k.c, C.int32_t(k.vocabulary))) }

func newQueries(layers, tokens, width int) *queries {
	return &queries{data: make([]uint16, layers*tokens*width), n: tokens}
}

// cut takes tokens [from, to) of every layer, little-endian.
func (q *queries) cut(from, to, layers, width int) []byte {
	out := make([]byte, 0, 2*layers*(to-from)*width)
	for l := range layers {
		for _, v := range q.data[(l*q.n+from)*width : (l*q.n+to)*width] {
			out = append(out, byte(v), byte(v>>8))
		}
	}
	return out
}

// finite reports whether all scores are finite.
func finite(logits []float32) bool {
	for _, l := range logits {
		if f := float64(l); math.IsNaN(f) || math.IsInf(f, 1) {
			return false
		}
	}
	return true
}

// fork shares the first n positions of a sequence with seq.
func (k *cache) fork(from, seq, n int) {
	C.llama_memory_seq_cp(C.llama_get_memory(C.pc_llama(k.c)), C.llama_seq_id(from), C.llama_seq_id(seq), 0, C.llama_pos(n))
}

// drop removes a sequence.
func (k *cache) drop(seq int) {
	C.llama_memory_seq_rm(C.llama_get_memory(C.pc_llama(k.c)), C.llama_seq_id(seq), -1, -1)
}

// cut removes the end of a sequence from a position on.
func (k *cache) cut(seq, pos int) {
	C.llama_memory_seq_rm(C.llama_get_memory(C.pc_llama(k.c)), C.llama_seq_id(seq), C.llama_pos(pos), -1)
}
