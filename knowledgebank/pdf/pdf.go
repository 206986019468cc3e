package pdf

import (
	"context"

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
