package pdf

import (
	"bytes"
	"math"
)

// lexer splits bytes into tokens. It never fails: nonsense becomes an unknown word.
type lexer struct {
	data []byte
	pos  int
}

// end is the token behind the last one.
const end = word("")

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func regular(c byte) bool { return !space(c) && !delimiter(c) }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// blank skips white space and comments.
func (l *lexer) blank() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case space(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// token reads the next token: an int, float64, str, name or word.
func (l *lexer) token() any {
	l.blank()
	if l.pos >= len(l.data) {
		return end
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name()
	case '(':
		l.pos++
		return l.literal()
	case '<', '>':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == c {
			l.pos += 2
			return word(l.data[l.pos-2 : l.pos])
		}
		l.pos++
		if c == '<' {
			return l.hex()
		}
		return word(">")
	case '[', ']', '{', '}', ')':
		l.pos++
		return word(l.data[l.pos-1 : l.pos])
	}
	run := l.run()
	if c := run[0]; digit(c) || c == '-' || c == '+' || c == '.' {
		if v, ok := numeral(run); ok {
			return v
		}
	}
	return word(run)
}

// run reads regular characters.
func (l *lexer) run() []byte {
	from := l.pos
	for l.pos < len(l.data) && regular(l.data[l.pos]) {
		l.pos++
	}
	return l.data[from:l.pos]
}

// numeral reads a number. Writers also write "--5", "1.2.3" and "12-3"; other readers
// take these for -5, 1.2 and 12.
func numeral(b []byte) (any, bool) {
	negative, real, digits := false, false, 0
	for len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = negative || b[0] == '-'
		b = b[1:]
	}
	value, unit := 0.0, 1.0
scan:
	for _, c := range b {
		switch {
		case digit(c) && real:
			unit /= 10
			value += float64(c-'0') * unit
			digits++
		case digit(c):
			value = value*10 + float64(c-'0')
			digits++
		case c == '.' && !real:
			real = true
		case (c == '.' || c == '-') && digits > 0:
			break scan
		default:
			return nil, false
		}
	}
	if digits == 0 && !real || math.IsInf(value, 0) {
		return nil, false
	}
	if negative {
		value = -value
	}
	if real || math.Abs(value) > 1<<53 {
		return value, true
	}
	return int(value), true
}

func (l *lexer) name() name {
	run := l.run()
	if bytes.IndexByte(run, '#') < 0 {
		return name(run)
	}
	out := make([]byte, 0, len(run))
	for i := 0; i < len(run); i++ {
		if run[i] == '#' && i+2 < len(run) {
			hi, ok1 := nibble(run[i+1])
			lo, ok2 := nibble(run[i+2])
			if ok1 && ok2 {
				out = append(out, hi<<4|lo)
				i += 2
				continue
			}
		}
		out = append(out, run[i])
	}
	return name(out)
}

func nibble(c byte) (byte, bool) {
	switch {
	case digit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// hex reads a string of hexadecimal digits. An odd last digit is followed by a 0.
func (l *lexer) hex() str {
	var out []byte
	half := false
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		if c == '>' {
			break
		}
		v, ok := nibble(c)
		switch {
		case !ok:
		case half:
			out[len(out)-1] |= v
			half = false
		default:
			out = append(out, v<<4)
			half = true
		}
	}
	return str(out)
}

// literal reads a string in parentheses, which may nest.
func (l *lexer) literal() str {
	var out []byte
	open := 1
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			open++
		case ')':
			open--
			if open == 0 {
				return str(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		case '\r':
			if l.pos < len(l.data) && l.data[l.pos] == '\n' {
				l.pos++
			}
			c = '\n'
		}
		out = append(out, c)
	}
	return str(out)
}

// escape reads what follows a backslash.
func (l *lexer) escape(out []byte) []byte {
	if l.pos >= len(l.data) {
		return out
	}
	c := l.data[l.pos]
	l.pos++
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case '\n':
		return out
	case '\r':
		if l.pos < len(l.data) && l.data[l.pos] == '\n' {
			l.pos++
		}
		return out
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v := c - '0'
		for range 2 {
			if l.pos >= len(l.data) || l.data[l.pos] < '0' || l.data[l.pos] > '7' {
				break
			}
			v = v<<3 | (l.data[l.pos] - '0')
			l.pos++
		}
		c = v
	}
	return append(out, c)
}

// maxNesting is the greatest depth of arrays and dictionaries.
const maxNesting = 64

// parser makes objects of tokens.
type parser struct {
	lexer
	// refs: "4 0 R" is a reference. In page programs it is not.
	refs bool
	// left is the number of values that may still be made.
	left *int
}

// next reads a token and spends values, more for long tokens and skipped text: many
// objects may begin in one long string or comment, and must not cost its length each
// time.
func (p *parser) next() any {
	from := p.pos
	t := p.token()
	*p.left -= 1 + (p.pos-from)/32
	return t
}

// value reads one object, or a word that is none. ok is false if the values are spent
// or nest too deep; the result is then useless.
func (p *parser) value() (v any, ok bool) {
	v, ok = p.nested(0)
	num, isInt := v.(int)
	if !p.refs || !isInt || num < 0 {
		return v, ok
	}
	back := p.pos
	if gen, isInt := p.next().(int); isInt && gen >= 0 && p.next() == word("R") {
		return ref{num, gen}, ok
	}
	p.pos = back
	return v, ok
}

func (p *parser) nested(depth int) (any, bool) {
	if *p.left <= 0 || depth > maxNesting {
		return nil, false
	}
	t := p.next()
	w, isWord := t.(word)
	if !isWord {
		return t, true
	}
	switch w {
	case "[":
		return p.list("]", depth)
	case "<<":
		items, ok := p.list(">>", depth)
		d := make(dict, len(items)/2)
		for i := 0; i+1 < len(items); i += 2 {
			key, isName := items[i].(name)
			if !isName { // a missing or surplus value: find the next key
				i--
				continue
			}
			d[key] = items[i+1]
		}
		return d, ok
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	return w, true
}

// list reads up to the closing word. If it is missing, the list ends before the word
// that ends the object, so damage stays local.
func (p *parser) list(closing word, depth int) (array, bool) {
	items := array{}
	for {
		from := p.pos
		v, ok := p.nested(depth + 1)
		if !ok {
			return items, false
		}
		w, isWord := v.(word)
		switch {
		case !isWord:
			items = append(items, v)
		case w == closing:
			return items, true
		case w == "R" && p.refs:
			items = refer(items)
		case w == end || w == "endobj" || w == "stream" || w == "endstream" || w == ">>" || w == "obj":
			p.pos = from
			return items, true
		}
	}
}

// refer makes a reference of the last two numbers in items.
func refer(items array) array {
	n := len(items)
	if n < 2 {
		return items
	}
	num, ok1 := items[n-2].(int)
	gen, ok2 := items[n-1].(int)
	if !ok1 || !ok2 {
		return items
	}
	items[n-2] = ref{num, gen}
	return items[:n-1]
}
