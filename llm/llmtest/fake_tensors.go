package llmtest

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// state stands for what attention sees: it has taken in every tensor that lies
// in the context, in order. A token's tensor is made from it, so a tensor
// depends on every token before it, and a wrong one changes all that follow.
type state uint64

func mix(h, v uint64) uint64 {
	h ^= v + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// compute appends the keys and values, and the queries, of one token behind s,
// and gives the state with the token in it.
func compute(s state, position int, token int32, kv, q []byte, bytesPerToken int) (state, []byte, []byte) {
	key := mix(mix(uint64(s), uint64(position)), uint64(token))
	at := len(kv)
	for i := range bytesPerToken / 8 {
		kv = binary.LittleEndian.AppendUint64(kv, mix(key, uint64(i)))
	}
	for i := range bytesPerToken / 16 {
		q = binary.LittleEndian.AppendUint64(q, mix(^key, uint64(i)))
	}
	return absorb(s, kv[at:]), kv, q
}

// absorb is the state with these keys and values in it.
func absorb(s state, kv []byte) state {
	h := uint64(s)
	for i := 0; i+8 <= len(kv); i += 8 {
		h = mix(h, binary.LittleEndian.Uint64(kv[i:]))
	}
	return state(h)
}

// join is the state of one who sees several branches.
func join(branches []state) state {
	if len(branches) == 1 {
		return branches[0]
	}
	h := uint64(len(branches))
	for _, b := range branches {
		h = mix(h, uint64(b))
	}
	return state(h)
}

// slice cuts a segment's tensors into pieces.
func (f *Fake) slice(pt *part, planes percached.Planes, kv, q []byte) *percached.Slice {
	s := &percached.Slice{
		Model: f.info.Fingerprint, Path: pt.path, Start: pt.start,
		Tokens: slices.Clone(pt.tokens), Planes: planes,
	}
	b := f.opts.BytesPerToken
	for from := 0; from < len(pt.tokens); from += f.opts.PieceTokens {
		to := min(from+f.opts.PieceTokens, len(pt.tokens))
		p := percached.Piece{From: from, To: to, KV: slices.Clone(kv[from*b : to*b])}
		if planes == percached.QKV {
			p.Q = slices.Clone(q[from*b/2 : to*b/2])
		}
		p.Sum = p.Checksum()
		s.Pieces = append(s.Pieces, p)
	}
	return s
}

// tokenBytes is the size of a token's keys and values in a form.
func (f *Fake) tokenBytes(form percached.Form) int {
	return max(8, f.opts.BytesPerToken>>form&^7)
}

// Pack keeps the beginning of each token's tensor, so that what follows differs.
func (f *Fake) Pack(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
	const op = "llmtest.Pack"
	switch {
	case f.opts.NoPack != "":
		return nil, fault.New(fault.Unsupported, op, "%s", f.opts.NoPack)
	case to <= s.Form || to > percached.Q4:
		return nil, fault.New(fault.Invalid, op, "cannot pack a slice from %s to %s", s.Form, to)
	}
	b, keep := f.tokenBytes(s.Form), f.tokenBytes(to)
	packed := *s
	packed.Form, packed.Pieces = to, nil
	for _, p := range s.Pieces {
		var kv []byte
		for at := 0; at < len(p.KV); at += b {
			kv = append(kv, p.KV[at:at+keep]...)
		}
		p.KV = kv
		p.Sum = p.Checksum()
		packed.Pieces = append(packed.Pieces, p)
	}
	return &packed, nil
}

// refuse says what is wrong with the slice given for a part; empty if nothing.
func (f *Fake) refuse(pt *part) string {
	s := pt.slice
	switch {
	case f.opts.NoSlices != "":
		return "this model's slices cannot be stored: " + f.opts.NoSlices
	case len(pt.tokens) == 0:
		return "the segment has no tokens"
	case pt.joined:
		return "a question behind branches has no path of its own"
	case s.Model != f.info.Fingerprint:
		return fmt.Sprintf("made by model %.12q, this is %.12q", s.Model, f.info.Fingerprint)
	case !slices.Equal(s.Tokens, pt.tokens):
		return "its tokens are not the segment's"
	case s.Path != pt.path:
		return fmt.Sprintf("it belongs behind another path: %v, here is %v", s.Path, pt.path)
	case s.Start != pt.start:
		return fmt.Sprintf("it starts at %d, the segment at %d", s.Start, pt.start)
	case s.Planes > percached.QKV:
		return fmt.Sprintf("unknown planes %d", s.Planes)
	case s.Form > percached.Q4:
		return fmt.Sprintf("unknown form %d", s.Form)
	}
	at := 0
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if reason := f.refusePiece(p, s, at); reason != "" {
			return fmt.Sprintf("piece %d: %s", i, reason)
		}
		at = p.To
	}
	if at != len(s.Tokens) {
		return fmt.Sprintf("its pieces end at token %d of %d", at, len(s.Tokens))
	}
	return ""
}

func (f *Fake) refusePiece(p *percached.Piece, s *percached.Slice, at int) string {
	n, wantQ, end := p.To-p.From, 0, len(s.Tokens)
	if s.Planes == percached.QKV {
		wantQ = n * f.opts.BytesPerToken / 2
	}
	switch {
	case p.From != at:
		return fmt.Sprintf("begins at token %d, not %d", p.From, at)
	case n <= 0 || p.To > end:
		return fmt.Sprintf("ends at token %d of %d", p.To, end)
	case len(p.KV) != n*f.tokenBytes(s.Form):
		return fmt.Sprintf("%d bytes of keys and values, not %d", len(p.KV), n*f.tokenBytes(s.Form))
	case len(p.Q) != wantQ:
		return fmt.Sprintf("%d bytes of queries, not %d", len(p.Q), wantQ)
	case p.Sum != p.Checksum():
		return "its checksum is wrong"
	}
	return ""
}
