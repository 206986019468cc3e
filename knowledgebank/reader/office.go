package reader

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/office"
)

func (f *file) officeFile(ctx context.Context, data []byte) (*knowledgebank.Source, error) {
	files, err := office.NewFiles(office.Default())
	if err != nil {
		return nil, err
	}
	return f.office(ctx, files, data)
}

// office reads a file of an office program. All files of one mail share the limits in
// files.
func (f *file) office(ctx context.Context, files *office.Files, data []byte) (*knowledgebank.Source, error) {
	done, err := f.bounds.unpack(ctx)
	if err != nil {
		return nil, err // the context has ended
	}
	defer done()
	d, err := files.Read(ctx, data)
	s := &knowledgebank.Source{Key: f.key(), Title: oneLine(or(d.Title, stem(f.base))), Source: officeSource(d), Format: d.Format}
	if wordless(s.Title) {
		s.Title = oneLine(stem(f.base))
	}
	if sane(d.Date) {
		s.Date = d.Date
	}
	for _, n := range d.Notes {
		s.Notes = append(s.Notes, strings.Join(strings.Fields(clean(n)), " "))
	}
	for _, part := range d.Parts {
		var blocks []knowledgebank.Block
		for _, text := range part.Paragraphs {
			blocks = append(blocks, paragraphs(ctx, clean(text))...)
		}
		if part.Page != nil {
			blocks = paragraphs(ctx, htmlText(ctx, charset(part.Page, metaCharset(part.Page)), false).text)
		}
		if part.Name != "" {
			for i := range blocks {
				blocks[i].Part = "sheet " + oneLine(part.Name)
			}
		}
		s.Blocks = append(s.Blocks, blocks...)
	}
	switch {
	case allWordless(s.Blocks) && err != nil:
		return nil, err
	case allWordless(s.Blocks):
		return nil, errEmpty
	case err != nil:
		s.Notes = append(s.Notes, "read only in part: "+fault.Sentence(err))
	}
	return s, nil
}

// officeSource is what a document is, as chunks name it.
func officeSource(d office.Document) string {
	kind := "document"
	switch d.Format {
	case "xlsx", "ods":
		kind = "spreadsheet"
	case "pptx", "odp":
		kind = "presentation"
	case "epub":
		kind = "book"
	}
	if author := oneLine(d.Author); author != "" && !wordless(author) {
		return kind + " by " + shorten(author, 60)
	}
	return kind
}

// zip reads a file of an office program, or each file in an archive.
func (f *file) zip(ctx context.Context, in *bufio.Reader) error {
	data, err := f.whole(ctx, in)
	if err != nil {
		return err
	}
	if f.inZip || !office.Archive(data) {
		return f.document(ctx, f.name, func() (*knowledgebank.Source, error) { return f.officeFile(ctx, data) })
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fault.New(fault.Invalid, "zip", "the archive is damaged: %w", err)
	}
	// The archive stays in memory beside each file of it.
	f.releaseRoom()
	if err := f.hold(ctx, large+1, int64(len(data))+f.o.MaxBytes); err != nil {
		return err
	}
	found := false
	for _, member := range z.File {
		name := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(clean(member.Name), `\`, "/")), "/")
		if member.FileInfo().IsDir() || name == "" || hiddenIn(name) {
			continue
		}
		found = true
		if err := ctx.Err(); err != nil {
			return stop{err}
		}
		if err := f.member(ctx, name, member); err != nil {
			return err
		}
	}
	if !found {
		return errEmpty
	}
	return nil
}

// member reads one file of an archive. Its name in the archive only names the document:
// nothing is written to disk.
func (f *file) member(ctx context.Context, name string, member *zip.File) error {
	inner := &file{
		Reader: f.Reader, name: f.name + ": " + name, base: baseName(name), id: f.id + "/" + name, path: f.path, inZip: true,
		bounds: f.bounds, emit: f.emit, failed: f.failed,
	}
	if inner.bounds.Hold != nil {
		inner.bounds.Hold = func(context.Context, int64) (Room, error) { return heldRoom{}, nil }
	}
	inner.mail, inner.mailLike = maildirName(name)
	defer func() { f.bounds.Skip = inner.bounds.Skip }()
	defer inner.releaseRoom()
	if member.Flags&1 != 0 {
		return inner.fail(inner.name, fault.New(fault.Unsupported, "zip", "the archive is protected by a password; unpack it and add the folder"))
	}
	content, err := member.Open()
	if err != nil {
		return inner.fail(inner.name, fault.New(fault.Invalid, "zip", "the archive is damaged: %w", err))
	}
	defer content.Close() //nolint:errcheck // nothing was written
	if err := inner.readAny(ctx, inner.unpack(&memberReader{content})); err != nil {
		return inner.unreadable(ctx, err)
	}
	return nil
}

// heldRoom is room that the archive around a document holds.
type heldRoom struct{}

func (heldRoom) Shrink(int64) {}
func (heldRoom) Release()     {}

// memberReader gives errors of a damaged archive their kind.
type memberReader struct{ io.Reader }

func (m *memberReader) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fault.New(fault.Invalid, "zip", "the archive is damaged: %w", err)
	}
	return n, err
}

// hiddenIn reports whether a file in an archive is hidden, or one of those that macOS adds.
func hiddenIn(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}
