package pdf

import "github.com/percached/percached/internal/fault"

// Page is what one page says.
type Page struct {
	Number     int // from 1
	Paragraphs []string
}

// Text reads the text of a PDF file, every page of it; one without text has no
// paragraphs. Where the file exceeds a limit, the error is Unsupported and the
// pages before stand beside it. A file whose pages all are without text, and
// one that needs a password, is Unsupported too; one that is damaged beyond
// reading, Invalid.
func Text(data []byte, o Options) ([]Page, error) {
	if err := o.Validate(); err != nil {
		return nil, fault.Wrap("pdf.Text", err)
	}
	return read(data, o.MaxPages, newBudget(o))
}

func read(data []byte, most int, b *budget) ([]Page, error) {
	f, err := open(data, b)
	if err != nil {
		return nil, fault.Wrap("pdf.Text", err)
	}
	leaves := f.pages(most)
	if len(leaves) == 0 {
		leaves = f.loosePages(most)
	}
	if len(leaves) == 0 && b.err == nil {
		return nil, fault.New(fault.Invalid, "pdf.Text", "the file is damaged: no page can be found")
	}
	p := newProgram(f)
	var pages []Page
	text := false
	for i, l := range leaves {
		if i == most {
			b.exceed("more than %d pages", most)
		}
		if b.err != nil {
			break
		}
		paragraphs := p.page(l)
		text = text || len(paragraphs) > 0
		pages = append(pages, Page{Number: i + 1, Paragraphs: paragraphs})
	}
	switch {
	case b.err != nil:
		return pages, fault.Wrap("pdf.Text", b.err)
	case !text:
		return nil, p.missing()
	}
	return pages, nil
}

// Title is what the file's document information says it is called, "" if it
// does not say.
func Title(data []byte) string {
	f, err := open(data, newBudget(Default()))
	if err != nil {
		return ""
	}
	const longest = 1000
	s := f.str(f.dict(f.trailer["Info"])["Title"])
	if len(s) > longest {
		s = s[:longest]
	}
	return tidy(textString(s))
}
