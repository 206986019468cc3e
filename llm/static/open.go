package static

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

const (
	opOpen = "static: open"
	// A table is read whole; real ones take some MiB.
	maxFile = 1 << 30
	piece   = 1 << 20 // of a file, between two looks at whether ctx has ended
)

// Open reads a table from a file. The file may change or go once it has
// returned.
func Open(ctx context.Context, path string) (*Embedder, error) {
	name := filepath.Base(path)
	f, err := gguf.Open(path)
	if err != nil {
		return nil, fault.Wrap(opOpen, err)
	}
	// Nobody waits until a large model has been read, only to hear that it is no table.
	if err := checkArchitecture(f); err != nil {
		return nil, named(name, err)
	}
	if f.Size() > maxFile {
		return nil, fault.New(fault.Unsupported, opOpen, "%s takes %d MiB: a table may take %d", name, f.Size()>>20, maxFile>>20)
	}
	data, err := readFile(ctx, path, f.Size())
	if err != nil {
		return nil, err
	}
	return Parse(ctx, name, data)
}

func readFile(ctx context.Context, path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Unavailable, opOpen, "%w", err)
	}
	defer f.Close()
	data := make([]byte, size)
	for at := 0; at < len(data); {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		n, err := io.ReadFull(f, data[at:min(at+piece, len(data))])
		if err != nil {
			return nil, fault.New(fault.Unavailable, opOpen, "%s at byte %d: %w", path, at+n, err)
		}
		at += n
	}
	return data, nil
}

// Parse takes a table that lies in memory, and must not change there until the
// Embedder is closed: rows are read where they are. The name is for errors.
func Parse(ctx context.Context, name string, data []byte) (*Embedder, error) {
	f, err := gguf.Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, named(name, err)
	}
	h, err := readHead(f)
	if err != nil {
		return nil, named(name, err)
	}
	rows := &table{
		data: data[h.tensor.Offset : h.tensor.Offset+h.tensor.Size],
		typ:  h.tensor.Type, dim: h.dim, stride: int(h.tensor.Size) / (len(h.tokens) + h.hashed),
	}
	if err := rows.check(); err != nil {
		return nil, named(name, err)
	}
	sum := sha256.New()
	for rest := data; len(rest) > 0; {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		n := min(len(rest), piece)
		sum.Write(rest[:n])
		rest = rest[n:]
	}
	return &Embedder{
		info: percached.EmbedderInfo{
			Name: h.name, Architecture: architecture, Dimensions: h.dim, MaxTokens: h.context,
			Pooling:     "mean", // a sum made one long is a mean made one long
			Fingerprint: fingerprint(sum.Sum(nil)),
		},
		threshold: h.threshold,
		words:     newVocabulary(h.tokens, h.hashed),
		rows:      rows,
	}, nil
}

// fingerprint names all that shapes a vector: the table, the rules by which
// text is cut, and the Unicode tables that these rules go by.
func fingerprint(weights []byte) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d\n%s %s\n%x\n", architecture, version, unicode.Version, norm.Version, weights))
	return hex.EncodeToString(sum[:])
}

// named says in which table it is that something is wrong.
func named(name string, err error) error {
	return fault.New(fault.KindOf(err), opOpen, "%s: %w", name, errors.Unwrap(err))
}

func ended(ctx context.Context) error {
	return fault.New(fault.Timeout, opOpen, "%w", context.Cause(ctx))
}
