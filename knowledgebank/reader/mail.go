package reader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/office"
	"github.com/percached/percached/knowledgebank/pdf"
)

func (f *file) mailFile(ctx context.Context, data []byte) (*knowledgebank.Source, error) {
	return f.parseMail(ctx, data, "")
}

// parseMail reads one mail. separator is the line before it in the mailbox.
func (f *file) parseMail(ctx context.Context, data []byte, separator string) (*knowledgebank.Source, error) {
	text, marked := fromMark(string(data))
	text = strings.TrimLeft(lineEnds(text), "\n")
	h, body := readHeader(text)
	if len(h) == 0 && strings.TrimSpace(body) == "" {
		return nil, errEmpty
	}
	pdfs, err := pdf.NewFiles(pdf.Default())
	if err != nil {
		return nil, err
	}
	offices, err := office.NewFiles(office.Default())
	if err != nil {
		return nil, err
	}
	p := &mailReader{o: f.o, from: sender(h), pdfs: pdfs, offices: offices, unpack: f.bounds.Unpack, utf8: f.marked || marked}
	s := &knowledgebank.Source{
		Title:  oneLine(decodeWords(h.get("subject"))),
		Source: "mail",
		Format: "mail",
		Date:   mailDate(h, separator, f.o.Location),
	}
	if p.from != "" {
		s.Source = "mail from " + p.from
	}
	if s.Title == "" {
		s.Title = "No subject"
	}
	if s.Key = strings.Join(strings.Fields(clean(h.get("message-id"))), " "); strings.Trim(s.Key, "<> ") == "" || len(s.Key) > maxKey {
		sum := sha256.Sum256(data)
		s.Key = "sha256-" + hex.EncodeToString(sum[:])
	}
	s.Key = "mail:" + s.Key
	if f.keysOnly {
		return keyOnly(s.Key), nil
	}
	s.Blocks = p.mail(ctx, h, body, 0)
	s.Notes = p.notes
	if len(s.Blocks) == 0 {
		// Then the subject is all that the writer said.
		if subject := oneLine(decodeWords(h.get("subject"))); subject != "" && !wordless(subject) {
			s.Blocks = []knowledgebank.Block{{Text: subject}}
			s.Notes = append(s.Notes, "the mail has no text but its subject")
		}
	}
	return s, nil
}

// maxKey is the longest key that a document may give itself.
const maxKey = 1000

// mailReader is one mail while its parts are read.
type mailReader struct {
	o     Options
	from  string
	parts int
	notes []string
	files []attachment
	// All attached files share these limits.
	pdfs    *pdf.Files
	offices *office.Files
	unpack  func(ctx context.Context) (done func(), err error)
	utf8    bool // a byte order mark says that the mail is UTF-8, whatever its parts say
}

type attachment struct {
	name, typ     string
	data, charset string
	shown         bool // a picture in the text
}

// mail returns the blocks of a mail: its text, then its attachments.
func (p *mailReader) mail(ctx context.Context, h header, body string, depth int) []knowledgebank.Block {
	outer := p.files
	p.files = nil
	text := p.part(ctx, h, body, depth)
	subject := decodeWords(h.get("subject"))
	text.first = !answering.MatchString(subject) && h.get("in-reply-to") == "" && h.get("references") == ""
	blocks := writerBlocks(ctx, text, forwarding.MatchString(subject), subject)
	for _, a := range p.files {
		blocks = append(blocks, p.attachmentBlocks(ctx, a, depth)...)
	}
	p.files = outer
	return blocks
}

// answering matches the subject of a reply.
var answering = regexp.MustCompile(`(?i)(^|\]|:)\s*(re|aw|sv|vs|antw|antwort|res|ref|rif|odp|ynt|vá|回复|答复|返信)\s*([\[(^]\d+[\])]?)?\s*[:：]`)

// forwarding matches the subject of a forwarded mail.
var forwarding = regexp.MustCompile(`(?i)^\s*(fwd?|wg|tr|rv|vs|vb|vl|i|enc|fs|doorst|pd|転送|转发)\s*(\[\d+\])?\s*[:：]`)

// innerMail reads a mail inside a mail.
func (p *mailReader) innerMail(ctx context.Context, body string, depth int) []knowledgebank.Block {
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
	subject := oneLine(decodeWords(h.get("subject")))
	if subject != "" {
		about += ": " + subject
	} else if len(blocks) == 0 {
		return nil
	} else {
		about += ":"
	}
	return append([]knowledgebank.Block{{Text: about}}, blocks...)
}

// attachmentBlocks reads an attachment. It adds a note if it cannot read it.
func (p *mailReader) attachmentBlocks(ctx context.Context, a attachment, depth int) []knowledgebank.Block {
	if ctx.Err() != nil {
		return nil // the caller throws the mail away
	}
	name := a.name
	of := attachedFormat(a)
	var blocks []knowledgebank.Block
	switch of.kind {
	case unknownKind:
		if !a.shown {
			p.noteUnread(a.name, a.typ)
		}
		return nil
	case mailKind:
		blocks = p.innerMail(ctx, a.data, depth)
	default:
		// If a parser fails on an attachment, the mail is still read.
		f := &file{Reader: &Reader{o: p.o}, base: name, bounds: Bounds{Unpack: p.unpack}}
		s, err := guarded(func() (*knowledgebank.Source, error) {
			switch of.kind {
			case pdfKind:
				return f.pdf(ctx, p.pdfs, []byte(a.data))
			case officeKind, zipKind:
				return f.office(ctx, p.offices, []byte(a.data))
			}
			return f.note(ctx, of, []byte(a.data), a.charset)
		})
		if err != nil {
			p.noteUnread(a.name, a.typ)
			p.notes[len(p.notes)-1] += ": " + fault.Sentence(err)
			return nil
		}
		blocks = s.Blocks
		for _, n := range s.Notes {
			p.note("attachment " + or(name, "without a name") + ": " + n)
		}
	}
	in := strings.TrimSpace("attachment " + oneLine(name))
	for i, b := range blocks {
		blocks[i].Part = in
		if b.Part != "" {
			blocks[i].Part += ", " + b.Part
		}
	}
	return blocks
}

// attachedFormat accepts less as text than sniff does: keys, signatures and calendars
// hold nothing to read.
func attachedFormat(a attachment) format {
	of := sniff(a.name, []byte(a.data[:min(len(a.data), window)]))
	switch of.kind {
	case mailKind:
		if strings.HasPrefix(a.typ, "text/rfc822-headers") {
			return format{}
		}
	case textKind:
		if a.typ == "text/html" {
			return formatOf(htmlKind)
		}
		switch ending := strings.ToLower(path.Ext(a.name)); ending {
		case ".txt", ".text", ".log", ".csv", ".tsv", ".org", ".rst", ".tex":
		case "":
			if a.typ != "text/plain" {
				return format{}
			}
		default:
			if a.typ != "text/plain" && a.typ != "text/markdown" || ending == ".ics" || ending == ".vcf" || ending == ".asc" {
				return format{}
			}
		}
	case mboxKind, linesKind, jsonKind, gzipKind:
		return format{} // holds many documents, or is compressed
	}
	return of
}

// sender is the writer of a mail as chunks name it: the name, else the address.
func sender(h header) string {
	for _, from := range []string{"from", "sender", "reply-to", "return-path"} {
		for _, v := range h[from] {
			if name := person(v); name != "" {
				return name
			}
		}
	}
	return ""
}

// person is the first name in a list of addresses, or the first address.
func person(v string) string {
	v = unfold(v)
	name, address := firstAddress(v)
	name = strings.Trim(oneLine(decodeWords(name)), ` '"`)
	address = strings.Trim(oneLine(address), " <>'\"")
	if name == "" || strings.EqualFold(name, address) {
		return address
	}
	return name
}

// firstAddress splits `"Ruiz, Ana" <ana@example.com>` and its variants. It removes
// quotes and leaves encoded words.
func firstAddress(v string) (name, address string) {
	var out, comment, angle strings.Builder
	quoted, depth, inAngle := false, 0, false
scan:
	for i := 0; i < len(v); i++ {
		c := v[i]
		to := &out
		switch {
		case depth > 0:
			to = &comment
		case inAngle:
			to = &angle
		}
		switch {
		case c == '\\' && i+1 < len(v) && (quoted || depth > 0):
			i++
			to.WriteByte(v[i])
		case c == '"' && depth == 0 && !inAngle:
			quoted = !quoted && strings.IndexByte(v[i+1:], '"') >= 0
		case quoted:
			to.WriteByte(c)
		case c == '(' && !inAngle:
			if depth++; depth > 1 {
				to.WriteByte(c)
			}
		case c == ')' && depth > 0:
			if depth--; depth > 0 {
				to.WriteByte(c)
			}
		case c == '<' && depth == 0:
			inAngle = true
		case c == '>' && inAngle:
			break scan
		case c == ',' && depth == 0 && !inAngle:
			if strings.Contains(out.String(), "@") {
				break scan
			}
			to.WriteByte(c) // an unquoted "Ruiz, Ana <...>"
		default:
			to.WriteByte(c)
		}
	}
	if inAngle {
		return out.String(), angle.String()
	}
	if a := strings.TrimSpace(out.String()); strings.Contains(a, "@") || comment.Len() > 0 {
		return comment.String(), a
	}
	return out.String(), ""
}
