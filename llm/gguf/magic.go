package gguf

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

// checkMagic tells a GGUF file from what people mistake for one.
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

// mangled explains a damage that no field can: a program took the file for
// text and replaced what is not UTF-8.
func mangled(src io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 1<<16))
	n, _ := src.ReadAt(head, 0)
	head = head[:n]
	for cut := 0; cut < 4 && len(head) > 0; cut++ { // a letter may be cut in two
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
