package api

import (
	"io"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

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
