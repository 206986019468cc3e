package api

import (
	"encoding"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// checked is an input that has more to say of its values than their types do.
type checked interface{ check() error }

// defaulted is an input whose values are something where a client says nothing.
type defaulted interface{ defaults() }

// Given is text of the query that says something where it is sent at all: an empty
// one means nothing, and must not count as left out.
type Given string

// UnmarshalText refuses an empty text.
func (g *Given) UnmarshalText(text []byte) error {
	if *g = Given(text); *g == "" {
		return errors.New("it is empty")
	}
	return nil
}

// params fills a T from the path and the query: fields with the tags path and
// query, also those of embedded structs. What T does not know is refused.
func params[T any](r *http.Request) (T, error) {
	var v T
	err := fillParams(r, reflect.ValueOf(&v).Elem())
	if err == nil {
		err = checkAll(reflect.ValueOf(&v).Elem())
	}
	return v, err
}

// checkAll lets an input say what is wrong with its values.
func checkAll(v reflect.Value) error {
	return each(v, func(in any) error {
		if c, ok := in.(checked); ok {
			return c.check()
		}
		return nil
	})
}

func fillParams(r *http.Request, v reflect.Value) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wrong("query", "cannot be read")
	}
	_ = each(v, func(in any) error {
		if d, ok := in.(defaulted); ok {
			d.defaults()
		}
		return nil
	})
	var faults []FieldError
	if v.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if name := f.Tag.Get("path"); name != "" {
				if text := r.PathValue(name); text != "" && !set(v.FieldByIndex(f.Index), text) {
					faults = append(faults, FieldError{"path:" + name, mustSay(f.Type)})
				}
			}
			name := f.Tag.Get("query")
			texts, sent := query[name]
			if name == "" || !sent {
				continue
			}
			delete(query, name)
			if len(texts) > 1 {
				faults = append(faults, FieldError{"query:" + name, "stands there twice"})
			} else if !set(v.FieldByIndex(f.Index), texts[0]) {
				faults = append(faults, FieldError{"query:" + name, mustSay(f.Type)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(faults) < maxWrong {
			faults = append(faults, FieldError{"query:" + printable(name), "is not known here"})
		}
	}
	if len(faults) > 0 {
		return wrongFields(faults...)
	}
	return nil
}

// each calls f with a pointer to the input and to each struct embedded in it,
// those first: a method of two of them would be promoted from neither.
func each(v reflect.Value, f func(in any) error) error {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.Anonymous && t.IsExported() && t.Type.Kind() == reflect.Struct {
				if err := each(v.Field(i), f); err != nil {
					return err
				}
			}
		}
	}
	return f(v.Addr().Interface())
}

// set fills a field from text, and says whether the text fits.
func set(v reflect.Value, text string) bool {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return false
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text)) == nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		v.SetInt(int64(n))
		return err == nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		v.SetFloat(x)
		return err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	case reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	default:
		panic("api: a parameter of the type " + v.Type().String())
	}
	return true
}

// mustSay says what the text of a parameter is.
func mustSay(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "must be a time as in RFC 3339"
	case isText(t):
		return "does not have the form that it must have"
	case t.Kind() == reflect.String:
		return "must be UTF-8 without NUL"
	}
	return must(t)
}

// printable is a name that a client sent, fit to be told.
func printable(name string) string { return pointer(strings.ToValidUTF8(name, "?")) }
