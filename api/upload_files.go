package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/internal/base/fault"
)

const (
	maxParts      = 10_000
	maxPartHeader = 16 << 10 // bytes
)

// files passes on the files of a multipart body while it arrives. Errors name a file by its
// number, from 0.
func files(body io.Reader, boundary string, take fileSink) error {
	m := &limitedReader{in: body}
	// A line end and an error other than io.EOF follow the body, so that a body that ends within a
	// part's header differs from a complete one.
	parts := multipart.NewReader(io.MultiReader(m, strings.NewReader("\r\n"), unexpectedEnd{}), boundary)
	seen := map[string]bool{}
	for n := 0; ; n++ {
		m.allow(maxPartHeader)
		part, err := parts.NextPart()
		m.free()
		switch at := "/" + strconv.Itoa(n); {
		case m.err != nil:
			return m.err
		case err == io.EOF && n == 0:
			return invalidField("", "the body contains no file")
		case err == io.EOF:
			_, err = io.Copy(io.Discard, m) // ignore the epilogue
			return err
		case m.over:
			return invalidField(at, "the header of the part is too long")
		case err != nil:
			return invalidField(at, "the part has no boundary or no header, or the body ended early")
		case n == maxParts:
			return invalidField("", "the body contains more than %d files", maxParts)
		default:
			if err := filePart(at, part, m, seen, take); err != nil {
				return err
			}
		}
	}
}

// filePart passes on the file of one part.
func filePart(at string, part *multipart.Part, body *limitedReader, seen map[string]bool, take fileSink) error {
	name, fault := partName(part)
	switch {
	case fault != "":
		return invalidField(at, "%s", fault)
	case seen[name]:
		// A document is identified by its file name: the second would replace the first.
		return invalidField(at, "duplicate file name")
	}
	kind, params, _ := mime.ParseMediaType(part.Header.Get("Content-Type")) // an invalid type has no charset
	charset, known := charsetOf(kind, params)
	if !known {
		return invalidField(at, "the charset is unknown")
	}
	seen[name] = true
	in := &limitedReader{in: part}
	err := take.takeAll(name, inUTF8(in, charset))
	switch {
	case body.err != nil:
		return body.err
	case in.err != nil:
		return invalidField(at, "the body ended within the file, or the encoding differs from the header")
	}
	return err
}

// partName returns the file name of a part, or what is wrong with the part.
func partName(part *multipart.Part) (name, fault string) {
	name, ok := dispositionName(part.Header.Get("Content-Disposition"))
	if !ok || name == "" {
		return "", "Content-Disposition contains no filename"
	}
	if kind := part.Header.Get("Content-Type"); strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "multipart/") {
		return "", "nested multipart is not supported; send each file as its own part"
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) { // the multipart reader has decoded quoted-printable
	case "", "7bit", "8bit", "binary":
	default:
		return "", "Content-Transfer-Encoding is not supported; send the file as it is"
	}
	return fileName(name)
}

// unexpectedEnd follows a body that ended before its last boundary.
type unexpectedEnd struct{}

func (unexpectedEnd) Read([]byte) (int, error) {
	return 0, fault.New(fault.Invalid, "api.upload", "the body ended before its last boundary")
}

// limitedReader is a body that a parser reads. It remembers a read error, because parsers wrap
// errors in their own. It can limit how much is read at once, because the parser keeps that in
// memory.
type limitedReader struct {
	in    io.Reader
	bound bool
	left  int64 // bytes left, if bound
	err   error // the read error, other than io.EOF
	over  bool  // the parser asked for more than the bound
}

// errBound says that the parser asked for more than it may read at once.
var errBound = errors.New("api: item exceeds its limit")

// allow limits further reading to n bytes.
func (m *limitedReader) allow(n int64) { m.bound, m.left = true, n }

// free removes the limit.
func (m *limitedReader) free() { m.bound = false }

func (m *limitedReader) Read(p []byte) (int, error) {
	if m.bound {
		if m.left <= 0 {
			m.over = true
			return 0, errBound
		}
		p = p[:min(int64(len(p)), m.left)]
	}
	n, err := m.in.Read(p)
	m.left -= int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}

const maxFileName = 1000 // bytes

// fileName normalises the name of a file. It keeps the folders, uses slashes, and writes
// accents in Unicode form NFC, because systems differ in both. The name is never a path on this
// machine. If the name is invalid, wrong says why.
func fileName(name string) (whole, wrong string) {
	switch {
	case !utf8.ValidString(name):
		return "", "the file name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", "the file name contains control characters"
	}
	name = norm.NFC.String(strings.ReplaceAll(name, `\`, "/"))
	if len(name) > maxFileName {
		return "", fmt.Sprintf("the file name is longer than %d bytes", maxFileName)
	}
	elements := strings.Split(name, "/")
	for _, e := range elements {
		if e == ".." {
			return "", `the file name contains ".."`
		}
	}
	if last := elements[len(elements)-1]; last == "" || last == "." {
		return "", "the file name is empty"
	}
	return path.Clean(name), ""
}

// dispositionName returns the file name of a Content-Disposition header; false if the header is
// invalid. The mime package decodes filename* (RFC 5987).
func dispositionName(header string) (name string, ok bool) {
	if header == "" {
		return "", true
	}
	_, params, err := mime.ParseMediaType(header)
	return params["filename"], err == nil
}

// charsetOf returns the charset of a text: nil if it is UTF-8 or unspecified, false if it is
// unknown.
func charsetOf(kind string, params map[string]string) (encoding.Encoding, bool) {
	label := strings.ToLower(params["charset"])
	if !strings.HasPrefix(kind, "text/") || label == "" || strings.HasSuffix(label, "ascii") {
		return nil, true
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, false
	}
	if name, err := htmlindex.Name(enc); err != nil || strings.HasPrefix(name, "utf-") {
		return nil, true
	}
	return enc, true
}

// inUTF8 decodes a text to UTF-8. It adds a byte order mark, so that the reader ignores any
// charset that the text declares.
func inUTF8(text io.Reader, charset encoding.Encoding) io.Reader {
	if charset == nil {
		return text
	}
	return io.MultiReader(strings.NewReader("\ufeff"), transform.NewReader(text, charset.NewDecoder()))
}
