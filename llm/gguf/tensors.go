package gguf

import (
	"math/bits"
	"sort"
)

// readTensors reads the tensor directory. Offsets are relative to the data
// section until place knows where that begins.
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
	// elements is at most 2^62, and no type needs more than 8 bytes a value.
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

// place finds the data section and holds the tensors against it.
func (f *File) place(r *reader) {
	if r.err != nil {
		return
	}
	align := int64(f.alignment)
	f.dataOffset = (r.at + align - 1) &^ (align - 1)
	if len(f.tensors) == 0 {
		return // a vocabulary alone: legal, and CheckModel refuses it
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
