package grammar

import "strings"

// Call is a tool that an answer may call. A call is {"tool": its name, "arguments": ...}.
type Call struct {
	Tool      string
	Arguments []byte // a JSON Schema; nil: any object
}

// Form is what an answer may be: one of the things that are set.
type Form struct {
	Text   bool   // any text that begins neither with a blank nor like JSON's objects
	Object bool   // any JSON object that is not empty
	Schema []byte // JSON that is valid under a JSON Schema
	Calls  []Call
}

// Grammar returns the grammar of a form. An error in the arguments of a call names its tool.
func (f Form) Grammar() (string, error) {
	s := schemas{texts: map[string]string{}}
	var ways []string
	if f.Text {
		ways = append(ways, `[^\x00-\x20{\u0085\u00A0\u1680\u2000-\u200F\u2028\u2029\u202F\u205F\u3000\uFEFF] .*`)
	}
	if f.Object {
		ways = append(ways, `sp "{" string ":" sp value ("," sp string ":" sp value)* "}"`)
	}
	if f.Schema != nil {
		rule, err := s.schema(f.Schema)
		if err != nil {
			return "", err
		}
		ways = append(ways, "sp "+rule)
	}
	for _, c := range f.Calls {
		rule := "object"
		if c.Arguments != nil {
			var err error
			if rule, err = s.schema(c.Arguments); err != nil {
				return "", unsupported("", "of the tool %s: %w", c.Tool, err)
			}
		}
		ways = append(ways, `sp "{\"tool\":" sp `+quote(string(literal(c.Tool)))+` "," sp "\"arguments\":" sp `+rule+` "}"`)
	}
	gbnf := "root ::= " + strings.Join(ways, " | ") + "\n" + common + s.out.String()
	if _, err := Parse(gbnf); err != nil {
		return "", unsupported("", "no grammar can be made of it: %w", err)
	}
	return gbnf, nil
}

// schema makes the rules of a JSON Schema and returns the name of the first.
func (s *schemas) schema(text []byte) (string, error) {
	root, err := readValue(text)
	if err != nil {
		return "", err
	}
	s.root, s.rules = root, map[string]string{}
	return s.rule(root)
}
