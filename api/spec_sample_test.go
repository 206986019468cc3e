package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// sample makes a value with everything that a schema describes: every field, and one element of
// each list and map.
func sample(t testing.TB, s *openapi3.Schema) any {
	t.Helper()
	properties, _ := members(s)
	switch {
	case len(s.OneOf) > 0:
		return sample(t, s.OneOf[0].Value)
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AllOf) == 1 && len(properties) == 0:
		return sample(t, s.AllOf[0].Value)
	case len(properties) > 0:
		object := map[string]any{}
		for name, p := range properties {
			object[name] = sample(t, p.Value)
		}
		return object
	case s.Type.Includes("object") && s.Type.Includes("null"):
		return nil // always
	case s.Type.Is("object"):
		if elem := s.AdditionalProperties.Schema; elem != nil {
			return map[string]any{"one": sample(t, elem.Value)}
		}
		return map[string]any{}
	case s.Type.Includes("array"):
		return []any{sample(t, s.Items.Value)}
	case s.Type.Includes("integer"):
		return 1.0 // as JSON has it
	case s.Type.Includes("number"):
		return 0.5
	case s.Type.Includes("boolean"):
		return true
	case s.Format == "date-time":
		return "2025-06-02T07:31:12.5Z"
	}
	for _, text := range []string{"mail", "0123456789abcdef0123456789abcdef", "2025-06-02"} {
		if s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(text) {
			return text
		}
	}
	t.Fatalf("no text fits %s", s.Pattern)
	return nil
}

// sampler fills Go values with samples of their schemas.
type sampler struct {
	doc     *openapi3.T
	schemas map[reflect.Type]string
}

func newSampler(t testing.TB) sampler {
	s := sampler{specification(t), map[reflect.Type]string{}}
	for _, w := range wires() {
		if !w.sent {
			s.schemas[w.typ] = w.schema
		}
	}
	return s
}

// fill sets the value that v points to.
func (s sampler) fill(t testing.TB, v any) {
	t.Helper()
	typ := reflect.TypeOf(v).Elem()
	name, ok := s.schemas[typ]
	if !ok {
		t.Fatalf("no schema is known for %v", typ)
	}
	text, err := json.Marshal(sample(t, s.doc.Components.Schemas[name].Value))
	if err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// empty removes all lists and maps from a value.
func empty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		v.SetZero()
	case reflect.Pointer:
		if !v.IsNil() {
			empty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				empty(v.Field(i))
			}
		}
	}
}

// backend returns samples for every operation, without lists if bare is set; with an error, it
// returns that.
func (s sampler) backend(t testing.TB, bare bool, err error) (b Backend) {
	fail := reflect.Zero(reflect.TypeFor[error]())
	if err != nil {
		fail = reflect.ValueOf(&err).Elem()
	}
	v := reflect.ValueOf(&b).Elem()
	for i := range v.NumField() {
		fn := v.Field(i).Type()
		v.Field(i).Set(reflect.MakeFunc(fn, func(in []reflect.Value) []reflect.Value {
			out := reflect.New(fn.Out(0))
			if out.Type() != reflect.TypeFor[*Nothing]() && out.Type() != reflect.TypeFor[*Embedded]() {
				s.fill(t, out.Interface())
			}
			if bare {
				empty(out.Elem())
			}
			return []reflect.Value{out.Elem(), fail}
		}))
	}
	b.Embed = func(_ context.Context, texts []string) (Embedded, error) {
		return Embedded{Model: "mail", Vectors: slices.Repeat([][]float32{{0.5}}, len(texts))}, err
	}
	b.Ask = func(_ context.Context, _ AskRequest, l Listener) (a Answer, _ error) {
		var st Stage
		var c Citation
		s.fill(t, &st)
		s.fill(t, &c)
		s.fill(t, &a)
		if bare {
			empty(reflect.ValueOf(&a).Elem())
		}
		if err == nil && l.Stage != nil {
			l.Stage(st)
		}
		if err == nil && l.Citation != nil {
			l.Citation(c)
		}
		if err == nil && l.Token != nil {
			l.Token(a.Answer)
		}
		return a, err
	}
	upload := b.Upload
	b.Upload = func(ctx context.Context, in Upload) (UploadStatus, error) {
		if err := in.Each(func(_ string, body io.Reader) error { _, err := io.Copy(io.Discard, body); return err }); err != nil {
			return UploadStatus{}, err
		}
		return upload(ctx, in)
	}
	b.Export = func(_ context.Context, in Export) (Nothing, error) {
		if err != nil {
			return Nothing{}, err
		}
		var e ExportedEntry
		s.fill(t, &e)
		if bare {
			empty(reflect.ValueOf(&e).Elem())
		}
		return Nothing{}, in.Each(e)
	}
	return b
}
