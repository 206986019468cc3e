package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const opSchema = "grammar: schema"

// unsupported is the error of a schema at a JSON pointer.
func unsupported(at, format string, args ...any) error {
	return fault.New(fault.Invalid, opSchema, "JSON Schema at %q: "+format, append([]any{at}, args...)...)
}

// What all grammars of JSON use. Between the parts of a value is at most one blank, so that
// a small model cannot write blanks for ever. Numbers have no exponent and few digits, so
// that every program can read them.
const common = `sp ::= " "?
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ":" sp value ("," sp string ":" sp value)*)? "}"
array ::= "[" (value ("," sp value)*)? "]"
string ::= "\"" ` + char + `* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})?
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
date ::= [0-9]{4} "-" (("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) | ("0" [13-9] | "1" [0-2]) "-" ("29" | "30") | ("0" [13578] | "1" [02]) "-31")
time ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? ("Z" | [+-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])
uuid ::= [0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}
`

// char is a character of a JSON string. It needs no other escapes.
const char = `([^"\\\x00-\x1f\x7f] | "\\" ["\\/bfnrt])`

// FromSchema returns a grammar whose texts are valid under a JSON Schema. They are not all
// that are valid: properties come in the order of the schema, blanks are few, and oneOf
// counts as anyOf. A keyword that would change the meaning and is not supported is refused
// with its JSON pointer.
func FromSchema(schema []byte) (gbnf string, err error) {
	if schema == nil {
		schema = []byte{}
	}
	return Form{Schema: schema}.Grammar()
}

// schemas makes rules of schemas.
type schemas struct {
	root  *value
	out   strings.Builder
	rules map[string]string // the rule of the schema at a JSON pointer
	texts map[string]string // the rule of a bounded text
	count int
}

// name returns a new rule name.
func (s *schemas) name() string {
	s.count++
	return "r" + strconv.Itoa(s.count)
}

// define writes a rule and returns its name.
func (s *schemas) define(body string) string {
	name := s.name()
	fmt.Fprintf(&s.out, "%s ::= %s\n", name, body)
	return name
}

// quote is a text as a literal of GBNF.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// rule returns the name of the rule of a schema. A schema within itself has the same rule.
func (s *schemas) rule(v *value) (string, error) {
	if name, ok := s.rules[v.at]; ok {
		return name, nil
	}
	name := s.name()
	s.rules[v.at] = name
	body, err := s.body(v)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&s.out, "%s ::= %s\n", name, body)
	return name, nil
}

// Keywords that change nothing here. Others that are unknown are ignored too, as JSON
// Schema demands; but see changing.
var annotations = []string{
	"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "example", "examples", "deprecated", "readOnly",
	"writeOnly", "discriminator", "nullable",
}

// Keywords that change the meaning and are not supported.
var changing = []string{
	"not", "if", "then", "else", "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
	"dependencies", "contains", "minContains", "maxContains", "pattern", "multipleOf", "unevaluatedItems", "additionalItems",
	"$dynamicRef", "$recursiveRef",
}

func (s *schemas) body(v *value) (string, error) {
	if v.scalar == true {
		return "value", nil
	}
	if !v.object {
		return "", unsupported(v.at, "it must be an object or true")
	}
	for _, m := range v.members {
		switch {
		case slices.Contains(changing, m.name), m.name == "uniqueItems" && m.scalar != false, m.name == "unevaluatedProperties" && m.scalar != false:
			return "", unsupported(m.at, "the keyword %s is not supported", m.name)
		}
	}
	body, err := s.only(v)
	if err != nil {
		return "", err
	}
	if null := v.get("nullable"); null != nil && null.scalar == true {
		body = "(" + body + `) | "null"`
	}
	return body, nil
}

// only makes the body of a schema's kind: a reference, alternatives, values, or types.
func (s *schemas) only(v *value) (string, error) {
	for _, m := range v.members {
		switch m.name {
		case "$ref":
			return s.ref(v, m.value)
		case "anyOf", "oneOf":
			return s.any(v, m)
		case "allOf":
			if !m.array || len(m.items) != 1 {
				return "", unsupported(m.at, "the keyword allOf is supported with one schema only")
			}
			return s.any(v, m)
		}
	}
	for _, m := range v.members {
		switch m.name {
		case "enum", "const":
			return s.values(v, m)
		}
	}
	types, err := typesOf(v)
	if err != nil {
		return "", err
	}
	var kinds []string
	for _, t := range types {
		kind, err := s.typed(v, t)
		if err != nil {
			return "", err
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " | "), nil
}

// alone refuses keywords beside one that decides everything.
func alone(v *value, keyword string, beside ...string) error {
	for _, m := range v.members {
		known := slices.Contains(annotations, m.name) || slices.Contains(beside, m.name) || m.name == keyword
		if !known && slices.Contains(keywords, m.name) {
			return unsupported(m.at, "the keyword %s is not supported beside %s", m.name, keyword)
		}
	}
	return nil
}

// keywords are those that FromSchema reads.
var keywords = []string{
	"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "type", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems",
	"maxItems", "minLength", "maxLength", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
}

func (s *schemas) ref(v, ref *value) (string, error) {
	if err := alone(v, "$ref"); err != nil {
		return "", err
	}
	text, _ := ref.scalar.(string)
	pointer, local := strings.CutPrefix(text, "#")
	if !local || pointer != "" && pointer[0] != '/' {
		return "", unsupported(ref.at, "a reference must be within the schema, such as #/$defs/name")
	}
	to := s.root.find(pointer)
	if to == nil {
		return "", unsupported(ref.at, "the reference leads nowhere")
	}
	return s.rule(to)
}

func (s *schemas) any(v *value, m member) (string, error) {
	if err := alone(v, m.name); err != nil {
		return "", err
	}
	if !m.array || len(m.items) == 0 {
		return "", unsupported(m.at, "it must be a list of schemas")
	}
	var rules []string
	for _, kid := range m.items {
		rule, err := s.rule(kid)
		if err != nil {
			return "", err
		}
		rules = append(rules, rule)
	}
	return strings.Join(rules, " | "), nil
}

// values are those of enum or const, as far as they have one of the types.
func (s *schemas) values(v *value, m member) (string, error) {
	if err := alone(v, m.name, "type"); err != nil {
		return "", err
	}
	all := []*value{m.value}
	if m.name == "enum" {
		if all = m.items; !m.array || len(all) == 0 {
			return "", unsupported(m.at, "it must be a list of values")
		}
	}
	var types []string
	if v.get("type") != nil {
		var err error
		if types, err = typesOf(v); err != nil {
			return "", err
		}
	}
	var texts []string
	for _, one := range all {
		if types != nil && !slices.ContainsFunc(types, one.is) {
			return "", unsupported(one.at, "the value is not of the schema's type")
		}
		texts = append(texts, quote(string(one.raw)))
	}
	return strings.Join(texts, " | "), nil
}

// typesOf returns the types of a schema, or else those that its keywords are for.
func typesOf(v *value) ([]string, error) {
	t := v.get("type")
	if t == nil {
		for _, m := range v.members {
			switch m.name {
			case "properties", "required", "additionalProperties":
				return []string{"object"}, nil
			case "items", "prefixItems", "minItems", "maxItems":
				return []string{"array"}, nil
			case "minLength", "maxLength", "format":
				return []string{"string"}, nil
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
				return []string{"number"}, nil
			}
		}
		return []string{"any"}, nil
	}
	list := t.items
	if !t.array {
		list = []*value{t}
	}
	var types []string
	for _, one := range list {
		name, _ := one.scalar.(string)
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name) {
			return nil, unsupported(one.at, "it is no type of JSON")
		}
		types = append(types, name)
	}
	if len(types) == 0 {
		return nil, unsupported(t.at, "it names no type")
	}
	return types, nil
}

// is reports whether a value is of a type.
func (v *value) is(kind string) bool {
	switch kind {
	case "object":
		return v.object
	case "array":
		return v.array
	case "null":
		return string(v.raw) == "null"
	case "boolean":
		_, ok := v.scalar.(bool)
		return ok
	case "string":
		_, ok := v.scalar.(string)
		return ok
	case "integer":
		_, err := strconv.ParseInt(string(v.raw), 10, 64)
		return err == nil
	}
	_, err := strconv.ParseFloat(string(v.raw), 64)
	return err == nil
}

func (s *schemas) typed(v *value, kind string) (string, error) {
	switch kind {
	case "any":
		return "value", nil
	case "object":
		return s.object(v)
	case "array":
		return s.array(v)
	case "string":
		return s.text(v)
	case "integer", "number":
		return s.number(v, kind)
	case "boolean":
		return `"true" | "false"`, nil
	}
	return `"null"`, nil
}
