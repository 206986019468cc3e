package reader

import (
	"context"
	"path"
	"strings"

	"github.com/percached/percached/knowledgebank"
)

// inner reads a mail within a mail.
func (p *post) inner(ctx context.Context, body string, depth int) []knowledgebank.Block {
	body, marked := fromMark(body)
	defer func(outer bool) { p.utf8 = outer }(p.utf8)
	p.utf8 = p.utf8 || marked
	h, body := readHeader(strings.TrimLeft(lineEnds(body), "\n"))
	blocks := p.mail(ctx, h, body, depth+1)
	about := "Mail"
	if from := sender(h); from != "" {
		about += " from " + from
	}
	if t := mailDate(h, "", p.o.Location); !t.IsZero() {
		about += ", " + t.Format("Mon 2 January 2006")
	}
	subject := oneLine(words(h.get("subject")))
	if subject != "" {
		about += ": " + subject
	} else if len(blocks) == 0 {
		return nil
	} else {
		about += ":"
	}
	return append([]knowledgebank.Block{{Text: about}}, blocks...)
}

// attached reads an attachment if it is of a kind that is read, else names it.
func (p *post) attached(ctx context.Context, a attachment, depth int) []knowledgebank.Block {
	if ctx.Err() != nil {
		return nil // nobody waits for the mail any more
	}
	name := a.name
	k := attachedKind(a)
	var blocks []knowledgebank.Block
	switch k {
	case unknownKind:
		p.left(a.name, a.typ)
		return nil
	case mailKind:
		blocks = p.inner(ctx, a.data, depth)
	default:
		// A parser that breaks on an attachment must not cost the mail.
		f := &file{Reader: &Reader{o: p.o}, base: name, bounds: Bounds{Unpack: p.unpack}}
		s, err := guarded(func() (*knowledgebank.Source, error) {
			if k == pdfKind {
				return f.pdf(ctx, p.pdfs, []byte(a.data))
			}
			return f.note(ctx, k, []byte(a.data), a.charset)
		})
		if err != nil {
			p.left(a.name, a.typ)
			p.notes[len(p.notes)-1] += ": " + err.Error()
			return nil
		}
		blocks = s.Blocks
	}
	if len(blocks) == 0 {
		return nil
	}
	if name == "" {
		return blocks
	}
	return append([]knowledgebank.Block{{Text: "Attachment " + name + ":"}}, blocks...)
}

// attachedKind is stricter than sniff with what is text: keys, signatures and
// calendars are no reading.
func attachedKind(a attachment) kind {
	k := sniff(a.name, []byte(a.data[:min(len(a.data), window)]))
	switch k {
	case mailKind:
		if strings.HasPrefix(a.typ, "text/rfc822-headers") {
			return unknownKind
		}
	case textKind:
		if a.typ == "text/html" {
			return htmlKind
		}
		switch ending := strings.ToLower(path.Ext(a.name)); ending {
		case ".txt", ".text", ".log", ".csv", ".tsv", ".org", ".rst", ".tex":
		case "":
			if a.typ != "text/plain" {
				return unknownKind
			}
		default:
			if a.typ != "text/plain" && a.typ != "text/markdown" || ending == ".ics" || ending == ".vcf" || ending == ".asc" {
				return unknownKind
			}
		}
	case mboxKind, linesKind, jsonKind, gzipKind:
		return unknownKind // many documents in one, or compressed
	}
	return k
}
