package reader

import (
	"context"
	"fmt"
	"strings"

	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/pdf"
)

func (f *file) pdfFile(ctx context.Context, data []byte) (*knowledgebank.Source, error) {
	files, err := pdf.NewFiles(pdf.Default())
	if err != nil {
		return nil, err
	}
	return f.pdf(ctx, files, data)
}

// pdf reads a PDF file. All files of one mail share the limits in files.
func (f *file) pdf(ctx context.Context, files *pdf.Files, data []byte) (*knowledgebank.Source, error) {
	done, err := f.bounds.unpack(ctx)
	if err != nil {
		return nil, err // the context has ended
	}
	defer done()
	d, err := files.Read(ctx, data)
	if err != nil && len(d.Pages) == 0 {
		return nil, err
	}
	s := &knowledgebank.Source{Key: f.key(), Title: oneLine(or(d.Title, stem(f.base))), Source: "note", Format: "pdf"}
	var pictures, unread []int
	for _, p := range d.Pages {
		if p.Picture {
			pictures = append(pictures, p.Number)
		}
		if p.Unread {
			unread = append(unread, p.Number)
		}
		for _, text := range p.Paragraphs {
			s.Blocks = append(s.Blocks, paragraphs(ctx, clean(text))...)
		}
	}
	switch {
	case allWordless(s.Blocks) && err != nil:
		return nil, err
	case allWordless(s.Blocks):
		return nil, errEmpty
	case err != nil:
		s.Notes = append(s.Notes, "read only in part: "+err.Error())
	}
	if len(pictures) > 0 {
		s.Notes = append(s.Notes, pages(pictures)+": a picture without text")
	}
	if len(unread) > 0 {
		s.Notes = append(s.Notes, pages(unread)+": a font lacks its character map, so some text is missing")
	}
	return s, nil
}

// pages lists page numbers, and counts those behind the first few.
func pages(numbers []int) string {
	const named = 5
	out := "page"
	for i, n := range numbers[:min(named, len(numbers))] {
		out += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(" %d", n)
	}
	if more := len(numbers) - named; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
