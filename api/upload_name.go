package api

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxFileName = 255 // bytes, as file systems have it

// fileName reduces a name to its last part, as a path of any system, and says
// what is wrong with it: empty if nothing is.
func fileName(name string) (base, wrong string) {
	if !utf8.ValidString(name) {
		return "", "the file name is not UTF-8"
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", "the file name holds control characters"
	}
	base = name[strings.LastIndexAny(name, `/\`)+1:]
	switch {
	case base == "", base == ".", base == "..":
		return "", "a file name is needed"
	case len(base) > maxFileName:
		return "", "the file name is longer than 255 bytes"
	}
	return base, ""
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
