package pdf

import (
	"context"
	"errors"
	"fmt"

	"github.com/percached/percached/internal/base/fault"
)

// Page is the text of one page.
type Page struct {
	Number     int // from 1
	Paragraphs []string
	Picture    bool // it shows a picture and no text
	Unread     bool // much of it is in fonts that do not identify their characters
}

// Document is the text of a file.
type Document struct {
	Title string // from its document information; empty if that has none
	Pages []Page
}

// Files reads PDF files that share the limits in the options, such as all files of one
// mail. Read one file at a time.
type Files struct {
	pages int // of each file
	left  budget
}

// NewFiles returns Files with the limits in o.
func NewFiles(o Options) (*Files, error) {
	if err := o.Validate(); err != nil {
		return nil, fault.Wrap("pdf.NewFiles", err)
	}
	return &Files{o.MaxPages, *newBudget(o)}, nil
}

// Read reads all pages of a PDF file. A page without text has no paragraphs. If the
// file exceeds a limit, Read returns Unsupported and the pages before it. If no page
// has text or the file needs a password, the error is Unsupported; if the file is
// damaged beyond reading, Invalid. When ctx ends, Read stops with its error.
func (s *Files) Read(ctx context.Context, data []byte) (Document, error) {
	b := s.left
	b.over = func() bool { return ctx.Err() != nil }
	d, err := read(ctx, data, s.pages, &b)
	b.err, b.over = nil, nil // they belong to this file
	s.left = b
	return d, fault.Wrap("pdf.Read", err)
}

func read(ctx context.Context, data []byte, most int, b *budget) (d Document, err error) {
	f, err := open(data, b)
	if late := ctx.Err(); late != nil {
		err = late
	}
	if err != nil {
		return d, err
	}
	d.Title = f.title()
	leaves := f.pages(most)
	if len(leaves) == 0 {
		leaves = f.loosePages(most)
	}
	if len(leaves) == 0 && b.err == nil {
		return d, fault.New(fault.Invalid, "pdf.pages", "the file is damaged: it has no pages")
	}
	p := newProgram(f)
	text := false
	for i, l := range leaves {
		if i == most {
			b.overLimit("more than %d pages", most)
		}
		if b.err != nil {
			break
		}
		if err := ctx.Err(); err != nil {
			return d, err
		}
		shown, blind, drawn := p.shown, p.blind, p.drawn
		page := Page{Number: i + 1, Paragraphs: p.page(l)}
		text = text || len(page.Paragraphs) > 0
		page.Picture = len(page.Paragraphs) == 0 && p.drawn > drawn
		// Many fonts do not identify the space, and a sixth of a text is spaces.
		page.Unread = p.blind-blind > max((p.shown-shown)/3, 10)
		d.Pages = append(d.Pages, page)
	}
	switch {
	case ctx.Err() != nil:
		return d, ctx.Err()
	case b.err != nil:
		return d, b.err
	case !text:
		d.Pages = nil
		return d, p.missing()
	}
	return d, nil
}

// title is the title in the document information.
func (f *file) title() string {
	const longest = 1000
	s := f.str(f.dict(f.trailer["Info"])["Title"])
	if len(s) > longest {
		s = s[:longest]
	}
	return tidy(textString(s))
}

// Options limit what it costs to read a file, or several files of one Files. Read
// leaves out what exceeds a limit, and the error names the limit.
type Options struct {
	MaxPages int // of each file
	MaxBytes int // decoded bytes of all streams, and the text
	MaxSteps int // operators and characters of all pages
}

// Default suits a person's documents: files of thousands of pages pass, and a file made
// to be costly ends within seconds.
func Default() Options {
	return Options{MaxPages: 10_000, MaxBytes: 256 << 20, MaxSteps: 40_000_000}
}

// Validate joins all errors in the options.
func (o Options) Validate() error {
	var errs []error
	atLeast := func(what string, n int) {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, less than 1", what, n))
		}
	}
	atLeast("MaxPages", o.MaxPages)
	atLeast("MaxBytes", o.MaxBytes)
	atLeast("MaxSteps", o.MaxSteps)
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Invalid, "pdf.Options", "%w", err)
	}
	return nil
}

// Limits beside the options.
const (
	maxObjects = 1 << 20  // entries of the cross-reference table
	maxValues  = 3 << 20  // values in loaded objects
	maxStream  = 64 << 20 // decoded bytes of one stream
	maxLines   = 1 << 16  // lines of one page
	lineCost   = 64       // bytes that a line costs beside its text
	formCost   = 20       // steps that a form costs
	fontCost   = 1000     // steps that a font costs
)

// budget is what may still be spent.
type budget struct {
	bytes, steps, values int
	err                  error // the limit that was exceeded; then reading stops
	// over reports whether the caller has given up; looks counts what was spent since
	// the last call.
	over  func() bool
	looks int
}

// lookEvery is how many steps, or decoded KiB, pass between two calls of over.
const lookEvery = 1024

// look stops reading if the caller has given up.
func (b *budget) look(spent int) {
	if b.looks += spent; b.looks < lookEvery {
		return
	}
	if b.looks = 0; b.over != nil && b.over() && b.err == nil {
		b.err = fault.New(fault.Timeout, "pdf.Read", "the caller has given up")
	}
}

func newBudget(o Options) *budget {
	return &budget{bytes: o.MaxBytes, steps: o.MaxSteps, values: maxValues}
}

func (b *budget) overLimit(format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Unsupported, "pdf.limit", "the file is too large: "+format, args...)
	}
}

// step spends one step. It returns false if none is left.
func (b *budget) step() bool { return b.spendSteps(1) }

// perStep is how many bytes or numbers in a row are looked through in a step.
const perStep = 64

// spendSteps spends n steps.
func (b *budget) spendSteps(n int) bool {
	if b.steps < n {
		b.overLimit("its pages need too many steps")
		return false
	}
	b.steps -= n
	b.look(n)
	return b.err == nil
}

// spendBytes spends n bytes. It returns false if they are not left.
func (b *budget) spendBytes(n int) bool {
	if n > b.bytes {
		b.bytes = 0
		b.overLimit("too many bytes when decoded")
		return false
	}
	b.bytes -= n
	b.look(1 + n>>10)
	return b.err == nil
}
