package office

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Document is the text of a file. It may hold characters that no document should; the
// caller cleans it.
type Document struct {
	Format string // docx, odt, rtf, xlsx, ods, pptx, odp, epub
	Title  string // from its properties; empty if they have none
	Author string
	Date   time.Time // of the last change; the zero time if unknown
	Parts  []Part
	Notes  []string // what was left out
}

// Part is a sheet of a spreadsheet, a chapter of a book, or all of another document.
type Part struct {
	Name       string // of a sheet
	Paragraphs []string
	Page       []byte // of a book: a page of HTML, instead of paragraphs
}

// Files reads files that share the limits in the options, such as all files of one mail.
// Read one file at a time.
type Files struct{ left budget }

// NewFiles returns Files with the limits in o.
func NewFiles(o Options) (*Files, error) {
	if err := o.Validate(); err != nil {
		return nil, fault.Wrap("office.NewFiles", err)
	}
	return &Files{budget{bytes: o.MaxBytes, text: o.MaxText}}, nil
}

// Read reads a file. If the file exceeds a limit or is damaged, Read returns the text before
// that and an error: Unsupported or Invalid. A file that needs a password or has another
// format is Unsupported. When ctx ends, Read stops with its error.
func (s *Files) Read(ctx context.Context, data []byte) (Document, error) {
	b := s.left
	b.over = ctx.Err
	d, err := read(data, &b)
	if late := ctx.Err(); late != nil {
		err = late
	}
	b.over, b.err = nil, nil
	s.left = b
	return d, fault.Wrap("office.Read", err)
}

func read(data []byte, b *budget) (Document, error) {
	if start := bytes.TrimLeft(data, "\xef\xbb\xbf \t\r\n"); bytes.HasPrefix(start, []byte(`{\rtf`)) {
		return readRTF(start, b)
	}
	if bytes.HasPrefix(data, oleStart) {
		return Document{}, refuseOLE(data)
	}
	a, err := openArchive(data, b)
	if err != nil {
		return Document{}, err
	}
	switch typ := a.mimetype(); {
	case typ == "application/epub+zip" || a.has("META-INF/container.xml") && typ == "":
		return readBook(a)
	case typ != "":
		return readODF(a, typ)
	}
	return readOOXML(a)
}

// Archive reports whether a file is a zip archive of other files, and not one document.
func Archive(data []byte) bool {
	a, err := openArchive(data, &budget{bytes: 1 << 20, over: func() error { return nil }})
	if err != nil {
		return false
	}
	_, main := a.mainPart()
	return !main && a.mimetype() == "" && !a.has("META-INF/container.xml") && !a.apple()
}

// readOOXML reads a file of Microsoft Office.
func readOOXML(a *archive) (Document, error) {
	main, ok := a.mainPart()
	if !ok {
		return Document{}, a.refuse()
	}
	x, err := a.scan(main)
	if err != nil {
		return Document{}, err
	}
	root, err := x.root()
	if err != nil {
		return Document{}, err
	}
	d := a.properties()
	switch root {
	case "document":
		d.Format = "docx"
		err = readWord(a, main, &d)
	case "workbook":
		d.Format = "xlsx"
		err = readWorkbook(a, main, &d)
	case "presentation":
		d.Format = "pptx"
		err = readSlides(a, main, &d)
	default:
		return Document{}, a.refuse()
	}
	return d, err
}

// Options limit what it costs to read a file, or several files of one Files.
type Options struct {
	MaxBytes int // unpacked bytes
	MaxText  int // bytes of text; that of tables counts twice
}

// Default suits a person's documents.
func Default() Options { return Options{MaxBytes: 256 << 20, MaxText: 48 << 20} }

// Validate joins all errors in the options.
func (o Options) Validate() error {
	var errs []error
	if o.MaxBytes < 1 {
		errs = append(errs, fmt.Errorf("MaxBytes is %d, less than 1", o.MaxBytes))
	}
	if o.MaxText < 1 {
		errs = append(errs, fmt.Errorf("MaxText is %d, less than 1", o.MaxText))
	}
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Invalid, "office.Options", "%w", err)
	}
	return nil
}

// Limits beside the options.
const (
	maxEntries = 20_000   // files in an archive
	maxFile    = 64 << 20 // unpacked bytes of one file
	maxRun     = 8 << 20  // bytes of one text or tag in XML
	maxDepth   = 256      // of elements in elements
	maxSmall   = 16 << 20 // text of footnotes, comments and strings that is kept until it is used
)

// budget is what may still be spent. err is the limit that was exceeded; then reading
// stops.
type budget struct {
	bytes, text int
	err         error
	over        func() error // the error of the context
	looks       int
}

// look stops reading if the caller has given up.
func (b *budget) look() error {
	const every = 512
	if b.looks++; b.looks%every == 0 && b.err == nil {
		b.err = b.over()
	}
	return b.err
}

func (b *budget) tooLarge(format string, args ...any) error {
	if b.err == nil {
		b.err = fault.New(fault.Unsupported, "office.limit", "the file is too large: "+format, args...)
	}
	return b.err
}

// spendText spends n bytes of text. It returns false if they are not left.
func (b *budget) spendText(n int) bool {
	const paragraph = 16 // what a paragraph costs beside its text
	if n += paragraph; n > b.text {
		b.text = 0
		b.tooLarge("it has too much text") //nolint:errcheck // kept in b.err
		return false
	}
	b.text -= n
	return b.err == nil
}

func damaged(format string, args ...any) error {
	return fault.New(fault.Invalid, "office.parse", "the file is damaged: "+format, args...)
}
