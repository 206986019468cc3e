package pdf

// maxNesting bounds arrays and dictionaries within each other.
const maxNesting = 64

// parser makes objects of tokens.
type parser struct {
	lexer
	// refs says whether "4 0 R" is a reference; in page programs it is not.
	refs bool
	// left counts down the values that may still be made.
	left *int
}

// next reads a token and pays for it, long ones and what is skipped more: many
// objects that begin in one long string or comment must not cost its length
// each time.
func (p *parser) next() any {
	from := p.pos
	t := p.token()
	*p.left -= 1 + (p.pos-from)/32
	return t
}

// value reads one object, or a word that is none. ok is false when the values
// are spent or nest too deep; what was read is then of no use.
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
			if !isName { // a value is missing or one too many: find the next key
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

// list reads up to the closing word. One that is missing is taken to stand
// before the word that ends the object, so that damage stays local.
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

// refer makes a reference of the two numbers at the end of items.
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
