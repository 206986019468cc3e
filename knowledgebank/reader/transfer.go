package reader

import (
	"encoding/base64"
	"strings"
)

// transfer undoes a part's transfer encoding. What is not encoded is not copied:
// parts lie in parts.
func transfer(encoding, body string) string {
	switch {
	case encoding == "base64":
		code, behind := coded(body)
		return string(unbase64(code)) + behind
	case encoding == "quoted-printable" && strings.Contains(body, "="):
		return string(unquote([]byte(body)))
	}
	return body
}

// coded parts base64 from plain text that somebody put behind its padding. All is
// plain if nothing is encoded in spite of the header.
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

// prose says that text is words with single spaces, of which base64 has none.
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

// quotedPrintable says that a body is encoded although its header does not say
// so: it has lines cut at the usual width with a "=", or encoded spaces and tabs,
// and hardly a "=" that stands for itself.
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

// unbase64 decodes as far as it goes. What is no letter of the alphabet is
// skipped; padding in the middle is where two texts were joined.
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

// unquote decodes quoted-printable; what is none stays as it is.
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
