package reader

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// media reads a value like "text/plain; charset=utf-8" with its damage: the
// type in small letters, and the parameters, RFC 2231 ones decoded and joined.
func media(v string) (typ string, params map[string]string) {
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
	join(pieces, params)
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

func join(pieces []piece, params map[string]string) {
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

// fileName is a part's name as its header gives it, in one line.
func fileName(h header) string {
	_, disposition := media(h.get("content-disposition"))
	_, typ := media(h.get("content-type"))
	name := oneLine(words(cmp.Or(disposition["filename"], typ["name"])))
	if name == "" {
		return ""
	}
	return baseName(name)
}
