package llamacpp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// pieceBytes is the target size of a slice's pieces: small enough for a store to write
// and map at once, large enough that there are few.
const pieceBytes = 1 << 20

// sliceChecker holds what a slice must match to be restored.
type sliceChecker struct {
	fingerprint string
	layout      *layout // nil: slices cannot be stored
	noSlices    string  // why
	queryWidth  int     // query numbers of one token and layer; 0: not available
}

// check returns why a slice cannot replace a step. It reads every byte of the slice once,
// for the checksum. A packed slice is replaced by an unpacked one.
func (k *sliceChecker) check(s *step) error {
	sl := s.slice
	switch {
	case k.layout == nil:
		return errors.New(k.noSlices)
	case sl.Model != k.fingerprint:
		return fmt.Errorf("it is of another model or other settings (%s, not %s)", short(sl.Model), short(k.fingerprint))
	case sl.Start != s.start:
		return fmt.Errorf("it begins at position %d instead of %d", sl.Start, s.start)
	case !slices.Equal(sl.Tokens, s.tokens):
		return errors.New("its tokens are not the segment's")
	case sl.Path != s.path:
		return errors.New("it was computed behind other segments")
	case sl.Planes > percached.QKV:
		return fmt.Errorf("unknown planes %d", sl.Planes)
	case sl.Form > percached.Q4:
		return fmt.Errorf("unknown form %d", sl.Form)
	case sl.Planes == percached.QKV && k.queryWidth == 0:
		return errors.New("it holds queries, which this model has not")
	case len(sl.Pieces) == 0:
		return errors.New("it has no pieces")
	}
	at := 0
	for i := range sl.Pieces {
		p := &sl.Pieces[i]
		if p.From != at || p.To <= at || p.To > len(sl.Tokens) {
			return fmt.Errorf("piece %d holds tokens %d to %d of %d; token %d should come next", i, p.From, p.To, len(sl.Tokens), at)
		}
		if err := k.checkPiece(sl, p); err != nil {
			return fmt.Errorf("piece %d %w", i, err)
		}
		at = p.To
	}
	if at != len(sl.Tokens) {
		return fmt.Errorf("its pieces end at token %d of %d", at, len(sl.Tokens))
	}
	if sl.Form == percached.Exact {
		return nil
	}
	var err error
	if sl, err = k.layout.unpacked(sl); err != nil {
		return err
	}
	for i, p := range sl.Pieces {
		if err := k.layout.check(p.KV, sl.Start+p.From, p.To-p.From); err != nil {
			return fmt.Errorf("piece %d %w", i, err)
		}
	}
	s.slice = sl
	return nil
}

// checkPiece checks a piece, except the content of a packed one.
func (k *sliceChecker) checkPiece(sl *percached.Slice, p *percached.Piece) error {
	n := p.To - p.From
	if err := k.layout.checkForm(sl.Form, p.KV, sl.Start+p.From, n); err != nil {
		return err
	}
	queries := 0
	if sl.Planes == percached.QKV {
		queries = 2 * k.layout.depth() * n * k.queryWidth
	}
	if len(p.Q) != queries {
		return fmt.Errorf("has %d bytes of queries instead of %d", len(p.Q), queries)
	}
	if p.Checksum() != p.Sum {
		return errors.New("is damaged: its checksum is wrong")
	}
	return nil
}

func short(s string) string { return s[:min(len(s), 12)] }

// recurrentLayout is how llama.cpp writes the state of recurrent layers: one cell with
// the last position, then two records for each such layer (convolution, state). Its size
// does not depend on the number of tokens.
type recurrentLayout struct {
	layers  uint32 // of the model
	records []recurrentRecord
}

type recurrentRecord struct {
	kind int32
	size uint64
}

const (
	recurrentHead = 4 + 4 + 4 + 4 + 4 // cells, position, sequences, transposed, layers
	recordHead    = 4 + 8             // kind, size
)

// maxRecurrent is the maximum size worth storing with every segment; Mamba 2 models have
// 30 MB and more.
const maxRecurrent = 16 << 20

// tooLarge returns why the state is not worth storing, or "".
func (l *recurrentLayout) tooLarge() string {
	if l == nil || l.size() <= maxRecurrent {
		return ""
	}
	return fmt.Sprintf("the model is recurrent, and what it remembers takes %d MiB for each chunk, more than %d", l.size()>>20, maxRecurrent>>20)
}

func (l *recurrentLayout) size() int {
	size := recurrentHead
	for _, r := range l.records {
		size += recordHead + int(r.size)
	}
	return size
}

// readRecurrent reads the layout from the end of a state.
func readRecurrent(b []byte) (*recurrentLayout, error) {
	r := blobReader{b: b}
	r.skip(recurrentHead - 4)
	l := &recurrentLayout{layers: r.u32()}
	for len(r.b) > 0 && len(l.records) <= 2*maxLayers {
		rec := recurrentRecord{kind: int32(r.u32()), size: r.u64()}
		r.rows(1, rec.size)
		l.records = append(l.records, rec)
	}
	if r.bad || len(r.b) > 0 || len(l.records) == 0 || len(l.records)%2 != 0 {
		return nil, fmt.Errorf("of recurrent layers has %d records", len(l.records))
	}
	return l, nil
}

// check returns what is wrong with a state that ends at a position.
func (l *recurrentLayout) check(b []byte, last int) error {
	r := blobReader{b: b}
	for _, f := range []struct {
		what string
		want int
	}{{"cells", 1}, {"as the last position", last}, {"sequences", 0}, {"as the order of states", 0}, {"layers", int(l.layers)}} {
		if v := r.u32(); v != uint32(f.want) {
			return fmt.Errorf("has %d %s instead of %d (recurrent)", v, f.what, f.want)
		}
	}
	for i, rec := range l.records {
		if kind, size := int32(r.u32()), r.u64(); kind != rec.kind || size != rec.size {
			return fmt.Errorf("has %d bytes of type %d instead of %d of type %d in record %d (recurrent)", size, kind, rec.size, rec.kind, i)
		}
		r.rows(1, rec.size)
	}
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("has another length (recurrent)")
	}
	return nil
}

// finite reports whether all numbers of a state of the right length are finite.
func (l *recurrentLayout) finite(b []byte) bool {
	b = b[recurrentHead:]
	for _, rec := range l.records {
		values := b[recordHead:][:rec.size]
		b = b[recordHead+len(values):]
		if gguf.Type(rec.kind) == gguf.F32 && !finiteFloats(values) || gguf.Type(rec.kind) == gguf.F16 && !finiteHalves(values) {
			return false
		}
	}
	return true
}

func finiteFloats(b []byte) bool {
	const exponent = 0x7f80_0000
	for ; len(b) >= 4; b = b[4:] {
		if binary.LittleEndian.Uint32(b)&exponent == exponent {
			return false
		}
	}
	return true
}
