package knowledgebank

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Copy is a document with its chunks, to store it in another bank exactly as it is in this one.
type Copy struct {
	Document percached.Document
	Chunks   []percached.Chunk // as often as the document contains them
}

// copyPage is how many documents are read at once.
const copyPage = 500

// EachCopy calls fn with the wanted documents, by ascending id. A document that is deleted
// meanwhile may be missing. A damaged document is an error.
func (b *Bank) EachCopy(ctx context.Context, space string, wanted func(percached.Document) bool, fn func(Copy) error) error {
	const op = "knowledgebank.EachCopy"
	return b.eachDocument(ctx, space, func(d percached.Document) error {
		if !wanted(d) {
			return nil
		}
		for {
			chunks, err := b.Chunks(space, d.Chunks)
			if err != nil {
				return fault.Wrap(op, err)
			}
			if len(chunks) == len(d.Chunks) {
				return fn(Copy{d, chunks})
			}
			// It was replaced between the two reads.
			if err := ctx.Err(); err != nil {
				return err
			}
			again, err := b.Document(space, d.ID)
			if fault.KindOf(err) == fault.NotFound {
				return nil
			}
			if err != nil {
				return fault.Wrap(op, err)
			}
			if slices.Equal(again.Chunks, d.Chunks) {
				return fault.New(fault.Internal, op, "chunks of a document are missing: %w", ErrDamaged)
			}
			d = again
		}
	})
}

// Digest identifies the wanted documents of a space with their text: it is equal in two banks
// exactly if they hold the same. The time at which a document was added does not count. While a
// document is damaged, the digest equals that of no other bank.
func (b *Bank) Digest(ctx context.Context, space string, wanted func(percached.Document) bool) (string, error) {
	sum := sha256.New()
	err := b.eachDocument(ctx, space, func(d percached.Document) error {
		if wanted(d) {
			d.Added = time.Time{}
			record := encodeDocument(&d)
			if len(d.Chunks) > pageIDs {
				record = appendIDs(record, d.Chunks[pageIDs:])
			}
			sum.Write(appendText(nil, string(record)))
		}
		return nil
	})
	if damaged(err) {
		return "damaged", nil
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), err
}

// eachDocument calls fn with all documents by ascending id.
func (b *Bank) eachDocument(ctx context.Context, space string, fn func(percached.Document) error) error {
	var bad []error
	for after := (percached.DocumentID{}); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := b.Documents(space, after, copyPage)
		if err != nil && !damaged(err) {
			return err
		}
		bad = append(bad, err)
		for _, d := range page {
			if err := fn(d); err != nil {
				return err
			}
			after = d.ID
		}
		if len(page) < copyPage {
			return errors.Join(bad...)
		}
	}
}

// AddCopies is AddAll for documents of another bank: they are not cut again.
func (b *Bank) AddCopies(ctx context.Context, space string, copies []Copy) ([]Change, error) {
	const op = "knowledgebank.AddCopies"
	if _, _, err := b.find(op, space); err != nil {
		return nil, err
	}
	var items []*item
	var bad error
	for _, c := range copies {
		var it *item
		if it, bad = copied(c); bad != nil {
			break
		}
		items = append(items, it)
	}
	return b.store(ctx, op, space, items, bad)
}

// copied verifies a copy. Ids are made anew, so that they agree with the text.
func copied(c Copy) (*item, error) {
	d := c.Document
	d.ID, d.Chunks, d.Words = percached.NewDocumentID(d.Key), nil, max(0, d.Words)
	it := &item{document: d, bytes: 256 + len(d.Key) + len(d.Path)}
	right := d.Key != "" && len(d.Key) <= maxName && len(d.Path) <= maxName && len(c.Chunks) <= maxChunks
	for _, text := range []string{d.Key, d.Path, d.Title, d.Source, d.Format} {
		right = right && utf8.ValidString(text)
	}
	for _, chunk := range c.Chunks {
		right = right && utf8.ValidString(chunk.Head) && utf8.ValidString(chunk.Body)
		chunk = percached.Chunk{ID: percached.NewChunkID(chunk.Rendered()), Head: chunk.Head, Body: chunk.Body}
		it.document.Chunks = append(it.document.Chunks, chunk.ID)
		it.chunks = append(it.chunks, chunk)
		it.bytes += 256 + len(chunk.Head) + len(chunk.Body)
	}
	if !right {
		return nil, fault.New(fault.Invalid, "knowledgebank.copied", "a copied document is not as percached stores it")
	}
	return it, nil
}
