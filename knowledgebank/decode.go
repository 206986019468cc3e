package knowledgebank

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/percached/percached"
)

// reader takes a payload apart. It trusts nothing: once something does not fit,
// it is bad and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return make([]byte, min(max(n, 0), 16))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count is a number of things.
func (r *reader) count() int64 {
	n := r.uvarint()
	if n > math.MaxInt32 {
		r.bad = true
		return 0
	}
	return int64(n)
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) time() time.Time {
	if r.byte() != 1 {
		return time.Time{}
	}
	sec, nsec, offset := r.varint(), r.uvarint(), r.varint()
	const day = 24 * 60 * 60
	if r.bad || nsec >= 1e9 || offset <= -day || offset >= day {
		r.bad = true
		return time.Time{}
	}
	t := time.Unix(sec, int64(nsec)).UTC()
	if offset != 0 {
		t = t.In(time.FixedZone("", int(offset)))
	}
	return t
}

func (r *reader) chunkIDs(n int) []percached.ChunkID {
	if r.bad || n < 0 || n > len(r.b)/16 {
		r.bad = true
		return nil
	}
	ids := make([]percached.ChunkID, n)
	for i := range ids {
		ids[i] = percached.ChunkID(r.take(16))
	}
	return ids
}
