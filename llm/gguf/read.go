package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sort"

	"github.com/percached/percached/internal/base/fault"
)

const opRead = "gguf: read"

// Limits far above any real model, so that a malicious file cannot keep us busy for
// minutes, or llama.cpp, which compares each name with all earlier ones.
const (
	maxHeader  = 128 << 20 // bytes before the tensor data
	maxKeys    = 1 << 14
	maxTensors = 1 << 15
	maxKey     = 1<<16 - 1 // bytes of a key or name, by the format
	maxName    = 63        // bytes of a tensor's name, by llama.cpp
	maxList    = 1 << 22   // strings of one array
)

// reader reads the head of a file and tracks its position. Its first error stays, and
// every later read returns zero.
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

// need checks that n more bytes exist. what names them in the error.
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

// bytes reads n bytes. The slice is new and no larger than the file.
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

// checkBools refuses a bool other than 0 or 1, which is undefined in C.
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

// readTensors reads the tensor directory. Offsets are relative to the data section until
// place knows where it begins.
func (f *File) readTensors(r *reader, n uint64) {
	for i := uint64(0); i < n && r.err == nil; i++ {
		at := r.at
		name := r.str(maxKey, "a tensor's name")
		switch {
		case r.err != nil:
			return
		case len(name) > maxName:
			r.fail("the name of tensor %d at byte %d is %d bytes long; llama.cpp takes %d", i, at, len(name), maxName)
			return
		case name == "" || !printable(name):
			r.fail("tensor %d at byte %d is called %q, which is not a name", i, at, name)
			return
		}
		if _, twice := f.byName[name]; twice {
			r.fail("tensor %q stands twice in the directory, again at byte %d", name, at)
			return
		}
		if t, ok := readTensor(r, name); ok {
			f.byName[name] = len(f.tensors)
			f.tensors = append(f.tensors, t)
		}
	}
}

func readTensor(r *reader, name string) (Tensor, bool) {
	at := r.at
	t := Tensor{Name: name}
	nDims := r.u32("the dimensions of tensor " + name)
	if r.err == nil && (nDims == 0 || nDims > 4) {
		r.fail("tensor %q at byte %d has %d dimensions; 1 to 4 are possible", name, at, nDims)
	}
	elements := uint64(1)
	for d := uint32(0); d < nDims && r.err == nil; d++ {
		n := r.u64("a dimension of tensor " + name)
		hi, lo := bits.Mul64(elements, n)
		switch {
		case r.err != nil:
		case n == 0:
			r.fail("dimension %d of tensor %q is 0", d, name)
		case hi != 0 || lo > 1<<62:
			r.fail("the dimensions of tensor %q multiply to more than 2^62", name)
		}
		t.Dims, elements = append(t.Dims, n), lo
	}
	t.Type = Type(r.u32("the type of tensor " + name))
	offset := r.u64("the offset of tensor " + name)
	if r.err != nil {
		return t, false
	}
	l, ok := layoutOf(t.Type)
	if !ok {
		r.fail("tensor %q has type %d, which is not known", name, uint32(t.Type))
		return t, false
	}
	if t.Dims[0]%l.values != 0 {
		r.fail("tensor %q has rows of %d values; %s needs a multiple of %d", name, t.Dims[0], l.name, l.values)
		return t, false
	}
	// elements is at most 2^62, and every type needs at most 8 bytes a value.
	hi, size := bits.Mul64(elements/l.values, l.bytes)
	if hi != 0 || size > uint64(r.size) {
		r.fail("tensor %q takes %d values of %s: more than the whole file of %d bytes", name, elements, l.name, r.size)
		return t, false
	}
	if offset > uint64(r.size) {
		r.fail("tensor %q starts at byte %d of the data; the file has %d bytes", name, offset, r.size)
		return t, false
	}
	t.Offset, t.Size = int64(offset), int64(size)
	return t, true
}

// place finds the data section and checks the tensors against it.
func (f *File) place(r *reader) {
	if r.err != nil {
		return
	}
	align := int64(f.alignment)
	f.dataOffset = (r.at + align - 1) &^ (align - 1)
	if len(f.tensors) == 0 {
		return // only a vocabulary: valid, but CheckModel refuses it
	}
	order := make([]int, len(f.tensors))
	for i := range f.tensors {
		t := &f.tensors[i]
		order[i] = i
		if t.Offset%align != 0 {
			r.fail("tensor %q starts at byte %d of the data, which is not a multiple of the alignment %d", t.Name, t.Offset, align)
			return
		}
		t.Offset += f.dataOffset
		if end := t.Offset + t.Size; end > f.size {
			r.fail("the file is cut short: tensor %q ends at byte %d, but the file ends at byte %d (%d bytes are missing)", t.Name, end, f.size, end-f.size)
			return
		}
	}
	sort.Slice(order, func(a, b int) bool { return f.tensors[order[a]].Offset < f.tensors[order[b]].Offset })
	for i := 1; i < len(order); i++ {
		a, b := &f.tensors[order[i-1]], &f.tensors[order[i]]
		if a.Offset+a.Size > b.Offset {
			r.fail("tensors %q and %q overlap at byte %d", a.Name, b.Name, b.Offset)
			return
		}
	}
}

// Size of the whole file in bytes.
func (f *File) Size() int64 { return f.size }

// Tensors in the order of the file; the caller must not change them.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}
