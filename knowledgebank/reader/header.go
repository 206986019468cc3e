package reader

import "strings"

// maxHeader bounds how much of a header line is kept, and how many lines.
const (
	maxHeader  = 64 << 10
	maxHeaders = 2000
)

// header is that of a mail or of one of its parts: names in small letters.
type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// headerLine parts the name from the value.
func headerLine(l string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(l, ":")
	name = strings.TrimRight(name, " \t")
	if !ok || name == "" || len(name) > 76 {
		return "", "", false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f {
			return "", "", false
		}
	}
	return name, value, true
}

func knownHeader(name string) bool {
	switch strings.ToLower(name) {
	case "from", "to", "cc", "subject", "date", "received", "return-path", "message-id", "mime-version", "delivered-to",
		"x-mozilla-status", "x-gmail-labels", "x-gm-thrid", "status", "x-status", "content-type", "envelope-to", "x-from", "reply-to":
		return true
	}
	return false
}

// readHeader reads a header with its damage: folded lines, lines that are none,
// a body without a blank line before it. It gives what is behind.
func readHeader(s string) (h header, body string) {
	h = header{}
	var name string
	for n := 0; s != "" && n < maxHeaders; n++ {
		l, rest, _ := strings.Cut(s, "\n")
		if l == "" {
			return h, rest
		}
		if l[0] == ' ' || l[0] == '\t' {
			if strings.TrimSpace(l) == "" && !followed(rest) {
				return h, rest // a blank line in the eyes of whoever wrote it
			}
			if v := h[name]; len(v) > 0 && len(v[len(v)-1]) < maxHeader {
				v[len(v)-1] += "\n" + l[:min(len(l), maxHeader)]
			}
			s = rest
			continue
		}
		key, value, ok := headerLine(l)
		switch {
		case ok:
			name = strings.ToLower(key)
			h[name] = append(h[name], value[:min(len(value), maxHeader)])
		case strings.HasPrefix(l, "From ") || strings.HasPrefix(l, ">From "):
			name = ""
		case !followed(rest):
			return h, s // the blank line is missing
		default:
			name = ""
		}
		s = rest
	}
	return h, s
}

// followed says that a header goes on behind a line that is none.
func followed(rest string) bool {
	for range 3 {
		l, more, _ := strings.Cut(rest, "\n")
		if l == "" {
			return false
		}
		if name, _, ok := headerLine(l); ok && (knownHeader(name) || strings.Contains(name, "-")) {
			return true
		}
		rest = more
	}
	return false
}

// unfold undoes the folding of a header's value.
func unfold(v string) string {
	if strings.IndexByte(v, '\n') < 0 {
		return strings.Trim(v, " \t")
	}
	return strings.Trim(strings.ReplaceAll(strings.ReplaceAll(v, "\n\t", " "), "\n", ""), " \t")
}

// words decodes a header's value: RFC 2047, and bytes that somebody put there
// as they were.
func words(v string) string {
	v = unfold(v)
	if !strings.Contains(v, "=?") {
		return lenient([]byte(v))
	}
	var out strings.Builder
	var run []byte // of neighbours in one charset: a character may be torn between two
	var in string
	flush := func() {
		if in != "" {
			out.WriteString(charset(run, in))
			run, in = nil, ""
		}
	}
	for v != "" {
		at := strings.Index(v, "=?")
		if at < 0 {
			break
		}
		label, data, size := encodedWord(v[at:])
		if size == 0 {
			at += 2
			flush()
			out.WriteString(lenient([]byte(v[:at])))
			v = v[at:]
			continue
		}
		if between := v[:at]; in == "" || strings.Trim(between, " \t") != "" {
			flush()
			out.WriteString(lenient([]byte(between)))
		}
		if !strings.EqualFold(label, in) {
			flush()
			in = label
		}
		run = append(run, data...)
		v = v[at+size:]
	}
	flush()
	out.WriteString(lenient([]byte(v)))
	return out.String()
}

// encodedWord reads "=?charset?B?data?=" at the start of s; size 0: there is none.
func encodedWord(s string) (label string, data []byte, size int) {
	label, rest, ok := strings.Cut(s[2:], "?")
	if !ok || label == "" || strings.ContainsAny(label, " =") || len(rest) < 2 || rest[1] != '?' {
		return "", nil, 0
	}
	text, _, ok := strings.Cut(rest[2:], "?=")
	if !ok {
		return "", nil, 0
	}
	size = 2 + len(label) + 1 + 2 + len(text) + 2
	label, _, _ = strings.Cut(label, "*") // a language
	switch rest[0] {
	case 'b', 'B':
		return label, unbase64(text), size
	case 'q', 'Q':
		// In this form a line end is only another space.
		return label, unquote([]byte(strings.ReplaceAll(text, "_", " "))), size
	}
	return "", nil, 0
}
