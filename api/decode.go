package api

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
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
	if err := ofType(r, jsonType); err != nil {
		return err
	}
	text, err := readText(r)
	if err != nil {
		return err
	}
	return unmarshal(text, to, strict)
}

// ofType refuses a body that is of none of these types.
func ofType(r *http.Request, types ...string) error {
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
	if len(c.wrong) > 0 {
		return wrongFields(c.wrong...)
	}
	if err := json.Unmarshal(text, to); err != nil {
		if e, ok := err.(*problemError); ok {
			return e // of a type that reads itself
		}
		return refuse(problemInvalid, "the body does not have the form that openapi.yaml describes")
	}
	return nil
}
