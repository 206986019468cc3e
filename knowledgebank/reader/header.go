package reader

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// How much of a header line is kept, and how many lines.
const (
	maxHeader  = 64 << 10
	maxHeaders = 2000
)

// header is the header of a mail or of a part. Names are in small letters.
type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// headerLine splits a line into name and value.
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

// readHeader reads a header and tolerates damage: folded lines, lines that are no
// fields, a missing blank line before the body. It returns what follows as body.
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
				return h, rest // the writer meant a blank line
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

// followed reports whether the header continues behind a line that is no field.
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

// decodeWords decodes a header's value: RFC 2047, and raw bytes in any charset.
func decodeWords(v string) string {
	v = unfold(v)
	if !strings.Contains(v, "=?") {
		return lenient([]byte(v))
	}
	var out strings.Builder
	var run []byte // adjacent words of one charset: a character may be split between two of them
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

// encodedWord reads "=?charset?B?data?=" at the start of s. size is 0 if there is none.
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

// mediaType reads a value like "text/plain; charset=utf-8" and tolerates damage. It returns
// the type in small letters, and the parameters with those of RFC 2231 decoded and
// joined.
func mediaType(v string) (typ string, params map[string]string) {
	typ, rest, _ := strings.Cut(unfold(v), ";")
	typ = strings.ToLower(strings.Trim(typ, " \t\""))
	params = map[string]string{}
	var pieces []piece
	for n := 0; rest != "" && n < 100; n++ {
		var name, value string
		name, value, rest = parameter(rest)
		if name == "" {
			continue
		}
		if base, tail, star := strings.Cut(name, "*"); star {
			pieces = append(pieces, newPiece(base, tail, value))
		} else if _, twice := params[name]; !twice {
			params[name] = value
		}
	}
	joinPieces(pieces, params)
	return typ, params
}

// parameter reads one `name=value` up to its semicolon.
func parameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t;")
	eq := strings.IndexAny(s, "=;")
	if eq < 0 {
		return "", "", ""
	}
	if s[eq] == ';' {
		return "", "", s[eq+1:]
	}
	name = strings.ToLower(strings.Trim(s[:eq], " \t"))
	s = strings.TrimLeft(s[eq+1:], " \t")
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		return name, strings.Trim(value, " \t"), rest
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case c == '"':
			_, rest, _ = strings.Cut(s[i+1:], ";")
			return name, b.String(), rest
		default:
			b.WriteByte(c)
		}
	}
	return name, b.String(), ""
}

// piece is one part of a parameter that RFC 2231 splits or encodes.
type piece struct {
	name    string
	at      int
	encoded bool
	value   string
}

func newPiece(name, tail, value string) piece {
	p := piece{name: name, value: value}
	if tail, ok := strings.CutSuffix(tail, "*"); ok || tail == "" {
		p.encoded = true
		p.at, _ = strconv.Atoi(tail)
		return p
	}
	p.at, _ = strconv.Atoi(tail)
	return p
}

func joinPieces(pieces []piece, params map[string]string) {
	slices.SortStableFunc(pieces, func(a, b piece) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.at, b.at))
	})
	for len(pieces) > 0 {
		name, label := pieces[0].name, ""
		var raw []byte
		for first := true; len(pieces) > 0 && pieces[0].name == name; first = false {
			p := pieces[0]
			pieces = pieces[1:]
			if p.encoded {
				if parts := strings.SplitN(p.value, "'", 3); first && len(parts) == 3 {
					label, p.value = parts[0], parts[2]
				}
				p.value = percent(p.value)
			}
			raw = append(raw, p.value...)
		}
		params[name] = charset(raw, label)
	}
}

func percent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && digit(s[i+1]) >= 0 && digit(s[i+2]) >= 0 {
			b.WriteByte(byte(digit(s[i+1])<<4 | digit(s[i+2])))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// fileName is the name of a part in its header, in one line.
func fileName(h header) string {
	_, disposition := mediaType(h.get("content-disposition"))
	_, typ := mediaType(h.get("content-type"))
	name := oneLine(decodeWords(cmp.Or(disposition["filename"], typ["name"])))
	if name == "" {
		return ""
	}
	return baseName(name)
}
