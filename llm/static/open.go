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
	// A table is read completely; real ones have a few MiB.
	maxFile = 1 << 30
	piece   = 1 << 20 // bytes read between two checks of ctx
)

// Open reads a table from a file. Afterwards the file may change or disappear.
func Open(ctx context.Context, path string) (*Embedder, error) {
	name := filepath.Base(path)
	f, err := gguf.Open(path)
	if err != nil {
		return nil, fault.Wrap(opOpen, err)
	}
	// Check first, so that a large model is not read only to be refused.
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

// Parse uses a table in memory, which must not change until the Embedder is closed,
// because rows are read in place. name is for errors.
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
			Pooling:     "mean", // a normalised sum equals a normalised mean
			Fingerprint: fingerprint(sum.Sum(nil)),
		},
		threshold: h.threshold,
		words:     newVocabulary(h.tokens, h.hashed),
		rows:      rows,
	}, nil
}

// fingerprint identifies everything that affects a vector: the table, the rules for
// splitting text, and the Unicode tables of these rules.
func fingerprint(weights []byte) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d\n%s %s\n%x\n", architecture, version, unicode.Version, norm.Version, weights))
	return hex.EncodeToString(sum[:])
}

// named adds the table's name to an error.
func named(name string, err error) error {
	return fault.New(fault.KindOf(err), opOpen, "%s: %w", name, errors.Unwrap(err))
}

func ended(ctx context.Context) error {
	return fault.New(fault.Timeout, opOpen, "%w", context.Cause(ctx))
}
