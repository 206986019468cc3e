package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const jsonType = "application/json"

// decode reads a JSON body into a T. If strict, it refuses unknown fields by name; otherwise it
// ignores them, as OpenAI clients send fields of their own.
func decode[T any](r *http.Request, strict bool) (T, error) {
	var v T
	err := decodeInto(r, &v, strict)
	if err == nil {
		err = checkAll(reflect.ValueOf(&v).Elem())
	}
	return v, err
}

func decodeInto(r *http.Request, to any, strict bool) error {
	if err := requireType(r, jsonType); err != nil {
		return err
	}
	text, err := readText(r)
	if err != nil {
		return err
	}
	return unmarshal(text, to, strict)
}

// requireType refuses a body whose media type is not one of types.
func requireType(r *http.Request, types ...string) error {
	kinds := r.Header.Values("Content-Type")
	if len(kinds) != 1 {
		return refuse(problemMediaType, "send exactly one Content-Type: %s", strings.Join(types, " or "))
	}
	kind, params, err := mime.ParseMediaType(kinds[0])
	if err != nil || !slices.Contains(types, kind) {
		return refuse(problemMediaType, "the body must be %s", strings.Join(types, " or "))
	}
	if c, ok := params["charset"]; ok && !strings.EqualFold(c, "utf-8") {
		return refuse(problemMediaType, "the charset of the body must be UTF-8")
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuse(problemMediaType, "the body must not be compressed: Content-Encoding is not supported")
	}
	return nil
}

// readText reads a UTF-8 body into memory.
func readText(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, refuse(problemBadBody, "the body is empty")
	case !utf8.Valid(text):
		return nil, refuse(problemBadBody, "the body is not UTF-8")
	}
	return text, nil
}

// noBody refuses a body for an operation that takes none, so that the server never ignores
// data.
func noBody(r *http.Request) error {
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	if n > 0 {
		return refuse(problemUnexpectedBody, "")
	}
	if err != io.EOF {
		return err
	}
	return nil
}

// unmarshal fills the target from JSON text. Its error names each field that does not fit.
func unmarshal(text []byte, to any, strict bool) error {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		if e, ok := err.(*json.SyntaxError); ok {
			return refuse(problemBadBody, "the body is not one JSON value: see byte %d", e.Offset)
		}
		return refuse(problemBadBody, "the body is not JSON")
	}
	c := newChecker(text, strict)
	if err := c.value(reflect.TypeOf(to).Elem(), "", 0); err != nil {
		return err
	}
	if len(c.faults) > 0 {
		return invalidFields(c.faults...)
	}
	if err := json.Unmarshal(text, to); err != nil {
		if e, ok := err.(*problemError); ok {
			return e // from a type that unmarshals itself
		}
		return refuse(problemInvalid, "the body does not match openapi.yaml")
	}
	return nil
}

const (
	maxDepth  = 32     // nesting of values
	maxValues = 20_000 // values in a body: many small ones need a hundred times their text in memory
	maxWrong  = 16     // faults that one response lists
)

// checker walks JSON text together with the type that receives it. It is stricter than
// encoding/json: field names are case-sensitive and unique, and null is accepted only where the
// type allows it.
type checker struct {
	in     *json.Decoder
	strict bool // refuse unknown fields
	values int  // values read so far
	faults []FieldError
}

// newChecker expects text that is valid JSON.
func newChecker(text []byte, strict bool) *checker {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	return &checker{in: in, strict: strict}
}

func (c *checker) addFault(at, what string) {
	if len(c.faults) < maxWrong {
		c.faults = append(c.faults, FieldError{at, what})
	}
}

// value checks the next value against a type; nil accepts any.
func (c *checker) value(t reflect.Type, at string, depth int) error {
	if depth > maxDepth {
		return refuse(problemBadBody, "the body nests values more than %d deep", maxDepth)
	}
	if c.values++; c.values > maxValues {
		return refuse(problemBadBody, "the body contains more than %d values", maxValues)
	}
	token, err := c.in.Token()
	if err != nil {
		return refuse(problemBadBody, "the body is not JSON")
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
			c.addFault(at, "must not be null")
		}
	case string:
		c.text(t, at, token)
	case json.Number:
		c.number(t, at, string(token))
	case bool:
		if t != nil && (t.Kind() != reflect.Bool || isText(t)) {
			c.addFault(at, typeRule(t))
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
		c.addFault(at, typeRule(t))
	}
	seen := map[string]bool{}
	for c.in.More() {
		token, err := c.in.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return refuse(problemBadBody, "the body is not JSON")
		}
		of, here := elem, at+"/"+pointer(name)
		if fields != nil {
			var has bool
			if of, has = fields[name]; !has && c.strict {
				c.addFault(here, "unknown field")
			}
		}
		if seen[name] {
			c.addFault(here, "duplicate field")
		}
		seen[name] = true
		if err := c.value(of, here, depth+1); err != nil {
			return err
		}
	}
	_, err := c.in.Token() // the closing brace
	return err
}

func (c *checker) array(t reflect.Type, at string, depth int) error {
	var elem reflect.Type
	if t != nil {
		if (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !isText(t) {
			elem = t.Elem()
		} else {
			c.addFault(at, typeRule(t))
		}
	}
	for i := 0; c.in.More(); i++ {
		if err := c.value(elem, at+"/"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
	}
	_, err := c.in.Token() // the closing bracket
	return err
}

func (c *checker) text(t reflect.Type, at, s string) {
	switch {
	case t == nil || t.Kind() == reflect.String && !isText(t):
	case isText(t):
		if reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) != nil {
			c.addFault(at, textRule(t))
		}
	default:
		c.addFault(at, typeRule(t))
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
		c.addFault(at, typeRule(t))
	}
}

// typeRule says which JSON value a type accepts.
func typeRule(t reflect.Type) string {
	switch k := t.Kind(); {
	case isText(t) || k == reflect.String:
		return "must be a string"
	case k == reflect.Bool:
		return "must be true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "must be a number within the range of its type"
	case k == reflect.Struct || k == reflect.Map:
		return "must be an object"
	case k == reflect.Slice || k == reflect.Array:
		return "must be an array"
	}
	return "must be an integer within the range of its type"
}

// isText says whether a type unmarshals itself from a string.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// readsItself says whether a type unmarshals itself from any JSON value.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && !isText(t)
}

// jsonFields returns the fields of a struct that have a JSON name. A body never fills other
// fields.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && f.IsExported() {
			fields[name] = f.Type
		}
	}
	return fields
}

// pointer escapes a name for a JSON pointer. The client chose the name, so pointer shortens a
// long one.
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
