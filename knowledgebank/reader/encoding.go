package reader

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// decode converts bytes to text. A byte order mark decides the charset; else the
// charset that the document names, if the bytes agree; else their looks. Lines end in
//
//	alone. Control characters stay; clean removes them.
func decode(data []byte, label string) string {
	return lineEnds(charset(data, label))
}

func charset(data []byte, label string) string {
	if enc := utf16Of(data); enc != nil {
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
		// Any bytes are valid in these charsets. Long sequences of UTF-8 do not arise
		// by chance.
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

// utf16Of is the UTF-16 that a byte order mark names, or nil. Decoding keeps the mark.
func utf16Of(data []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// hasMark reports whether a byte order mark names the charset.
func hasMark(data []byte) bool {
	return utf16Of(data) != nil || bytes.HasPrefix(data, []byte(byteMark))
}

// fromMark removes a byte order mark, and converts UTF-16 to UTF-8.
func fromMark(s string) (text string, had bool) {
	if utf16Of([]byte(s[:min(len(s), 2)])) != nil {
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

// lenient reads UTF-8, and takes other bytes for windows-1252. So it also reads text
// that mixes both.
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

// decodeTransfer decodes a part's decodeTransfer encoding. It does not copy text that is not
// encoded, since parts lie in parts.
func decodeTransfer(encoding, body string) string {
	switch {
	case encoding == "base64":
		code, behind := coded(body)
		return string(unbase64(code)) + behind
	case encoding == "quoted-printable" && strings.Contains(body, "="):
		return string(unquote([]byte(body)))
	}
	return body
}

// coded separates base64 from plain text behind its padding. All is plain if nothing is
// encoded in spite of the header.
func coded(body string) (code, behind string) {
	for end, n := 0, 0; n < 8; n++ {
		i := strings.IndexByte(body[end:], '=')
		if i < 0 {
			break
		}
		for end += i; end < len(body) && body[end] == '='; {
			end++
		}
		if whole := strings.Join(strings.Fields(body[:end]), ""); len(whole)%4 == 0 && !prose(body[:end]) && prose(body[end:]) {
			return body[:end], "\n" + body[end:]
		}
	}
	if prose(body) {
		return "", body
	}
	return body, ""
}

// prose reports whether a text is words with single spaces between them; base64 has
// none.
func prose(text string) bool {
	text = text[:min(len(text), window)]
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return false
	}
	between, long := 0, 0
	for _, f := range fields {
		if len(f) > 24 {
			long += len(f)
		}
	}
	for l := range strings.Lines(text) {
		between += strings.Count(strings.Trim(l, " \t\r\n"), " ")
	}
	return between*2 >= len(fields) && long*3 < len(text)
}

// quotedPrintable reports whether a body is encoded although its header does not say
// so: it has lines cut at the usual width with a "=", or encoded spaces and tabs, and
// hardly a "=" that stands for itself.
func quotedPrintable(body string) bool {
	var signs, right, soft int
	for i := 0; i < len(body); i++ {
		at := strings.IndexByte(body[i:], '=')
		if at < 0 {
			break
		}
		i += at
		signs++
		rest := body[i+1:]
		switch {
		case rest == "", rest[0] == '\n':
			right++
			if begin := strings.LastIndexByte(body[:i], '\n') + 1; i-begin >= 70 && i-begin <= 80 {
				soft++
			}
		case len(rest) >= 2 && digit(rest[0]) >= 0 && digit(rest[1]) >= 0 && rest[:2] == strings.ToUpper(rest[:2]):
			right++
			switch rest[:2] {
			case "3D":
				soft++
			case "20", "09": // the last of a line, else it was not encoded
				if rest = rest[2:]; rest == "" || rest[0] == '\n' || strings.HasPrefix(rest, "=\n") {
					soft++
				}
			}
		}
	}
	return soft > 0 && right*10 >= signs*9
}

// unbase64 decodes what it can. It skips characters outside the alphabet. Padding in
// the middle is where two texts were joined.
func unbase64(in string) []byte {
	out := make([]byte, 0, len(in)*3/4+3)
	var four [4]byte
	n := 0
	flush := func() {
		if n >= 2 {
			var three [3]byte
			for i := n; i < 4; i++ {
				four[i] = 'A'
			}
			if k, err := base64.StdEncoding.Decode(three[:], four[:]); err == nil && k == 3 {
				out = append(out, three[:n-1]...)
			}
		}
		n = 0
	}
	for i := range len(in) {
		c := in[i]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		case c == '=':
			flush()
			continue
		default:
			continue
		}
		four[n] = c
		if n++; n == 4 {
			flush()
		}
	}
	flush()
	return out
}

// unquote decodes quoted-printable and leaves other text unchanged.
func unquote(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c != '=' {
			out = append(out, c)
			continue
		}
		end := i + 1
		for end < len(in) && (in[end] == ' ' || in[end] == '\t') {
			end++
		}
		if end == len(in) || in[end] == '\n' {
			i = end
			continue
		}
		if i+2 < len(in) {
			high, low := digit(in[i+1]), digit(in[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
