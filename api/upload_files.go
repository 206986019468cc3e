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

// files hands on the files of a multipart body, one after the other, as they
// come off the wire. In what is said of them they are counted from 0.
func files(body io.Reader, boundary string, take fileSink) error {
	m := &limitedReader{in: body}
	// Behind the body come a line end and an end that is not io.EOF: so a body
	// that ends within the header of a part is told from one that is complete.
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
			return invalidField("", "the body holds no file")
		case err == io.EOF:
			_, err = io.Copy(io.Discard, m) // an epilogue, which means nothing
			return err
		case m.over:
			return invalidField(at, "the header of the part is too large")
		case err != nil:
			return invalidField(at, "the part has no boundary before it, or no header, or the body ends here")
		case n == maxParts:
			return invalidField("", "the body holds more than %d files", maxParts)
		default:
			if err := filePart(at, part, m, seen, take); err != nil {
				return err
			}
		}
	}
}

// filePart hands on the file of one part.
func filePart(at string, part *multipart.Part, body *limitedReader, seen map[string]bool, take fileSink) error {
	name, fault := partName(part)
	switch {
	case fault != "":
		return invalidField(at, "%s", fault)
	case seen[name]:
		// Documents go by the name of their file: one would replace the other.
		return invalidField(at, "a file before it has the same name")
	}
	kind, params, _ := mime.ParseMediaType(part.Header.Get("Content-Type")) // what cannot be read names none
	charset, known := charsetOf(kind, params)
	if !known {
		return invalidField(at, "its charset is not known")
	}
	seen[name] = true
	in := &limitedReader{in: part}
	err := take.takeAll(name, inUTF8(in, charset))
	switch {
	case body.err != nil:
		return body.err
	case in.err != nil:
		return invalidField(at, "the body ends within the file, or the file is not encoded as its header says")
	}
	return err
}

// partName is the name of the file in a part, or what is wrong with the part.
func partName(part *multipart.Part) (name, fault string) {
	name, ok := dispositionName(part.Header.Get("Content-Disposition"))
	if !ok || name == "" {
		return "", "it is no file: its Content-Disposition has no filename"
	}
	if kind := part.Header.Get("Content-Type"); strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "multipart/") {
		return "", "parts within parts are not read: send each file as a part of its own"
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) { // quoted-printable is decoded by now
	case "", "7bit", "8bit", "binary":
	default:
		return "", "send the file as it is, without a Content-Transfer-Encoding"
	}
	return fileName(name)
}

// brokenOff ends a body that should have ended before.
type unexpectedEnd struct{}

func (unexpectedEnd) Read([]byte) (int, error) {
	return 0, fault.New(fault.Invalid, "api.upload", "the body ends before its last boundary")
}

// meter is a body while something parses it. It remembers why it could not be
// read on, for parsers hide that in errors of their own; and it bounds what is
// read in one go, where a parser keeps all of that in memory.
type limitedReader struct {
	in    io.Reader
	bound bool
	left  int64 // bytes that may be read, if bound
	err   error // why reading failed; not its end
	over  bool  // more was wanted than the bound allowed
}

// errBound: more is wanted than may be read in one go.
var errBound = errors.New("api: too much in one piece")

// allow bounds what is read from now on.
func (m *limitedReader) allow(n int64) { m.bound, m.left = true, n }

// free lifts the bound.
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

// fileName is a name as its document goes by it: with its folders, as a path of
// any system, and written in one way, accents too: systems differ in that. It names
// no place on this machine. It says what is wrong with a name: empty if nothing is.
func fileName(name string) (whole, wrong string) {
	switch {
	case !utf8.ValidString(name):
		return "", "the file name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", "the file name holds control characters"
	}
	name = norm.NFC.String(strings.ReplaceAll(name, `\`, "/"))
	if len(name) > maxFileName {
		return "", fmt.Sprintf("the file name is longer than %d bytes", maxFileName)
	}
	elements := strings.Split(name, "/")
	for _, e := range elements {
		if e == ".." {
			return "", `the file name holds ".."`
		}
	}
	if last := elements[len(elements)-1]; last == "" || last == "." {
		return "", "a file name is needed"
	}
	return path.Clean(name), ""
}

// dispositionName is the file name that a Content-Disposition gives; false if the
// header cannot be read. mime decodes what RFC 5987 encodes (filename*).
func dispositionName(header string) (name string, ok bool) {
	if header == "" {
		return "", true
	}
	_, params, err := mime.ParseMediaType(header)
	return params["filename"], err == nil
}

// charsetOf is the charset of a text, as its media type names it: nil if that is
// UTF-8, or told by the text itself. It is false if nobody knows it.
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

// inUTF8 gives a text of a charset as UTF-8, with the mark that tells so whatever
// the text says of itself.
func inUTF8(text io.Reader, charset encoding.Encoding) io.Reader {
	if charset == nil {
		return text
	}
	return io.MultiReader(strings.NewReader("\ufeff"), transform.NewReader(text, charset.NewDecoder()))
}
