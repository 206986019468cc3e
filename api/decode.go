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

// decode reads a JSON body into a T. Fields that T does not know are refused by
// name if it is strict; those that clients of others' interfaces send are passed
// over.
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

// ofType refuses a body that is of none of these types.
func requireType(r *http.Request, types ...string) error {
	kinds := r.Header.Values("Content-Type")
	if len(kinds) != 1 {
		return refuse(problemMediaType, "the body wants one Content-Type: %s", strings.Join(types, " or "))
	}
	kind, params, err := mime.ParseMediaType(kinds[0])
	if err != nil || !slices.Contains(types, kind) {
		return refuse(problemMediaType, "the body must be %s", strings.Join(types, " or "))
	}
	if c, ok := params["charset"]; ok && !strings.EqualFold(c, "utf-8") {
		return refuse(problemMediaType, "the body must be in UTF-8")
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuse(problemMediaType, "the body must not be compressed: Content-Encoding is not read")
	}
	return nil
}

// readText reads a body of text into memory.
func readText(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, refuse(problemBadBody, "a body is needed")
	case !utf8.Valid(text):
		return nil, refuse(problemBadBody, "it is not UTF-8")
	}
	return text, nil
}

// noBody refuses a body where none is read: nothing that was sent goes unread.
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

// unmarshal fills what to points to from JSON text, and names what does not fit
// field by field.
func unmarshal(text []byte, to any, strict bool) error {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		if e, ok := err.(*json.SyntaxError); ok {
			return refuse(problemBadBody, "it is not one JSON value: see byte %d", e.Offset)
		}
		return refuse(problemBadBody, "it is not JSON")
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
			return e // of a type that reads itself
		}
		return refuse(problemInvalid, "the body does not have the form that openapi.yaml describes")
	}
	return nil
}

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
	faults []FieldError
}

// newChecker wants text that is JSON.
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
			return refuse(problemBadBody, "it is not JSON")
		}
		of, here := elem, at+"/"+pointer(name)
		if fields != nil {
			var has bool
			if of, has = fields[name]; !has && c.strict {
				c.addFault(here, "is not known here")
			}
		}
		if seen[name] {
			c.addFault(here, "stands there twice")
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
			c.addFault(at, typeRule(t))
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
			c.addFault(at, "does not have the form that it must have")
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

// must says what a value of a type is.
func typeRule(t reflect.Type) string {
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
