package knowledgebank

import (
	"context"
	"crypto/sha256"
	"io"
	"strings"

	"github.com/percached/percached"
)

// ContentSum identifies the words of a document: SHA-256 of all words in order. It changes
// neither with the size of chunks nor with the title.
type ContentSum [sha256.Size]byte

// SumContent returns the sum of a document with these chunks.
func SumContent(chunks []percached.Chunk) ContentSum {
	h := sha256.New()
	for _, c := range chunks {
		for w := range strings.FieldsSeq(c.Body) {
			io.WriteString(h, w)
			h.Write([]byte{'\n'})
		}
	}
	return ContentSum(h.Sum(nil))
}

// ContentOf returns the sum that a source will have when it is stored.
func (b *Bank) ContentOf(ctx context.Context, s *Source) (ContentSum, error) {
	it, err := b.prepare(ctx, s)
	if err != nil {
		return ContentSum{}, err
	}
	return SumContent(it.chunks), nil
}
