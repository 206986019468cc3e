package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/percached/percached/internal/base/fault"
)

const opWrite = "gguf: write"

// pieceBytes limits how much of a tensor one goroutine holds.
const pieceBytes = 1 << 20

// Fill creates the bytes of a tensor from byte at on, filling p. It is called for pieces
// of whole blocks, always cut at the same places, in any order and concurrently.
type Fill func(p []byte, at int64) error

// Builder collects metadata and tensors of a file to write. The zero Builder is ready for
// use.
type Builder struct {
	Version   uint32 // 0 = 3
	Alignment uint32 // 0 = 32; written as general.alignment otherwise
	pairs     []pair
	keys      map[string]bool
	tensors   []pending
	names     map[string]bool
	err       error
}

type pair struct {
	key   string
	value any
}

type pending struct {
	name string
	typ  Type
	dims []uint64
	size int64
	fill Fill
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Invalid, opWrite, format, args...)
	}
}

// Set adds a metadata value: a bool, string, sized number, or a slice of such.
func (b *Builder) Set(key string, v any) {
	if b.keys == nil {
		b.keys = map[string]bool{}
	}
	if b.keys[key] {
		b.fail("key %q is set twice", key)
		return
	}
	b.keys[key] = true
	if kind, _ := kindOf(v); kind == kindCount {
		b.fail("key %q: a %T cannot be written", key, v)
	}
	b.pairs = append(b.pairs, pair{key, v})
}

// Tensor adds a tensor; dims begin with the length of a row.
func (b *Builder) Tensor(name string, t Type, dims []uint64, fill Fill) {
	if b.names == nil {
		b.names = map[string]bool{}
	}
	if b.names[name] {
		b.fail("tensor %q is added twice", name)
	}
	b.names[name] = true
	l, ok := layoutOf(t)
	n := uint64(1)
	for _, d := range dims {
		n *= d
	}
	if !ok || len(dims) == 0 || len(dims) > 4 || n == 0 || dims[0]%l.values != 0 {
		b.fail("tensor %q: %v cannot hold the dimensions %v", name, t, dims)
		return
	}
	b.tensors = append(b.tensors, pending{name, t, append([]uint64(nil), dims...), int64(n / l.values * l.bytes), fill})
}

// head is everything before the data; the offsets are those of the tensors within the
// data, and last its end.
func (b *Builder) head() (head []byte, offsets []int64) {
	align := int64(b.Alignment)
	if align == 0 {
		align = 32
	}
	pad := func(n int64) int64 { return (n + align - 1) / align * align }
	var w bytes.Buffer
	w.WriteString("GGUF")
	version := b.Version
	if version == 0 {
		version = 3
	}
	put(&w, version)
	put(&w, uint64(len(b.tensors)))
	put(&w, uint64(len(b.pairs)))
	for _, p := range b.pairs {
		putString(&w, p.key)
		putValue(&w, p.value)
	}
	at := int64(0)
	for _, t := range b.tensors {
		putString(&w, t.name)
		put(&w, uint32(len(t.dims)))
		for _, d := range t.dims {
			put(&w, d)
		}
		put(&w, uint32(t.typ))
		put(&w, uint64(at))
		offsets = append(offsets, at)
		at = pad(at + t.size)
	}
	w.Write(make([]byte, pad(int64(w.Len()))-int64(w.Len())))
	return w.Bytes(), append(offsets, at)
}

// WriteFile writes the file. progress, if not nil, receives done and total bytes, from
// one goroutine at a time.
func (b *Builder) WriteFile(path string, progress func(done, total int64)) error {
	if b.Alignment != 0 && !b.keys["general.alignment"] {
		b.Set("general.alignment", b.Alignment)
	}
	if b.err != nil {
		return b.err
	}
	part := path + ".part"
	f, err := os.Create(part)
	if err == nil {
		err = b.writeTo(f, progress)
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(part, path)
		}
		if err != nil {
			os.Remove(part)
		}
	}
	if err != nil {
		return fault.New(fault.Unavailable, opWrite, "%w", err)
	}
	return nil
}

type piece struct {
	tensor *pending
	at     int64 // within the tensor
	n      int64
	offset int64 // within the file
}

func (b *Builder) writeTo(f *os.File, progress func(done, total int64)) error {
	head, offsets := b.head()
	if _, err := f.Write(head); err != nil {
		return err
	}
	total := int64(len(head)) + offsets[len(offsets)-1]
	if err := f.Truncate(total); err != nil {
		return err
	}
	var (
		work  = make(chan piece)
		wg    sync.WaitGroup
		mu    sync.Mutex // done, first and progress
		done  = int64(len(head))
		first error
		bad   atomic.Bool
	)
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			buf := make([]byte, pieceBytes)
			for p := range work {
				err := p.write(f, buf[:p.n])
				mu.Lock()
				if done += p.n; err != nil && first == nil {
					first = fmt.Errorf("tensor %q: %w", p.tensor.name, err)
					bad.Store(true)
				}
				if progress != nil && first == nil {
					progress(done, total)
				}
				mu.Unlock()
			}
		})
	}
	for i := range b.tensors {
		t := &b.tensors[i]
		l, _ := layoutOf(t.typ)
		step := pieceBytes / int64(l.bytes) * int64(l.bytes)
		for at := int64(0); at < t.size && !bad.Load(); at += step {
			work <- piece{t, at, min(step, t.size-at), int64(len(head)) + offsets[i] + at}
		}
	}
	close(work)
	wg.Wait()
	return first
}

func (p piece) write(f *os.File, buf []byte) error {
	if err := p.tensor.fill(buf, p.at); err != nil {
		return err
	}
	_, err := f.WriteAt(buf, p.offset)
	return err
}

// FromFloats fills an f32 tensor with given values.
func FromFloats(values []float32) Fill {
	return func(p []byte, at int64) error {
		if at+int64(len(p)) > int64(len(values))*4 {
			return fmt.Errorf("%d values are too few", len(values))
		}
		for i := range len(p) / 4 {
			binary.LittleEndian.PutUint32(p[4*i:], math.Float32bits(values[int(at)/4+i]))
		}
		return nil
	}
}
