package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/percached/percached/internal/base/fault"
)

const opRead = "gguf: read"

// Bounds far above any real model, so that a hostile file cannot make us, or
// llama.cpp which compares each name with all earlier ones, work for minutes.
const (
	maxHeader  = 128 << 20 // bytes before the tensor data
	maxKeys    = 1 << 14
	maxTensors = 1 << 15
	maxKey     = 1<<16 - 1 // bytes of a key or name, by the format
	maxName    = 63        // bytes of a tensor's name, by llama.cpp
	maxList    = 1 << 22   // strings of one array
)

// reader walks through the head of a file and knows where it is. Its first
// error stays, and every later read gives zero.
type reader struct {
	r    *bufio.Reader
	at   int64
	size int64
	err  error
}

func newReader(src io.ReaderAt, size int64) *reader {
	return &reader{r: bufio.NewReaderSize(io.NewSectionReader(src, 0, size), 1<<16), size: size}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(fault.Invalid, opRead, format, args...)
	}
}

// need says whether n more bytes are there. what names them for the error.
func (r *reader) need(n uint64, what string) bool {
	switch {
	case r.err != nil:
	case n > uint64(r.size-r.at):
		r.fail("the file is cut short: %s at byte %d takes %d bytes, but the file ends at byte %d", what, r.at, n, r.size)
	case n > maxHeader-uint64(r.at):
		r.fail("%s at byte %d takes %d bytes: all metadata together may take %d MiB", what, r.at, n, maxHeader>>20)
	default:
		return true
	}
	return false
}

// bytes takes n bytes. The slice is new, and no larger than what is in the file.
func (r *reader) bytes(n uint64, what string) []byte {
	if !r.need(n, what) {
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.r, b); err != nil {
		r.ioError(what, err)
		return nil
	}
	r.at += int64(n)
	return b
}

func (r *reader) ioError(what string, err error) {
	if r.err != nil {
		return
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		r.fail("the file is cut short: it ended within %s at byte %d", what, r.at)
		return
	}
	r.err = fault.New(fault.Unavailable, opRead, "%s at byte %d: %w", what, r.at, err)
}

func (r *reader) fixed(n int, what string) (b [8]byte) {
	if !r.need(uint64(n), what) {
		return b
	}
	if _, err := io.ReadFull(r.r, b[:n]); err != nil {
		r.ioError(what, err)
		return [8]byte{}
	}
	r.at += int64(n)
	return b
}

func (r *reader) u32(what string) uint32 {
	b := r.fixed(4, what)
	return binary.LittleEndian.Uint32(b[:])
}

func (r *reader) u64(what string) uint64 {
	b := r.fixed(8, what)
	return binary.LittleEndian.Uint64(b[:])
}

func (r *reader) str(limit uint64, what string) string {
	at := r.at
	n := r.u64("the length of " + what)
	if r.err == nil && n > limit {
		r.fail("%s at byte %d is %d bytes long, and may be %d", what, at, n, limit)
	}
	return string(r.bytes(n, what))
}

// value reads one metadata value of the key.
func (r *reader) value(key string) *value {
	what := fmt.Sprintf("the value of %q", key)
	at := r.at
	v := &value{kind: Kind(r.u32("the kind of " + what)), at: at}
	switch {
	case r.err != nil:
	case v.kind == KindString:
		v.text = r.str(maxHeader, what)
	case v.kind == KindArray:
		r.array(v, what)
	case v.kind.size() > 0:
		v.raw = r.bytes(uint64(v.kind.size()), what)
		r.checkBools(v.kind, v.raw, at, what)
	default:
		r.fail("%s at byte %d has kind %d, which GGUF does not know", what, at, uint32(v.kind))
	}
	return v
}

func (r *reader) array(v *value, what string) {
	at := r.at
	v.elem = Kind(r.u32("the kind of the elements of " + what))
	n := r.u64("the number of elements of " + what)
	size := uint64(v.elem.size())
	switch {
	case r.err != nil:
	case v.elem == KindArray:
		r.err = fault.New(fault.Unsupported, opRead, "%s at byte %d is an array of arrays, which llama.cpp cannot read", what, at)
	case v.elem >= kindCount:
		r.fail("%s at byte %d is an array of kind %d, which GGUF does not know", what, at, uint32(v.elem))
	case v.elem == KindString:
		r.strings(v, n, what)
	case n > math.MaxInt64/size:
		r.fail("%s at byte %d claims %d elements of %d bytes, but the file ends at byte %d", what, at, n, size, r.size)
	default:
		v.n = int(n)
		v.raw = r.bytes(n*size, what)
		r.checkBools(v.elem, v.raw, at, what)
	}
}

func (r *reader) strings(v *value, n uint64, what string) {
	if n > maxList || n > uint64(r.size-r.at)/8 {
		r.fail("%s at byte %d claims %d strings, but the file ends at byte %d", what, r.at, n, r.size)
		return
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		at := r.at
		b := r.fixed(8, what)
		size := binary.LittleEndian.Uint64(b[:])
		if size > uint64(r.size-r.at) {
			r.fail("string %d of %s at byte %d claims %d bytes, but the file ends at byte %d", i, what, at, size, r.size)
			return
		}
		v.list = append(v.list, string(r.bytes(size, what)))
	}
	v.n = len(v.list)
}

// checkBools refuses a bool that is neither 0 nor 1: in C it would be undefined.
func (r *reader) checkBools(k Kind, b []byte, at int64, what string) {
	if k != KindBool {
		return
	}
	for i, c := range b {
		if c > 1 {
			r.fail("%s at byte %d holds a bool that is %d (element %d)", what, at, c, i)
			return
		}
	}
}
