package reader

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/transform"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// errEmpty is the reason for a file without any words.
var errEmpty = fault.New(fault.Invalid, "reader.parse", "the file holds no text")

// Reader reads files into documents.
type Reader struct{ o Options }

// New makes a Reader.
func New(o Options) (*Reader, error) {
	if err := o.Validate(); err != nil {
		return nil, fault.Wrap("reader.New", err)
	}
	return &Reader{o: o}, nil
}

// Stream reads one file of any format from rd. The name helps to recognise the format;
// with its folders it also makes the key of the document. Stream calls emit for every
// document and failed for everything that it cannot read. It returns an error only if
// the context ends or emit fails.
func (r *Reader) Stream(ctx context.Context, name string, rd io.Reader, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	return r.StreamWithin(ctx, Bounds{}, name, rd, emit, failed)
}

// StreamWithin reads as Stream does, within bounds.
func (r *Reader) StreamWithin(ctx context.Context, b Bounds, name string, rd io.Reader, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	f := &file{Reader: r, name: name, base: baseName(name), id: name, bounds: b, emit: emit, failed: failed}
	defer f.releaseRoom()
	f.mail, f.mailLike = maildirName(name)
	return fault.Wrap("reader.Stream", f.read(ctx, untilDone(ctx, rd)))
}

// file is one file while it is read.
type file struct {
	*Reader
	name string // for messages
	base string // the file's own name, for its format and title; of a compressed file, the name of its content
	id   string // for keys
	path string // of the document; empty if the file is not on this machine
	mail bool   // the file is known to be one mail
	// mailLike: the file may be one mail although its header shows little.
	mailLike bool
	marked   bool // a byte order mark says that the content is UTF-8
	packed   bool // the file is compressed
	inZip    bool // the file is in an archive
	keysOnly bool // only the keys of documents are asked for
	bounds   Bounds
	room     Room // for the current document; nil: it needs none
	emit     func(*knowledgebank.Source) error
	failed   func(name string, err error)
}

// stop is an error that ends all reading: an error of emit, or the end of the context.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// lookEvery is how many lines, or other small parts, are read between two checks of the
// context.
const lookEvery = 512

// ended reports, once every lookEvery parts, whether the context has ended. The caller
// throws away what it made by then.
func ended(ctx context.Context, i int) bool { return i%lookEvery == 0 && ctx.Err() != nil }

// read reads a file of any format. It returns an error only if reading must not
// continue with other files; it reports any other error to failed.
func (f *file) read(ctx context.Context, rd io.Reader) error {
	err := f.readAny(ctx, rd)
	if err != nil {
		err = f.unreadable(ctx, err)
	}
	if s, ok := errors.AsType[stop](err); ok {
		return s.error
	}
	return err
}

// unreadable reports an error of reading to failed. It returns those that end all reading.
func (f *file) unreadable(ctx context.Context, err error) error {
	if _, ok := errors.AsType[stop](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return stop{ctx.Err()}
	}
	return f.fail(f.name, fault.Wrap("reader.Read", err))
}

// readAny recognises the format and reads the file.
func (f *file) readAny(ctx context.Context, rd io.Reader) error {
	in := bufio.NewReaderSize(rd, window)
	head, err := in.Peek(window)
	if len(head) == 0 && err != nil && err != io.EOF {
		return err // otherwise the same error returns behind the readable part
	}
	if gzipped(head) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return damaged(err)
		}
		f.base = unpackedName(f.base)
		in = bufio.NewReaderSize(f.unpack(z), window)
		if head, err = in.Peek(window); len(head) == 0 && err != nil && err != io.EOF {
			return damaged(err)
		}
	}
	name := f.base
	if f.mailLike {
		name += ".eml"
	}
	of := sniff(name, head)
	if f.mail && of.kind != gzipKind {
		of = formatOf(mailKind)
	}
	if of.kind != pdfKind && of.kind != officeKind && of.kind != zipKind {
		f.marked = hasMark(head)
		in = textOf(in, head)
	}
	switch {
	case of.kind == unknownKind:
		return fault.New(fault.Unsupported, "sniff", "%s", unread(name, head))
	case of.kind == gzipKind:
		return fault.New(fault.Unsupported, "sniff", "the file is compressed twice; unpack it first")
	case of.stream != nil:
		return of.stream(f, ctx, in)
	case f.keysOnly && of.kind != mailKind:
		return f.document(ctx, f.name, func() (*knowledgebank.Source, error) { return keyOnly(f.key()), nil })
	}
	data, err := f.whole(ctx, in)
	if err != nil {
		return err
	}
	return f.document(ctx, f.name, func() (*knowledgebank.Source, error) {
		if of.document != nil {
			return of.document(f, ctx, data)
		}
		return f.note(ctx, of, data, "")
	})
}

// textOf returns text in the form that the formats expect: UTF-16 converted to UTF-8
// with a mark, and lines that end in
// .
func textOf(in *bufio.Reader, head []byte) *bufio.Reader {
	if enc := utf16Of(head); enc != nil {
		in = bufio.NewReaderSize(transform.NewReader(in, enc.NewDecoder()), window)
	}
	if carriage(head) {
		in = bufio.NewReaderSize(&crToLF{rd: in}, window)
	}
	return in
}

// document runs a parser, survives its panic, and passes on the document.
func (f *file) document(ctx context.Context, name string, parse func() (*knowledgebank.Source, error)) error {
	skip, err := f.next()
	if skip || err != nil {
		return err
	}
	s, err := guarded(parse)
	if ctx.Err() != nil { // the document may be incomplete
		return stop{ctx.Err()}
	}
	if err != nil {
		f.failed(name, fault.Wrap("reader.Read", err))
		return nil
	}
	if f.room != nil {
		detach(s)
	}
	if err := f.holdText(ctx, s); err != nil {
		return err
	}
	if s.Path = f.path; s.Path == "" {
		s.File = f.name
	}
	if err := f.emit(s); err != nil {
		return stop{err}
	}
	return nil
}

func guarded(parse func() (*knowledgebank.Source, error)) (s *knowledgebank.Source, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value of a panic may hold text of the document. A runtime error does
			// not.
			what := fmt.Sprintf("%T", p)
			if e, ok := p.(runtime.Error); ok {
				what = e.Error()
			}
			s, err = nil, fault.New(fault.Internal, "reader.parse", "the parser failed: %s", what)
		}
	}()
	s, err = parse()
	if err == nil && len(s.Blocks) == 0 {
		err = errEmpty
	}
	return s, err
}

// damaged turns an error of decompression into an Invalid fault and returns all others
// unchanged.
func damaged(err error) error {
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fault.New(fault.Invalid, "gzip", "the compressed file is damaged: %w", err)
	}
	return err
}

func (f *file) tooLarge() error {
	return fault.New(fault.Invalid, "size", "the document is larger than %d bytes", f.o.MaxBytes)
}

// key is the key of a document that is a whole file.
func (f *file) key() string { return "file:" + f.id }

// baseName is the last part of a path of any operating system.
func baseName(name string) string {
	return path.Base(strings.ReplaceAll(filepath.ToSlash(name), `\`, "/"))
}

// stem is a file's name without folder and ending.
func stem(name string) string {
	base := baseName(name)
	if s := strings.TrimSuffix(base, path.Ext(base)); s != "" {
		return s
	}
	return base
}

// unpackedName is the name of the file in a compressed one.
func unpackedName(name string) string {
	for _, end := range []string{".gz", ".GZ", ".gzip"} {
		if s, ok := strings.CutSuffix(name, end); ok {
			return s
		}
	}
	if s, ok := strings.CutSuffix(name, ".tgz"); ok {
		return s + ".tar"
	}
	return name
}
