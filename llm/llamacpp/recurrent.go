package llamacpp

import (
	"encoding/binary"
	"fmt"

	"github.com/percached/percached/llm/gguf"
)

// recurrentLayout is how llama.cpp writes what recurrent layers remember of all tokens so
// far: one cell with the last position, then for each such layer two records (of the
// convolution, of the state). It has one size, however many tokens there were.
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

// maxRecurrent is how large it may be to be worth storing with every segment: the models
// of Mamba 2 remember 30 MB and more.
const maxRecurrent = 16 << 20

// tooLarge says why it is not worth storing, if it is not.
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

// readRecurrent learns the layout from what stands at the end of a state.
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

// check says what is wrong with one that ends at a position.
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

// finite says whether one of the right length is all numbers.
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
