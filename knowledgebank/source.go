package knowledgebank

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Source is one document as a reader found it, before it is cut into chunks.
type Source struct {
	Key    string    // the source's own name: a mail's Message-ID, a file's path
	Title  string    // subject, heading or file name
	Source string    // as chunks name it: "mail from Ana Ruiz", "meeting", "note"
	Format string    // text, markdown, html, mail, transcript, pdf, docx, odt, rtf, xlsx, ods, pptx, odp, epub, json
	Path   string    // the file that it was read from, if there is one
	File   string    // the name of the file that it was sent in; unlike a path it does not replace a missing title
	Date   time.Time // the zero time when unknown
	Blocks []Block   // in order
	// Whole keeps a short text in one chunk, also if chunks have fewer words. It is not stored.
	Whole bool
	// Again adds the document although the user deleted it before. It is not stored.
	Again bool
	// Notes say what could not be read: "attachment photo.jpg (image/jpeg) not read".
	// They are not stored.
	Notes []string
}

// Block is a paragraph, a heading, or one speaker's turn.
type Block struct {
	Part    string // what of the document it is in, as chunks name it: "attachment lease.docx"; empty: its main text
	Speaker string // in a transcript; empty otherwise
	At      string // of a transcript: "00:12:31"
	Text    string // valid UTF-8 without control characters except \n
}

const (
	// maxChunks is the most chunks of a document: about five million words.
	maxChunks = 50_000
	// wholeWords is how long a text in one chunk can be.
	wholeWords = 1000
	// maxName is the longest key or path, in bytes.
	maxName = 4096
)

// item is a document, cut and ready to be stored.
type item struct {
	document percached.Document
	chunks   []percached.Chunk
	bytes    int // approximate size when stored
}

// prepare cuts a document.
func (b *Bank) prepare(ctx context.Context, s *Source) (*item, error) {
	const op = "knowledgebank.prepare"
	switch {
	case s == nil:
		return nil, fault.New(fault.Invalid, op, "the source is missing")
	case s.Key == "":
		return nil, fault.New(fault.Invalid, op, "the document has no key")
	case len(s.Key) > maxName || !utf8.ValidString(s.Key):
		return nil, fault.New(fault.Invalid, op, "the document's key is longer than %d bytes or not UTF-8", maxName)
	case len(s.Path) > maxName || !utf8.ValidString(s.Path) || len(s.File) > maxName || !utf8.ValidString(s.File):
		return nil, fault.New(fault.Invalid, op, "the document's path is longer than %d bytes or not UTF-8", maxName)
	}
	n := 0 // half words
	for _, block := range s.Blocks {
		n += size(block.Text)
	}
	if n/2 > maxChunks*b.o.ChunkWords { // check before cutting, which takes many times its bytes
		return nil, fault.New(fault.Invalid, op, "the document has about %d words, more than %d", n/2, maxChunks*b.o.ChunkWords)
	}
	it := &item{document: percached.Document{
		ID: percached.NewDocumentID(s.Key), Key: s.Key, Title: title(s), Source: about(s),
		Format: line(s.Format), Path: cmp.Or(s.Path, s.File), Date: s.Date, Added: b.o.Now().Round(0),
	}}
	d := &it.document
	words := b.o.ChunkWords
	if s.Whole {
		words = max(words, wholeWords)
	}
	pieces := cut(ctx, units(ctx, s), words)
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if len(pieces) == 0 && hasWords(line(s.Title)) {
		pieces = []piece{{body: d.Title}} // so that a mail without a text is found by its subject
	}
	if len(pieces) > maxChunks {
		return nil, fault.New(fault.Invalid, op, "the document has %d chunks, more than %d", len(pieces), maxChunks)
	}
	it.bytes = 256 + len(d.Key) + len(d.Path)
	for i, p := range pieces {
		if ended(ctx, i) {
			return nil, fault.Wrap(op, ctx.Err())
		}
		c := percached.Chunk{Head: head(d, p.place), Body: p.body}
		c.ID = percached.NewChunkID(c.Rendered())
		d.Words += p.words
		d.Chunks = append(d.Chunks, c.ID)
		it.chunks = append(it.chunks, c)
		it.bytes += 256 + len(c.Head) + len(c.Body)
	}
	return it, nil
}
