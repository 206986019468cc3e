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

// Options bound what a Reader takes in.
type Options struct {
	// MaxBytes of one document: a mail, a file, a line of JSON. For a compressed
	// file it counts what is inside. A larger one is reported and skipped.
	MaxBytes int64
	// MaxParts of one mail, those of mails inside it included. What is behind the
	// last one is named in the notes.
	MaxParts int
	// Location is the zone of dates that name none.
	Location *time.Location
}

// Default are the options for ordinary use.
func Default() Options {
	return Options{MaxBytes: 32 << 20, MaxParts: 200, Location: time.UTC}
}

// Validate names everything that is wrong with the options.
func (o Options) Validate() error {
	var all []error
	bad := func(format string, args ...any) {
		all = append(all, fault.New(fault.Invalid, "reader.Options", format, args...))
	}
	if o.MaxBytes < 1 || o.MaxBytes > 1<<30 {
		bad("max bytes of a document: %d is not within 1 and %d", o.MaxBytes, 1<<30)
	}
	if o.MaxParts < 1 {
		bad("max parts of a mail: %d is less than 1", o.MaxParts)
	}
	if o.Location == nil {
		bad("the location of dates is not set")
	}
	return errors.Join(all...)
}

// large is how many bytes of a document are held without asking for room.
const large = 1 << 20

// Bounds say what reading one file may take, and where it begins. Any func may be
// nil.
type Bounds struct {
	// Skip is how many documents are passed over, those that cannot be read among
	// them.
	Skip int
	// Size is how many bytes are to be read; 0: nobody knows.
	Size int64
	// Next is asked before each document that is not passed over; its error ends all
	// reading.
	Next func() error
	// Expand is told how many bytes came out of a compressed file; its error ends all
	// reading.
	Expand func(bytes int) error
	// Hold is asked for room before a large document is held, and its error ends all
	// reading. The room is given back when the document was handed on.
	Hold func(ctx context.Context, bytes int64) (Room, error)
	// Unpack is asked before a PDF is read, which may unpack to many times its size. The
	// caller calls done when only its text is left.
	Unpack func(ctx context.Context) (done func(), err error)
}

// Room is what a document may take of the memory.
type Room interface {
	// Shrink gives back what is more than this.
	Shrink(bytes int64)
	// Release gives back all.
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

// grow asks for room, if so many bytes of a document are too many without.
func (f *file) grow(ctx context.Context, bytes int) error {
	most := f.o.MaxBytes
	if f.bounds.Size > 0 && !f.packed {
		most = min(most, f.bounds.Size)
	}
	return f.hold(ctx, bytes, most)
}

// hold takes room for most bytes, if there are too many without.
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

// said takes room for a document that says more than the file that it was read from
// is long.
func (f *file) said(ctx context.Context, s *knowledgebank.Source) error {
	n := 0
	for _, b := range s.Blocks {
		n += len(b.Text)
	}
	return f.hold(ctx, n, int64(n))
}

// leave gives back the room of a document that was handed on.
func (f *file) leave() {
	if f.room != nil {
		f.room.Release()
		f.room = nil
	}
}

// whole reads a file into memory, unless it is too large.
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

// unpack counts what comes out of a compressed file.
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

// detach copies what a document says out of the text that it was read from, which
// may be much larger.
func detach(s *knowledgebank.Source) {
	for _, text := range []*string{&s.Key, &s.Title, &s.Source} {
		*text = strings.Clone(*text)
	}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		b.Speaker, b.At, b.Text = strings.Clone(b.Speaker), strings.Clone(b.At), strings.Clone(b.Text)
	}
	for i, n := range s.Notes {
		s.Notes[i] = strings.Clone(n)
	}
}
