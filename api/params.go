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

	"github.com/percached/percached"
)

// checked is an input with rules beyond the types of its fields.
type checked interface{ check() error }

// defaulted is an input with default values.
type defaulted interface{ defaults() }

// Given is a text that must not be empty if it is present.
type Given string

// UnmarshalText refuses an empty text.
func (g *Given) UnmarshalText(text []byte) error {
	if *g = Given(text); *g == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// params fills a T from the path and the query, using the field tags path and query, also of
// embedded structs. It refuses unknown parameters.
func params[T any](r *http.Request) (T, error) {
	var v T
	err := fillParams(r, reflect.ValueOf(&v).Elem())
	if err == nil {
		err = checkAll(reflect.ValueOf(&v).Elem())
	}
	return v, err
}

// checkAll applies the rules of an input.
func checkAll(v reflect.Value) error {
	return eachEmbedded(v, func(in any) error {
		if c, ok := in.(checked); ok {
			return c.check()
		}
		return nil
	})
}

func fillParams(r *http.Request, v reflect.Value) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalidField("query", "has invalid encoding")
	}
	_ = eachEmbedded(v, func(in any) error {
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
					faults = append(faults, FieldError{"path:" + name, paramRule(f.Type)})
				}
			}
			name := f.Tag.Get("query")
			texts, sent := query[name]
			if name == "" || !sent {
				continue
			}
			delete(query, name)
			if len(texts) > 1 {
				faults = append(faults, FieldError{"query:" + name, "duplicate parameter"})
			} else if !set(v.FieldByIndex(f.Index), texts[0]) {
				faults = append(faults, FieldError{"query:" + name, paramRule(f.Type)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(faults) < maxWrong {
			faults = append(faults, FieldError{"query:" + printable(name), "unknown parameter"})
		}
	}
	if len(faults) > 0 {
		return invalidFields(faults...)
	}
	return nil
}

// eachEmbedded calls f with a pointer to each embedded struct and then to the input itself. Go
// would not promote a method that two embedded structs have.
func eachEmbedded(v reflect.Value, f func(in any) error) error {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.Anonymous && t.IsExported() && t.Type.Kind() == reflect.Struct {
				if err := eachEmbedded(v.Field(i), f); err != nil {
					return err
				}
			}
		}
	}
	return f(v.Addr().Interface())
}

// set fills a field from text, and says whether the text is valid.
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
		panic("api: unsupported parameter type " + v.Type().String())
	}
	return true
}

// paramRule says which text a parameter accepts.
func paramRule(t reflect.Type) string {
	switch {
	case isText(t):
		return textRule(t)
	case t.Kind() == reflect.String:
		return "must be UTF-8 without NUL"
	}
	return typeRule(t)
}

// textRule says which text a type accepts that unmarshals itself.
func textRule(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Words]():
		return "must have 1 to 200 characters"
	case reflect.TypeFor[Moment]():
		return "must be a time or a day in RFC 3339 format, such as 2026-03-04"
	case reflect.TypeFor[Given]():
		return "must not be empty"
	case reflect.TypeFor[time.Time]():
		return "must be a time in RFC 3339 format"
	case reflect.TypeFor[percached.DocumentID](), reflect.TypeFor[percached.ChunkID]():
		return "must be an id of 32 hexadecimal digits"
	}
	return "must be one of the words that openapi.yaml names"
}

// printable makes a name sent by a client safe to send back.
func printable(name string) string { return pointer(strings.ToValidUTF8(name, "?")) }

// isSpaceName says whether s is a valid name of a space.
func isSpaceName(s string) bool {
	return isPlainName(s, 64) && s == strings.ToLower(s) && strings.Trim(s[:1], "._-") != ""
}

const spaceRule = "must have 1 to 64 characters of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit"

func (in *InSpace) check() error {
	if !isSpaceName(in.Space) {
		return invalidField("path:space", spaceRule)
	}
	return nil
}

func (in *NewSpace) check() error {
	if !isSpaceName(in.Name) {
		return invalidField("/name", spaceRule)
	}
	return nil
}

// limit checks the page size of a list.
func limit(n, most int) error {
	if n < 1 || n > most {
		return invalidField("query:limit", "must be 1 to %d", most)
	}
	return nil
}

func (in *Page) defaults()    { in.Limit = 100 }
func (in *Page) check() error { return limit(in.Limit, 1000) }

func (in *PassageSearch) defaults() { in.Limit = 10 }

func (in *PassageSearch) check() error {
	if in.Query == "" {
		return invalidField("query:q", "must not be empty")
	}
	return limit(in.Limit, 50)
}

func (in *EntrySearch) defaults() { in.Limit = 10 }

func (in *EntrySearch) check() error {
	if strings.TrimSpace(in.Query) == "" {
		return invalidField("query:q", "must not be empty")
	}
	return limit(in.Limit, 100)
}

func (in *LedgerQuery) check() error {
	if in.Space != "" && !isSpaceName(string(in.Space)) {
		return invalidField("query:space", spaceRule)
	}
	return nil
}

func (in *DrainRequest) defaults() { in.Jobs, in.Tokens = math.MaxInt, math.MaxInt }

func (in *DrainRequest) check() error {
	switch {
	case in.Space != "" && !isSpaceName(string(in.Space)):
		return invalidField("query:space", spaceRule)
	case in.Jobs < 1:
		return invalidField("query:jobs", "must be 1 or more")
	case in.Tokens < 1:
		return invalidField("query:tokens", "must be 1 or more")
	}
	return nil
}

func (in *Veto) check() error {
	if strings.TrimSpace(in.Asked) == "" {
		return invalidField("/asked", "must be the question that got the wrong answer")
	}
	return nil
}

func (in *CacheLimit) check() error {
	if in.Limit == nil || *in.Limit < 0 {
		return invalidField("/limit", "must be a number of bytes of at least 0")
	}
	return nil
}

func (in *Device) check() error {
	if in.Charging == nil && in.Battery == nil && in.Temperature == nil {
		return invalidField("", "must contain charging, battery or temperature")
	}
	if in.Battery != nil && (*in.Battery < 0 || *in.Battery > 1) {
		return invalidField("/battery", "must be 0 (empty) to 1 (full)")
	}
	return nil
}

func (in *Question) check() error {
	var faults []FieldError
	if strings.TrimSpace(in.Question) == "" {
		faults = append(faults, FieldError{"/question", "must not be empty"})
	}
	if t := in.Threshold; t != nil && (*t < 0 || *t > 1) {
		faults = append(faults, FieldError{"/threshold", "must be 0 to 1"})
	}
	if w := in.MaxWrong; w != nil && (*w < 0 || *w > 1) {
		faults = append(faults, FieldError{"/max_wrong", "must be 0 to 1"})
	}
	if in.MaxAge < 0 {
		faults = append(faults, FieldError{"/max_age_seconds", "must not be negative"})
	}
	if len(faults) > 0 {
		return invalidFields(faults...)
	}
	return nil
}
