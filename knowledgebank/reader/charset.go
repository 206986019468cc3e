package reader

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// decode makes text of bytes: a byte order mark decides, else the charset that
// the document names if the bytes bear it out, else what they look like. Lines
// end in \n alone. Control characters stay, for clean to remove.
func decode(data []byte, label string) string {
	return lineEnds(charset(data, label))
}

func charset(data []byte, label string) string {
	if enc := wide(data); enc != nil {
		return strings.TrimPrefix(with(enc, data), byteMark)
	}
	if rest, ok := bytes.CutPrefix(data, []byte(byteMark)); ok {
		return lenient(rest)
	}
	label = strings.ToLower(strings.Trim(label, " \t\"'"))
	if ascii(data) && !strings.HasPrefix(label, "utf-16") && !strings.HasPrefix(label, "iso-2022") && label != "hz-gb-2312" {
		return string(data)
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return lenient(data)
	}
	name, _ := htmlindex.Name(enc)
	switch {
	case name == "utf-8", name == "replacement", name == "x-user-defined":
		return lenient(data)
	case strings.HasPrefix(name, "windows-125"), strings.HasPrefix(name, "iso-8859-"):
		// Any bytes bear out these. Long sequences of UTF-8 do not come about by chance.
		if utf8.Valid(data) {
			return string(data)
		}
	}
	text := with(enc, data)
	if damaged := strings.Count(text, "\uFFFD"); damaged > 3 && damaged*10 > utf8.RuneCountInString(text) {
		return lenient(data)
	}
	return text
}

// byteMark is the byte order mark, in UTF-8.
const byteMark = "\ufeff"

// wide is the UTF-16 that a byte order mark tells, or nil. Decoded, the mark is
// still there.
func wide(data []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// hasMark says that a byte order mark tells the charset.
func hasMark(data []byte) bool { return wide(data) != nil || bytes.HasPrefix(data, []byte(byteMark)) }

// fromMark takes off a byte order mark; what it says was UTF-16 becomes UTF-8.
func fromMark(s string) (text string, had bool) {
	if wide([]byte(s[:min(len(s), 2)])) != nil {
		return charset([]byte(s), ""), true
	}
	return strings.CutPrefix(s, byteMark)
}

func with(enc encoding.Encoding, data []byte) string {
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return lenient(data)
	}
	return string(out)
}

// lenient reads UTF-8, and bytes that are none as windows-1252. So it also reads
// text that somebody put together from both.
func lenient(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			r = charmap.Windows1252.DecodeByte(data[0])
		}
		b.WriteRune(r)
		data = data[n:]
	}
	return b.String()
}

func ascii(data []byte) bool {
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lineEnds(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

var metaName = regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)`)

// metaCharset is the charset that HTML names in itself.
func metaCharset(data []byte) string {
	m := metaName.FindSubmatch(data[:min(len(data), 2048)])
	if m == nil || bytes.HasPrefix(bytes.ToLower(m[1]), []byte("utf-16")) {
		return "" // whoever could read this knows that it is not that
	}
	return string(m[1])
}
