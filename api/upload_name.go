package api

import (
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

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
