package reader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/pdf"
)

// parseMail reads one mail. The separator is the line of the mailbox before it.
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
	p := &post{o: f.o, from: sender(h), pdfs: pdfs, unpack: f.bounds.Unpack, utf8: f.marked || marked}
	s := &knowledgebank.Source{
		Title:  oneLine(words(h.get("subject"))),
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
	s.Blocks = p.mail(ctx, h, body, 0)
	s.Notes = p.notes
	if len(s.Blocks) == 0 {
		// The subject is then all that was said.
		if subject := oneLine(words(h.get("subject"))); subject != "" && !wordless(subject) {
			s.Blocks = []knowledgebank.Block{{Text: subject}}
			s.Notes = append(s.Notes, "the mail has no text but its subject")
		}
	}
	return s, nil
}

// maxKey is the longest key that a document may give itself.
const maxKey = 1000

// post is one mail while its parts are read.
type post struct {
	o      Options
	from   string
	parts  int
	notes  []string
	files  []attachment
	pdfs   *pdf.Files // one budget for all that are attached
	unpack func(ctx context.Context) (done func(), err error)
	utf8   bool // a mark says that the mail is, whatever its parts say
}

type attachment struct {
	name, typ     string
	data, charset string
}

// mail gives the blocks of a mail: its text, then what is attached.
func (p *post) mail(ctx context.Context, h header, body string, depth int) []knowledgebank.Block {
	outer := p.files
	p.files = nil
	text := p.part(ctx, h, body, depth)
	subject := words(h.get("subject"))
	text.first = !answering.MatchString(subject) && h.get("in-reply-to") == "" && h.get("references") == ""
	blocks := own(ctx, text, forwarding.MatchString(subject), subject)
	for _, a := range p.files {
		blocks = append(blocks, p.attached(ctx, a, depth)...)
	}
	p.files = outer
	return blocks
}

// answering is how the subject of a reply begins.
var answering = regexp.MustCompile(`(?i)(^|\]|:)\s*(re|aw|sv|vs|antw|antwort|res|ref|rif|odp|ynt|vá|回复|答复|返信)\s*([\[(^]\d+[\])]?)?\s*[:：]`)

// forwarding is how the subject of forwarded mail begins.
var forwarding = regexp.MustCompile(`(?i)^\s*(fwd?|wg|tr|rv|vs|vb|vl|i|enc|fs|doorst|pd|転送|转发)\s*(\[\d+\])?\s*[:：]`)
