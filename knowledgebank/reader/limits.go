package reader

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// Options limit what a Reader reads.
type Options struct {
	// MaxBytes is the size of the largest document: a mail, a file, a line of JSON. In
	// a compressed file it counts unpacked bytes. The reader reports and skips a larger
	// document.
	MaxBytes int64
	// MaxParts is the number of parts of a mail, those of mails inside it included. The
	// notes of the document name the parts behind the last one.
	MaxParts int
	// Location is the time zone of dates that name none.
	Location *time.Location
}

// Default returns options for ordinary use.
func Default() Options {
	return Options{MaxBytes: 32 << 20, MaxParts: 200, Location: time.UTC}
}

// Validate joins all errors in the options.
func (o Options) Validate() error {
	var all []error
	bad := func(format string, args ...any) {
		all = append(all, fault.New(fault.Invalid, "reader.Options", format, args...))
	}
	if o.MaxBytes < 1 || o.MaxBytes > 1<<30 {
		bad("MaxBytes is %d, not between 1 and %d", o.MaxBytes, 1<<30)
	}
	if o.MaxParts < 1 {
		bad("MaxParts is %d, less than 1", o.MaxParts)
	}
	if o.Location == nil {
		bad("Location is not set")
	}
	return errors.Join(all...)
}

// large is how many bytes of a document are held without asking for room.
const large = 1 << 20

// Bounds say what reading one file may take, and where it begins. Any func may be nil.
type Bounds struct {
	// Skip is how many documents to pass over, unreadable ones included.
	Skip int
	// Size is the number of bytes to read; 0: unknown.
	Size int64
	// Next is called before each document that is not passed over. Its error ends all
	// reading.
	Next func() error
	// Expand receives the number of bytes that a compressed file unpacked to. Its error
	// ends all reading.
	Expand func(bytes int) error
	// Hold is asked for room before a large document is held. Its error ends all
	// reading. The reader releases the room after emit returns.
	Hold func(ctx context.Context, bytes int64) (Room, error)
	// Unpack is called before a file is read that may unpack to many times its size: a PDF
	// or a file of an office program.
	// The reader calls done when it holds only the text.
	Unpack func(ctx context.Context) (done func(), err error)
}

// unpack calls Unpack, if there is one.
func (b Bounds) unpack(ctx context.Context) (done func(), err error) {
	if b.Unpack == nil {
		return func() {}, nil
	}
	return b.Unpack(ctx)
}

// Room is memory that a document may take.
type Room interface {
	// Shrink returns all but so many bytes.
	Shrink(bytes int64)
	// Release returns all of it.
	Release()
}

// next passes over a document, or asks whether to read it.
func (f *file) next() (skip bool, err error) {
	if f.bounds.Skip > 0 {
		f.bounds.Skip--
		return true, nil
	}
	if f.bounds.Next == nil {
		return false, nil
	}
	if err := f.bounds.Next(); err != nil {
		return false, stop{err}
	}
	return false, nil
}

// fail reports a document that cannot be read.
func (f *file) fail(name string, err error) error {
	if skip, stopped := f.next(); skip || stopped != nil {
		return stopped
	}
	f.failed(name, err)
	return nil
}

// grow asks for room if a document of so many bytes needs some.
func (f *file) grow(ctx context.Context, bytes int) error {
	most := f.o.MaxBytes
	if f.bounds.Size > 0 && !f.packed {
		most = min(most, f.bounds.Size)
	}
	return f.hold(ctx, bytes, most)
}

// hold asks for room for most bytes if a document of so many bytes needs some.
func (f *file) hold(ctx context.Context, bytes int, most int64) error {
	if bytes <= large || f.room != nil || f.bounds.Hold == nil {
		return nil
	}
	room, err := f.bounds.Hold(ctx, most)
	if err != nil {
		return stop{err}
	}
	f.room = room
	return nil
}

// holdText asks for room for a document whose text is larger than its file.
func (f *file) holdText(ctx context.Context, s *knowledgebank.Source) error {
	n := 0
	for _, b := range s.Blocks {
		n += len(b.Text)
	}
	return f.hold(ctx, n, int64(n))
}

// releaseRoom releases the room of a document that was passed on.
func (f *file) releaseRoom() {
	if f.room != nil {
		f.room.Release()
		f.room = nil
	}
}

// whole reads a file into memory. It returns an error if the file is too large.
func (f *file) whole(ctx context.Context, in io.Reader) ([]byte, error) {
	data, err := f.held(ctx, in)
	switch {
	case errors.Is(err, errLarge):
		return nil, f.tooLarge()
	case err != nil:
		return nil, damaged(err)
	}
	return data, nil
}

func (f *file) held(ctx context.Context, in io.Reader) ([]byte, error) {
	most := f.o.MaxBytes + 1
	data, err := io.ReadAll(io.LimitReader(in, min(most, large+1)))
	if err != nil {
		return nil, err
	}
	if len(data) > large {
		if err := f.grow(ctx, len(data)); err != nil {
			return nil, err
		}
		rest, err := io.ReadAll(io.LimitReader(in, most-int64(len(data))))
		if err != nil {
			return nil, err
		}
		data = append(data, rest...)
	}
	if int64(len(data)) > f.o.MaxBytes {
		return nil, errLarge
	}
	if f.room != nil {
		f.room.Shrink(int64(len(data)))
	}
	return data, nil
}

// unpack counts the bytes that a compressed file unpacks to.
func (f *file) unpack(z io.Reader) io.Reader {
	if f.packed = true; f.bounds.Expand == nil {
		return z
	}
	return readFunc(func(p []byte) (int, error) {
		n, err := z.Read(p)
		if over := f.bounds.Expand(n); over != nil {
			return n, stop{over}
		}
		return n, err
	})
}

// detach copies a document's text out of the file's text, which may be much larger.
func detach(s *knowledgebank.Source) {
	for _, text := range []*string{&s.Key, &s.Title, &s.Source} {
		*text = strings.Clone(*text)
	}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		b.Part, b.Speaker, b.At, b.Text = strings.Clone(b.Part), strings.Clone(b.Speaker), strings.Clone(b.At), strings.Clone(b.Text)
	}
	for i, n := range s.Notes {
		s.Notes[i] = strings.Clone(n)
	}
}
