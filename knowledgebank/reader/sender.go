package reader

import "strings"

// sender is who wrote a mail, as chunks name it: the name, else the address.
func sender(h header) string {
	for _, from := range []string{"from", "sender", "reply-to", "return-path"} {
		for _, v := range h[from] {
			if name := person(v); name != "" {
				return name
			}
		}
	}
	return ""
}

// person is the first name in a list of addresses, or the first address.
func person(v string) string {
	v = unfold(v)
	name, address := firstAddress(v)
	name = strings.Trim(oneLine(words(name)), ` '"`)
	address = strings.Trim(oneLine(address), " <>'\"")
	if name == "" || strings.EqualFold(name, address) {
		return address
	}
	return name
}

// firstAddress parts `"Ruiz, Ana" <ana@example.com>` and its kin. Quotes are
// undone, encoded words are not.
func firstAddress(v string) (name, address string) {
	var out, comment, angle strings.Builder
	quoted, depth, inAngle := false, 0, false
scan:
	for i := 0; i < len(v); i++ {
		c := v[i]
		to := &out
		switch {
		case depth > 0:
			to = &comment
		case inAngle:
			to = &angle
		}
		switch {
		case c == '\\' && i+1 < len(v) && (quoted || depth > 0):
			i++
			to.WriteByte(v[i])
		case c == '"' && depth == 0 && !inAngle:
			quoted = !quoted && strings.IndexByte(v[i+1:], '"') >= 0
		case quoted:
			to.WriteByte(c)
		case c == '(' && !inAngle:
			if depth++; depth > 1 {
				to.WriteByte(c)
			}
		case c == ')' && depth > 0:
			if depth--; depth > 0 {
				to.WriteByte(c)
			}
		case c == '<' && depth == 0:
			inAngle = true
		case c == '>' && inAngle:
			break scan
		case c == ',' && depth == 0 && !inAngle:
			if strings.Contains(out.String(), "@") {
				break scan
			}
			to.WriteByte(c) // an unquoted "Ruiz, Ana <...>"
		default:
			to.WriteByte(c)
		}
	}
	if inAngle {
		return out.String(), angle.String()
	}
	if a := strings.TrimSpace(out.String()); strings.Contains(a, "@") || comment.Len() > 0 {
		return comment.String(), a
	}
	return out.String(), ""
}
