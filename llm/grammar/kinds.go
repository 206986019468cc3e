package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostParts bounds what a schema leaves without bound only by a large number: longer
// texts and lists are cut there.
const mostParts = 1000

// size reads a keyword that is a count; missing, if there is none. A lower bound above
// mostParts is refused.
func size(v *value, keyword string, missing int) (int, error) {
	k := v.get(keyword)
	if k == nil {
		return missing, nil
	}
	n, err := strconv.ParseFloat(string(k.raw), 64)
	if err != nil || n < 0 || n != float64(int(n)) {
		return 0, unsupported(k.at, "it must be 0 or a positive whole number")
	}
	if strings.HasPrefix(keyword, "min") && n > mostParts {
		return 0, unsupported(k.at, "at most %d are supported", mostParts)
	}
	return int(min(n, mostParts)), nil
}

// sizes reads a lower and an upper bound; the upper is -1 if there is none.
func sizes(v *value, least, most string) (low, high int, err error) {
	if low, err = size(v, least, 0); err != nil {
		return 0, 0, err
	}
	if high, err = size(v, most, -1); err != nil {
		return 0, 0, err
	}
	if high >= 0 && high < low {
		return 0, 0, unsupported(v.get(most).at, "it is less than %s", least)
	}
	return low, high, nil
}

// times is a repetition in GBNF.
func times(low, high int) string {
	if high < 0 {
		return fmt.Sprintf("{%d,}", low)
	}
	return fmt.Sprintf("{%d,%d}", low, high)
}

func (s *schemas) text(v *value) (string, error) {
	if f := v.get("format"); f != nil {
		name, _ := f.scalar.(string)
		body := map[string]string{"date": "date", "time": "time", "date-time": `date "T" time`, "uuid": "uuid"}[name]
		if body != "" {
			return `"\"" ` + body + ` "\""`, alone(v, "format", "type")
		}
	}
	low, high, err := sizes(v, "minLength", "maxLength")
	if err != nil || low == 0 && high < 0 {
		return "string", err
	}
	body := `"\"" ` + char + times(low, high) + ` "\""`
	if s.texts[body] == "" { // such a rule is long
		s.texts[body] = s.define(body)
	}
	return s.texts[body], nil
}

func (s *schemas) array(v *value) (string, error) {
	low, high, err := sizes(v, "minItems", "maxItems")
	if err != nil {
		return "", err
	}
	var first []string
	if p := v.get("prefixItems"); p != nil {
		if !p.array {
			return "", unsupported(p.at, "it must be a list of schemas")
		}
		for _, kid := range p.items {
			rule, err := s.rule(kid)
			if err != nil {
				return "", err
			}
			first = append(first, rule)
		}
	}
	rest := "value"
	switch items := v.get("items"); {
	case items != nil && items.scalar == false, items == nil && len(first) > 0:
		// nothing behind the first ones
		if rest = ""; high < 0 || high > len(first) {
			high = len(first)
		}
		if low > len(first) {
			return "", unsupported(v.get("minItems").at, "prefixItems has fewer schemas")
		}
	case items != nil:
		if rest, err = s.rule(items); err != nil {
			return "", err
		}
	}
	if high == 0 {
		return `"[]"`, nil
	}
	// The items behind number i, with the comma before each.
	tail := ""
	if n := len(first); rest != "" {
		more := `("," sp ` + rest + ")"
		most := high - n
		if high < 0 {
			most = -1
		}
		switch {
		case n == 0: // the first of them has no comma
			body := rest + " " + more + times(max(0, low-1), max(-1, most-1))
			if high < 0 {
				body = rest + " " + more + times(max(0, low-1), -1)
			}
			return optional(`"[" `, body, ` "]"`, low == 0), nil
		case high < 0 || most > 0:
			tail = more + times(max(0, low-n), most)
		}
	}
	if high >= 0 && len(first) > high {
		first = first[:high]
	}
	for i := len(first) - 1; i >= 0; i-- {
		comma := `"," sp `
		if i == 0 {
			comma = ""
		}
		tail = comma + first[i] + " " + tail
		if i >= low && i > 0 {
			tail = s.define("(" + tail + ")?")
		}
	}
	return optional(`"[" `, tail, ` "]"`, low == 0), nil
}

// optional is a body between two literals that may be left out.
func optional(before, body, after string, may bool) string {
	if may {
		body = "(" + body + ")?"
	}
	return before + body + after
}

// object makes the rules of an object: its properties in their order, each with or
// without a comma before it, then the additional ones.
func (s *schemas) object(v *value) (string, error) {
	var properties []member
	if p := v.get("properties"); p != nil {
		if !p.object {
			return "", unsupported(p.at, "it must be an object of schemas")
		}
		for i, m := range p.members {
			if p.get(m.name) == p.members[i].value { // the last of several
				properties = append(properties, m)
			}
		}
	}
	required, err := requiredOf(v, properties)
	if err != nil {
		return "", err
	}
	extra := ""
	switch a := v.get("additionalProperties"); {
	case a == nil && v.get("properties") == nil, a != nil && a.scalar == true:
		extra = "value"
	case a != nil && a.scalar != false:
		if extra, err = s.rule(a); err != nil {
			return "", err
		}
	}
	// begun: what follows behind a property; fresh: what follows behind the brace.
	begun, fresh := `""`, `""`
	if extra != "" {
		names := make([]string, len(properties))
		for i, m := range properties {
			names[i] = m.name
		}
		one := s.define(s.otherKey(names) + ` ":" sp ` + extra)
		begun = s.define(`("," sp ` + one + ")*")
		fresh = s.define("(" + one + " " + begun + ")?")
	}
	for i := len(properties) - 1; i >= 0; i-- {
		m := properties[i]
		rule, err := s.rule(m.value)
		if err != nil {
			return "", err
		}
		this := quote(string(literal(m.name))+":") + " sp " + rule
		with := this + " " + begun
		if slices.Contains(required, m.name) {
			begun, fresh = s.define(`"," sp `+with), s.define(with)
		} else {
			begun, fresh = s.define(`"," sp `+with+" | "+begun), s.define(with+" | "+fresh)
		}
	}
	return `"{" ` + fresh + ` "}"`, nil
}

func requiredOf(v *value, properties []member) ([]string, error) {
	r := v.get("required")
	if r == nil {
		return nil, nil
	}
	var names []string
	for _, one := range r.items {
		name, ok := one.scalar.(string)
		if !ok || !slices.ContainsFunc(properties, func(m member) bool { return m.name == name }) {
			return nil, unsupported(one.at, "properties has no schema of this name")
		}
		names = append(names, name)
	}
	if !r.array {
		return nil, unsupported(r.at, "it must be a list of names")
	}
	return names, nil
}

// otherKey is a string that is none of some names: a second value of a property would
// not have to be valid under its schema. Beside names it has no escapes, which could
// spell one of them.
func (s *schemas) otherKey(names []string) string {
	if len(names) == 0 {
		return "string"
	}
	const plain = `"\\\x00-\x1f\x7f`
	var body func(left [][]rune) string
	body = func(left [][]rune) string {
		next := map[rune][][]rune{}
		var order []rune
		ends := false
		for _, name := range left {
			if len(name) == 0 {
				ends = true
				continue
			}
			if _, ok := next[name[0]]; !ok {
				order = append(order, name[0])
			}
			next[name[0]] = append(next[name[0]], name[1:])
		}
		var parts []string
		others := "[^" + plain
		for _, r := range order {
			others += classRune(r)
			if r != '"' && r != '\\' && r >= ' ' && r != 0x7f {
				parts = append(parts, quote(string(r))+" "+body(next[r]))
			}
		}
		parts = append(parts, others+"] [^"+plain+"]*")
		if !ends {
			parts = append(parts, `""`)
		}
		return s.define(strings.Join(parts, " | "))
	}
	all := make([][]rune, len(names))
	for i, name := range names {
		all[i] = []rune(name)
	}
	return `"\"" ` + body(all) + ` "\""`
}

// classRune is a character within a set of GBNF.
func classRune(r rune) string { return fmt.Sprintf(`\U%08x`, r) }
