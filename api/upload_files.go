package api

import (
	"io"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const (
	maxParts      = 10_000
	maxPartHeader = 16 << 10 // bytes
)

// files hands on the files of a multipart body, one after the other, as they
// come off the wire. In what is said of them they are counted from 0.
func files(body io.Reader, boundary string, take takeFile) error {
	m := &meter{in: body}
	// Behind the body come a line end and an end that is not io.EOF: so a body
	// that ends within the header of a part is told from one that is complete.
	parts := multipart.NewReader(io.MultiReader(m, strings.NewReader("\r\n"), brokenOff{}), boundary)
	seen := map[string]bool{}
	for n := 0; ; n++ {
		m.allow(maxPartHeader)
		part, err := parts.NextPart()
		m.free()
		switch at := "/" + strconv.Itoa(n); {
		case m.err != nil:
			return m.err
		case err == io.EOF && n == 0:
			return wrong("", "the body holds no file")
		case err == io.EOF:
			_, err = io.Copy(io.Discard, m) // an epilogue, which means nothing
			return err
		case m.over:
			return wrong(at, "the header of the part is too large")
		case err != nil:
			return wrong(at, "the part has no boundary before it, or no header, or the body ends here")
		case n == maxParts:
			return wrong("", "the body holds more than %d files", maxParts)
		default:
			if err := filePart(at, part, m, seen, take); err != nil {
				return err
			}
		}
	}
}

// filePart hands on the file of one part.
func filePart(at string, part *multipart.Part, body *meter, seen map[string]bool, take takeFile) error {
	name, fault := partName(part)
	switch {
	case fault != "":
		return wrong(at, "%s", fault)
	case seen[name]:
		// Documents go by the name of their file: one would replace the other.
		return wrong(at, "a file before it has the same name")
	}
	kind, params, _ := mime.ParseMediaType(part.Header.Get("Content-Type")) // what cannot be read names none
	charset, known := charsetOf(kind, params)
	if !known {
		return wrong(at, "its charset is not known")
	}
	seen[name] = true
	in := &meter{in: part}
	err := take.all(name, inUTF8(in, charset))
	switch {
	case body.err != nil:
		return body.err
	case in.err != nil:
		return wrong(at, "the body ends within the file, or the file is not encoded as its header says")
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
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) {
	return 0, fault.New(fault.Invalid, "api.upload", "the body ends before its last boundary")
}
