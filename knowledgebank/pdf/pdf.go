package pdf

import (
	"context"
	"errors"
	"fmt"

	"github.com/percached/percached/internal/base/fault"
)

// Page is what one page says.
type Page struct {
	Number     int // from 1
	Paragraphs []string
	Picture    bool // it shows a picture, and no text
	Unread     bool // much of it is in fonts that do not say what their characters are
}

// Document is what a file says.
type Document struct {
	Title string // in its document information; empty if it does not say
	Pages []Page
}

// Files are PDF files that come together: the options bound what all of them
// cost. They are read one at a time.
type Files struct {
	pages int // of each
	left  budget
}

// NewFiles makes files that cost no more than the options say.
func NewFiles(o Options) (*Files, error) {
	if err := o.Validate(); err != nil {
		return nil, fault.Wrap("pdf.NewFiles", err)
	}
	return &Files{o.MaxPages, *newBudget(o)}, nil
}

// Read reads a PDF file, every page of it; one without text has no paragraphs.
// Where the file exceeds a limit, the error is Unsupported and the pages before
// stand beside it. A file whose pages all are without text, and one that needs
// a password, is Unsupported too; one that is damaged beyond reading, Invalid.
// When ctx ends, so does reading, with its error.
func (s *Files) Read(ctx context.Context, data []byte) (Document, error) {
	b := s.left
	b.over = func() bool { return ctx.Err() != nil }
	d, err := read(ctx, data, s.pages, &b)
	b.err, b.over = nil, nil // those of this file
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
		return d, fault.New(fault.Invalid, "pdf.pages", "the file is damaged: no page can be found")
	}
	p := newProgram(f)
	text := false
	for i, l := range leaves {
		if i == most {
			b.exceed("more than %d pages", most)
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
		// Many fonts give the space no meaning; a sixth of a text are spaces.
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

// title is what the file's document information says it is called.
func (f *file) title() string {
	const longest = 1000
	s := f.str(f.dict(f.trailer["Info"])["Title"])
	if len(s) > longest {
		s = s[:longest]
	}
	return tidy(textString(s))
}

// Options bounds what reading a file may cost, or several that come together.
// What lies behind a limit is left out, and the error says which limit it was.
type Options struct {
	MaxPages int // of each file
	MaxBytes int // decoded, all streams and the text together
	MaxSteps int // operators and characters of all pages together
}

// Default suits a person's documents: thousands of pages pass, and a file made
// to be costly ends within seconds.
func Default() Options {
	return Options{MaxPages: 10_000, MaxBytes: 256 << 20, MaxSteps: 40_000_000}
}

// Validate reports all that is wrong together.
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

// What a file may have at most, beside the options.
const (
	maxObjects = 1 << 20  // entries of the cross-reference table
	maxValues  = 3 << 20  // values in the objects that are loaded
	maxStream  = 64 << 20 // decoded bytes of one stream
	maxLines   = 1 << 16  // lines of one page
	lineCost   = 64       // bytes that a line costs beside its text
	formCost   = 20       // steps that entering a form costs
	fontCost   = 1000     // steps that reading a font costs
)

// budget is what may still be spent on a file.
type budget struct {
	bytes, steps, values int
	err                  error // the limit that was hit; nothing more is read then
	// over says that nobody waits any more, and looks counts what was spent since it
	// was asked.
	over  func() bool
	looks int
}

// lookEvery is how many steps are taken, or KiB decoded, between two looks whether
// anybody still waits.
const lookEvery = 1024

// look ends the reading if nobody waits for it.
func (b *budget) look(spent int) {
	if b.looks += spent; b.looks < lookEvery {
		return
	}
	if b.looks = 0; b.over != nil && b.over() && b.err == nil {
		b.err = fault.New(fault.Timeout, "pdf.Read", "nobody waits for it")
	}
}

func newBudget(o Options) *budget {
	return &budget{bytes: o.MaxBytes, steps: o.MaxSteps, values: maxValues}
}

func (b *budget) exceed(format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Unsupported, "pdf.limit", "the file is too large: "+format, args...)
	}
}

// step takes one step, false when none is left.
func (b *budget) step() bool { return b.stride(1) }

// stride takes n steps, for what costs as much as they.
func (b *budget) stride(n int) bool {
	if b.steps < n {
		b.exceed("its pages take too many steps")
		return false
	}
	b.steps -= n
	b.look(n)
	return b.err == nil
}

// take takes n bytes, false when they are not left.
func (b *budget) take(n int) bool {
	if n > b.bytes {
		b.bytes = 0
		b.exceed("too many bytes when decoded")
		return false
	}
	b.bytes -= n
	b.look(1 + n>>10)
	return b.err == nil
}
