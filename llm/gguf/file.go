package gguf

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

// File is everything before the tensor data of a GGUF file. It never changes.
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

// Open reads and checks everything except the values of the tensors.
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

// Parse is Open for data that is not a file on disk.
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

// printable reports whether C reads the same name as Go.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// Tokenizer is the file's description of its tokenizer. A missing token id is -1.
type Tokenizer struct {
	Model  string // gpt2 (byte-level BPE), llama (SPM), bert (WPM), t5, ...
	Pre    string // how text is split before BPE
	Tokens []string
	Types  []int64 // nil if the file has none
	Scores int     // how many
	Merges []string

	BOS, EOS, EOT, Unknown, Padding, Separator, Class, Mask int64

	// AddBOS and AddEOS are nil if the tokenizer decides.
	AddBOS, AddEOS, AddSpacePrefix *bool
}

// Architecture is general.architecture, empty if the file has none.
func (f *File) Architecture() string {
	s, _ := f.Str("general.architecture")
	return s
}

// Name is general.name.
func (f *File) Name() string {
	s, _ := f.Str("general.name")
	return s
}

// Key is the key of one of the architecture's values: Key("block_count") of a llama is
// llama.block_count.
func (f *File) Key(suffix string) string { return f.Architecture() + "." + suffix }

// ChatTemplate is the model's own, empty if it has none.
func (f *File) ChatTemplate() string {
	s, _ := f.Str("tokenizer.chat_template")
	return s
}

// Tokenizer collects the tokenizer's metadata. Its slices must not be changed.
func (f *File) Tokenizer() Tokenizer {
	const p = "tokenizer.ggml."
	id := func(name string) int64 {
		n, ok := f.Uint(p + name + "_token_id")
		if !ok || n >= 1<<31 {
			return -1
		}
		return int64(n)
	}
	flag := func(name string) *bool {
		if v, ok := f.Bool(p + name); ok {
			return &v
		}
		return nil
	}
	t := Tokenizer{
		Scores: f.Len(p + "scores"),
		BOS:    id("bos"), EOS: id("eos"), EOT: id("eot"), Unknown: id("unknown"), Padding: id("padding"),
		Separator: id("seperator"), // spelt so in every file
		Class:     id("cls"), Mask: id("mask"),
		AddBOS: flag("add_bos_token"), AddEOS: flag("add_eos_token"), AddSpacePrefix: flag("add_space_prefix"),
	}
	t.Model, _ = f.Str(p + "model")
	t.Pre, _ = f.Str(p + "pre")
	t.Tokens, _ = f.Strs(p + "tokens")
	t.Merges, _ = f.Strs(p + "merges")
	t.Types, _ = f.Ints(p + "token_type")
	return t
}

// checkMagic recognises a GGUF file, and the files that users mistake for one.
func checkMagic(src io.ReaderAt, size int64) error {
	if size == 0 {
		return fault.New(fault.Invalid, opRead, "the file is empty")
	}
	head := make([]byte, min(size, 512))
	if n, err := src.ReadAt(head, 0); n < len(head) {
		return fault.New(fault.Unavailable, opRead, "the first %d bytes: %w", len(head), err)
	}
	if bytes.HasPrefix(head, []byte("GGUF")) {
		if size < 24 {
			return fault.New(fault.Invalid, opRead, "the file is cut short: the header takes 24 bytes, but the file ends at byte %d", size)
		}
		return nil
	}
	if what := guess(head); what != "" {
		return fault.New(fault.Invalid, opRead, "this is not a GGUF file but %s", what)
	}
	return fault.New(fault.Invalid, opRead, "this is not a GGUF file: it begins with %q", head[:min(4, len(head))])
}

func guess(head []byte) string {
	for _, m := range []struct{ magic, what string }{
		{"\x7fELF", "an ELF program or library"},
		{"PK\x03\x04", "a zip archive (PyTorch files are such)"},
		{"\x80\x02", "a Python pickle (an old PyTorch file)"},
		{"\x1f\x8b", "gzip-compressed: unpack it first"},
		{"(\xb5/\xfd", "zstd-compressed: unpack it first"},
		{"version https://git-lfs", "a Git LFS pointer: fetch the real file with git lfs pull"},
		{"FUGG", "a GGUF file with its bytes swapped (big endian)"},
		{"lmgg", "a GGML file from before GGUF: convert the model anew"},
		{"fmgg", "a GGMF file from before GGUF: convert the model anew"},
		{"tjgg", "a GGJT file from before GGUF: convert the model anew"},
		{"\x89HDF", "an HDF5 file"},
		{"MZ", "a Windows program"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what
		}
	}
	text := bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\ufeff"))
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype")), bytes.HasPrefix(text, []byte("<html")):
		return "a web page: the download failed"
	case len(head) > 9 && head[8] == '{' && bytes.Equal(head[4:8], []byte{0, 0, 0, 0}):
		return "a safetensors file: convert it first"
	case bytes.HasPrefix(text, []byte("{")):
		return "JSON text"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive: unpack it first"
	}
	return ""
}

// mangled recognises a file that a program treated as text, replacing invalid UTF-8.
func mangled(src io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 1<<16))
	n, _ := src.ReadAt(head, 0)
	head = head[:n]
	for cut := 0; cut < 4 && len(head) > 0; cut++ { // a letter may be cut
		if utf8.Valid(head) {
			break
		}
		head = head[:len(head)-1]
	}
	if bytes.ContainsRune(head, utf8.RuneError) && utf8.Valid(head) {
		return " (the file went through a program that took it for text and replaced bytes: fetch it again)"
	}
	return ""
}
