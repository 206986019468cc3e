package gguf

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/fault"
)

// File is what stands before the tensor data of a GGUF file. It never changes.
type File struct {
	version    uint32
	size       int64
	alignment  uint64
	dataOffset int64
	keys       []string
	meta       map[string]*value
	tensors    []Tensor
	byName     map[string]int
	src        io.ReaderAt
}

// Tensor is one entry of the tensor directory.
type Tensor struct {
	Name   string
	Dims   []uint64 // fastest first: the length of a row, then the number of rows
	Type   Type
	Offset int64 // from the start of the file
	Size   int64 // bytes
}

// Elements is the product of the dimensions.
func (t *Tensor) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// onDisk reads a file without keeping it open.
type onDisk string

func (p onDisk) ReadAt(b []byte, off int64) (int, error) {
	f, err := os.Open(string(p))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, off)
}

// Open reads and checks all but the values of the tensors.
func Open(path string) (*File, error) {
	h, err := os.Open(path)
	if err != nil {
		kind := fault.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		}
		return nil, fault.New(kind, opRead, "%w", err)
	}
	defer h.Close()
	st, err := h.Stat()
	if err != nil {
		return nil, fault.New(fault.Unavailable, opRead, "%w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, opRead, "%s is not a file but a %s", path, modeName(st.Mode()))
	}
	f, err := Parse(h, st.Size())
	if err != nil {
		return nil, fault.New(fault.KindOf(err), opRead, "%s: %w", filepath.Base(path), errors.Unwrap(err))
	}
	f.src = onDisk(path)
	return f, nil
}

func modeName(m fs.FileMode) string {
	if m.IsDir() {
		return "folder"
	}
	return "device or pipe"
}

// Parse is Open for what is not a file on disk.
func Parse(src io.ReaderAt, size int64) (*File, error) {
	if err := checkMagic(src, size); err != nil {
		return nil, err
	}
	r := newReader(src, size)
	f := &File{size: size, meta: map[string]*value{}, byName: map[string]int{}, src: src}
	r.u32("the magic number")
	f.version = r.u32("the version")
	f.checkVersion(r)
	nTensors := r.u64("the number of tensors")
	nKeys := r.u64("the number of metadata keys")
	switch {
	case r.err != nil:
	case nTensors > maxTensors:
		r.fail("the header claims %d tensors; no model has more than %d", nTensors, maxTensors)
	case nKeys > maxKeys:
		r.fail("the header claims %d metadata keys; no model has more than %d", nKeys, maxKeys)
	}
	f.readMeta(r, nKeys)
	f.readAlignment(r)
	f.readTensors(r, nTensors)
	f.place(r)
	if r.err != nil {
		if hint := mangled(src, size); hint != "" {
			return nil, fault.New(fault.KindOf(r.err), opRead, "%w%s", errors.Unwrap(r.err), hint)
		}
		return nil, r.err
	}
	return f, nil
}

func (f *File) checkVersion(r *reader) {
	v := f.version
	switch {
	case r.err != nil || v == 2 || v == 3:
	case v == 1:
		r.err = fault.New(fault.Unsupported, opRead, "GGUF version 1 went out of use in 2023: convert the model anew (versions 2 and 3 are read)")
	case v&0xffff == 0 && v != 0:
		r.err = fault.New(fault.Unsupported, opRead, "the file is big endian (version %#x): only little-endian files are read", v)
	default:
		r.err = fault.New(fault.Unsupported, opRead, "GGUF version %d is not known here: versions 2 and 3 are read", v)
	}
}

func (f *File) readMeta(r *reader, n uint64) {
	for i := uint64(0); i < n && r.err == nil; i++ {
		at := r.at
		key := r.str(maxKey, "a metadata key")
		switch {
		case r.err != nil:
			return
		case key == "" || !printable(key):
			r.fail("metadata key %d at byte %d is %q, not a name", i, at, key)
			return
		case f.meta[key] != nil:
			r.fail("metadata key %q stands twice, at bytes %d and %d", key, f.meta[key].at, at)
			return
		}
		v := r.value(key)
		f.keys = append(f.keys, key)
		f.meta[key] = v
	}
}

func (f *File) readAlignment(r *reader) {
	const key = "general.alignment"
	f.alignment = 32
	v := f.meta[key]
	if r.err != nil || v == nil {
		return
	}
	if v.kind != KindUint32 {
		r.fail("%s is %s %s and must be a uint32", key, article(v.typeName()), v.typeName())
		return
	}
	f.alignment, _ = f.Uint(key)
	if a := f.alignment; a == 0 || a&(a-1) != 0 || a > 1<<20 {
		r.fail("%s is %d and must be a power of two up to %d", key, a, 1<<20)
	}
}

// printable says that C will see the same name as we do.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}
