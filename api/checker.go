package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth  = 32     // of values within values
	maxValues = 20_000 // of a body: many small ones take a hundred times their text in memory
	maxWrong  = 16     // faults that are told at once
)

// checker walks JSON text beside the type that it is for. It is stricter than
// encoding/json: names of fields are as they are written, each stands once, and
// nothing is null that cannot be.
type checker struct {
	in     *json.Decoder
	strict bool // refuses unknown fields
	values int  // that were seen
	wrong  []FieldError
}

// newChecker wants text that is JSON.
func newChecker(text []byte, strict bool) *checker {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	return &checker{in: in, strict: strict}
}

func (c *checker) no(at, what string) {
	if len(c.wrong) < maxWrong {
		c.wrong = append(c.wrong, FieldError{at, what})
	}
}

// value checks the next value for a type; nil stands for any.
func (c *checker) value(t reflect.Type, at string, depth int) error {
	if depth > maxDepth {
		return refuse(problemBadBody, "values stand more than %d deep in each other", maxDepth)
	}
	if c.values++; c.values > maxValues {
		return refuse(problemBadBody, "it holds more than %d values", maxValues)
	}
	token, err := c.in.Token()
	if err != nil {
		return refuse(problemBadBody, "it is not JSON")
	}
	nullable := t == nil
	for t != nil && t.Kind() == reflect.Pointer {
		t, nullable = t.Elem(), true
	}
	if t != nil && (t.Kind() == reflect.Interface || readsItself(t)) {
		t, nullable = nil, true
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return c.object(t, at, depth)
		}
		return c.array(t, at, depth)
	case nil:
		if !nullable {
			c.no(at, "must not be null")
		}
	case string:
		c.text(t, at, token)
	case json.Number:
		c.number(t, at, string(token))
	case bool:
		if t != nil && (t.Kind() != reflect.Bool || isText(t)) {
			c.no(at, must(t))
		}
	}
	return nil
}

func (c *checker) object(t reflect.Type, at string, depth int) error {
	var fields map[string]reflect.Type
	var elem reflect.Type
	known := t == nil
	switch {
	case t == nil:
	case isText(t):
	case t.Kind() == reflect.Struct:
		known, fields = true, jsonFields(t)
	case t.Kind() == reflect.Map:
		known, elem = true, t.Elem()
	}
	if !known {
		c.no(at, must(t))
	}
	seen := map[string]bool{}
	for c.in.More() {
		token, err := c.in.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return refuse(problemBadBody, "it is not JSON")
		}
		of, here := elem, at+"/"+pointer(name)
		if fields != nil {
			var has bool
			if of, has = fields[name]; !has && c.strict {
				c.no(here, "is not known here")
			}
		}
		if seen[name] {
			c.no(here, "stands there twice")
		}
		seen[name] = true
		if err := c.value(of, here, depth+1); err != nil {
			return err
		}
	}
	_, err := c.in.Token() // the brace
	return err
}

func (c *checker) array(t reflect.Type, at string, depth int) error {
	var elem reflect.Type
	if t != nil {
		if (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !isText(t) {
			elem = t.Elem()
		} else {
			c.no(at, must(t))
		}
	}
	for i := 0; c.in.More(); i++ {
		if err := c.value(elem, at+"/"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
	}
	_, err := c.in.Token() // the bracket
	return err
}

func (c *checker) text(t reflect.Type, at, s string) {
	switch {
	case t == nil || t.Kind() == reflect.String && !isText(t):
	case isText(t):
		if reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) != nil {
			c.no(at, "does not have the form that it must have")
		}
	default:
		c.no(at, must(t))
	}
}

func (c *checker) number(t reflect.Type, at, s string) {
	if t == nil {
		return
	}
	var err error
	switch bits := t.Kind(); {
	case isText(t):
		err = strconv.ErrSyntax
	case reflect.Int <= bits && bits <= reflect.Int64:
		_, err = strconv.ParseInt(s, 10, t.Bits())
	case reflect.Uint <= bits && bits <= reflect.Uint64:
		_, err = strconv.ParseUint(s, 10, t.Bits())
	case bits == reflect.Float32 || bits == reflect.Float64:
		_, err = strconv.ParseFloat(s, t.Bits())
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		c.no(at, must(t))
	}
}

// must says what a value of a type is.
func must(t reflect.Type) string {
	switch k := t.Kind(); {
	case isText(t) || k == reflect.String:
		return "must be a string"
	case k == reflect.Bool:
		return "must be true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "must be a number that is not too large"
	case k == reflect.Struct || k == reflect.Map:
		return "must be an object"
	case k == reflect.Slice || k == reflect.Array:
		return "must be an array"
	}
	return "must be a whole number that is not too large"
}

// isText says whether a type reads itself from a string.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// readsItself says whether a type reads itself from any JSON.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && !isText(t)
}

// jsonFields are the fields of a struct that have a name in JSON. What has none
// there is never filled from a body.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && f.IsExported() {
			fields[name] = f.Type
		}
	}
	return fields
}

// pointer is a name as a part of a JSON pointer. It came from the client: what is
// long is cut.
func pointer(name string) string {
	const limit = 64
	if len(name) > limit {
		name = name[:limit]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
