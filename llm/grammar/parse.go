package grammar

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

// Limits of a grammar.
const (
	maxText   = 128 << 10 // bytes
	maxDepth  = 64        // of parentheses
	maxRepeat = 10_000    // in {m,n}
	maxCode   = 1 << 18   // instructions
)

const opParse = "grammar: parse"

// A node is a part of a rule.
type node struct {
	kind     nodeKind
	set      *set
	rule     int
	kids     []*node
	min, max int // of a repetition; max < 0: without limit
}

type nodeKind uint8

const (
	nodeSet    nodeKind = iota // one character
	nodeRule                   // a reference
	nodeAll                    // the kids, one after another
	nodeAny                    // one of the kids
	nodeRepeat                 // the only kid, some times
)

// parser reads GBNF.
type parser struct {
	text  string
	at    int
	depth int
	names []string
	ids   map[string]int
	rules []*node // by id; nil: not defined yet
}

// Parse reads a grammar in GBNF. An answer must be a text of its rule root. The message of
// an error has no text of the grammar but the names of its rules.
func Parse(text string) (*Grammar, error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Invalid, opParse, "the grammar has %d bytes; at most %d are allowed", len(text), maxText)
	}
	if !utf8.ValidString(text) {
		return nil, fault.New(fault.Invalid, opParse, "the grammar is not UTF-8")
	}
	p := &parser{text: text, ids: map[string]int{}}
	p.space(true)
	for p.at < len(p.text) {
		if err := p.rule(); err != nil {
			return nil, err
		}
	}
	root, ok := p.ids["root"]
	if !ok {
		return nil, fault.New(fault.Invalid, opParse, "the grammar has no rule root")
	}
	for id, r := range p.rules {
		if r == nil {
			return nil, fault.New(fault.Invalid, opParse, "the grammar has no rule %s", p.names[id])
		}
	}
	if id := endless(p.rules, root); id >= 0 {
		return nil, fault.New(fault.Invalid, opParse, "a text of the rule %s never ends", p.names[id])
	}
	return compile(p.rules, root)
}

func (p *parser) invalid(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	return fault.New(fault.Invalid, opParse, "line %d of the grammar: "+format, append([]any{line}, args...)...)
}

// peek is the next byte; 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space skips blanks and comments, and line ends if they do not end a rule here.
func (p *parser) space(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *parser) name() string {
	from := p.at
	for c := p.peek(); c == '-' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.peek() {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) id(name string) int {
	id, ok := p.ids[name]
	if !ok {
		id = len(p.rules)
		p.ids[name], p.names, p.rules = id, append(p.names, name), append(p.rules, nil)
	}
	return id
}

func (p *parser) rule() error {
	name := p.name()
	if name == "" {
		return p.invalid("a rule must begin with its name")
	}
	p.space(false)
	if !strings.HasPrefix(p.text[p.at:], "::=") {
		return p.invalid("the rule %s needs ::= after its name", name)
	}
	p.at += len("::=")
	id := p.id(name)
	if p.rules[id] != nil {
		return p.invalid("the rule %s is defined twice", name)
	}
	p.space(true)
	n, err := p.choice(false)
	if err != nil {
		return err
	}
	p.rules[id] = n
	if c := p.peek(); p.at < len(p.text) && c != '\n' && c != '\r' {
		return p.invalid("unexpected %q in the rule %s", rune(c), name)
	}
	p.space(true)
	return nil
}

// choice reads alternatives.
func (p *parser) choice(nested bool) (*node, error) {
	n := &node{kind: nodeAny}
	for {
		kid, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
		if p.peek() != '|' {
			break
		}
		p.at++
		p.space(true)
	}
	if len(n.kids) == 1 {
		return n.kids[0], nil
	}
	return n, nil
}

func (p *parser) sequence(nested bool) (*node, error) {
	n := &node{kind: nodeAll}
	for {
		kid, err := p.item()
		if err != nil {
			return nil, err
		}
		if kid == nil {
			return n, nil
		}
		p.space(nested)
		if kid, err = p.repeated(kid); err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
		p.space(nested)
	}
}

// item reads one element of a sequence; nil: the sequence ends here.
func (p *parser) item() (*node, error) {
	switch c := p.peek(); {
	case c == '"':
		return p.literal()
	case c == '[':
		return p.class()
	case c == '.':
		p.at++
		return &node{kind: nodeSet, set: newSet([]span{{0, utf8.MaxRune}}, false)}, nil
	case c == '(':
		if p.depth++; p.depth > maxDepth {
			return nil, p.invalid("more than %d parentheses are open", maxDepth)
		}
		p.at++
		p.space(true)
		n, err := p.choice(true)
		if err != nil {
			return nil, err
		}
		if p.peek() != ')' {
			return nil, p.invalid("a parenthesis is not closed")
		}
		p.at++
		p.depth--
		return n, nil
	}
	if name := p.name(); name != "" {
		return &node{kind: nodeRule, rule: p.id(name)}, nil
	}
	return nil, nil
}

// repeated reads what may stand behind an element.
func (p *parser) repeated(n *node) (*node, error) {
	r := &node{kind: nodeRepeat, kids: []*node{n}, max: -1}
	switch p.peek() {
	case '*':
	case '+':
		r.min = 1
	case '?':
		r.max = 1
	case '{':
		return r, p.bounds(r)
	default:
		return n, nil
	}
	p.at++
	return r, nil
}

// bounds reads {m}, {m,} or {m,n}.
func (p *parser) bounds(r *node) error {
	end := strings.IndexByte(p.text[p.at:], '}')
	if end < 0 {
		return p.invalid("a brace is not closed")
	}
	low, high, both := strings.Cut(p.text[p.at+1:p.at+end], ",")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	var err error
	if r.min, err = strconv.Atoi(low); err != nil || r.min < 0 || r.min > maxRepeat {
		return p.invalid("a number of repetitions must be 0 to %d", maxRepeat)
	}
	switch {
	case !both:
		r.max = r.min
	case high != "":
		if r.max, err = strconv.Atoi(high); err != nil || r.max < r.min || r.max > maxRepeat {
			return p.invalid("the most repetitions must be %d to %d", r.min, maxRepeat)
		}
	}
	p.at += end + 1
	return nil
}

func (p *parser) literal() (*node, error) {
	n := &node{kind: nodeAll}
	for p.at++; p.peek() != '"'; {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, &node{kind: nodeSet, set: newSet([]span{{r, r}}, false)})
	}
	p.at++
	return n, nil
}

func (p *parser) class() (*node, error) {
	p.at++
	not := p.peek() == '^'
	if not {
		p.at++
	}
	var spans []span
	for p.peek() != ']' {
		low, err := p.char()
		if err != nil {
			return nil, err
		}
		high := low
		if strings.HasPrefix(p.text[p.at:], "-") && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			if high, err = p.char(); err != nil {
				return nil, err
			}
			if high < low {
				return nil, p.invalid("a range of characters ends before it begins")
			}
		}
		spans = append(spans, span{low, high})
	}
	p.at++
	if len(spans) == 0 && !not {
		return nil, p.invalid("a set of characters is empty")
	}
	return &node{kind: nodeSet, set: newSet(spans, not)}, nil
}

// char reads a character of a literal or of a set.
func (p *parser) char() (rune, error) {
	if p.at >= len(p.text) {
		return 0, p.invalid("a text or a set of characters is not closed")
	}
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	if r != '\\' {
		return r, nil
	}
	c := p.peek()
	p.at++
	digits := 0
	switch c {
	case 'n':
		return '\n', nil
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case '"', '\\', '[', ']':
		return rune(c), nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		p.at--
		return 0, p.invalid("unknown escape")
	}
	if p.at+digits > len(p.text) {
		p.at = len(p.text)
		return 0, p.invalid("an escape is cut")
	}
	v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) || v > utf8.MaxRune {
		return 0, p.invalid("an escape names no character")
	}
	p.at += digits
	return rune(v), nil
}
