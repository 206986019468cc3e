package models

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

//go:embed nano.gguf
var nano []byte

//go:embed nano-embed.gguf
var nanoEmbed []byte

// NanoPlacement is the better placement for nano: it was trained for both, and in
// parallel chunks keep their tensors in any combination.
const NanoPlacement = percached.Parallel

// NanoEmbed is the table of word vectors, for static.Parse. The caller must not change
// it.
func NanoEmbed() []byte { return nanoEmbed }

// Nano returns the path of the language model as a file in dir, which it creates if
// necessary. It reuses an existing file if that is complete.
func Nano(dir string) (string, error) {
	const op = "models: nano"
	sum := sha256.Sum256(nano)
	path := filepath.Join(dir, "nano-"+hex.EncodeToString(sum[:4])+".gguf")
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, nano) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	part, err := os.CreateTemp(dir, "nano-*.part")
	if err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	defer os.Remove(part.Name()) // after success it has another name
	_, err = part.Write(nano)
	if shut := part.Close(); err == nil {
		err = shut
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	return path, nil
}
