package api

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// call makes a handler of something that the backend does. In is filled from the
// path, the query, and the body if it has fields for one; else a body is refused.
func handle[In, Out any](status int, fn backendCall[In, Out]) handler {
	t := reflect.TypeFor[In]()
	takesBody := t.Kind() == reflect.Map || len(jsonFields(t)) > 0
	return func(w http.ResponseWriter, r *http.Request) error {
		var in In
		v := reflect.ValueOf(&in).Elem()
		if err := fillParams(r, v); err != nil {
			return err
		}
		if takesBody {
			if err := decodeInto(r, &in, true); err != nil {
				return err
			}
		} else if err := noBody(r); err != nil { // a POST may have one
			return err
		}
		if err := checkAll(v); err != nil {
			return err
		}
		out, err := fn(r.Context(), in)
		if err != nil {
			return err
		}
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return nil
		}
		return reply(w, status, out)
	}
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(withEmptyLists(v)); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that is gone is seen by net/http
	return nil
}

const eventsType = "text/event-stream"

// wantsEvents says whether the client would rather have a stream of events than
// JSON. Who does not say gets JSON.
func wantsEvents(r *http.Request) (bool, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return false, nil
	}
	whole, events := quality(accept, jsonType), quality(accept, eventsType)
	if whole == 0 && events == 0 {
		return false, refuse(problemNotAcceptable, "")
	}
	return events > whole, nil
}

// quality is how much an Accept header wants a type, 0 to 1. The range that fits
// best counts: the type, then its class, then all.
func quality(accept, kind string) float64 {
	class, _, _ := strings.Cut(kind, "/")
	best, at := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		got, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		fit := 0
		switch got {
		case kind:
			fit = 3
		case class + "/*":
			fit = 2
		case "*/*":
			fit = 1
		}
		q := 1.0
		if s, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil || !(0 <= q && q <= 1) {
				continue
			}
		}
		if fit > at || fit == at && fit > 0 && q > best {
			best, at = q, fit
		}
	}
	return best
}

// whole is a value with an empty list for each that is nil, and so for maps: on
// the wire there is no null where openapi.yaml has a list. The value itself is left
// as it is, for others may hold it, too.
func withEmptyLists(v any) any {
	if in := reflect.ValueOf(v); v != nil && hasNilList(in) {
		return fillNilLists(in).Interface()
	}
	return v
}

// lacks says whether a list or a map is nil that does not stay away for that.
func hasNilList(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && hasNilList(v.Elem())
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8: // bytes are text
			return false
		case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				if hasNilList(v.Index(i)) {
					return true
				}
			}
		}
		return v.IsNil()
	case reflect.Map:
		for _, elem := range v.Seq2() {
			if hasNilList(elem) {
				return true
			}
		}
		return v.IsNil()
	case reflect.Struct:
		for i := range v.NumField() {
			if hasNilList(v.Field(i)) && isWritten(v, i) {
				return true
			}
		}
	}
	return false
}

// onWire says whether a field that lacks something is written.
func isWritten(v reflect.Value, i int) bool {
	f := v.Type().Field(i)
	return f.IsExported() && !(strings.Contains(f.Tag.Get("json"), ",omit") && v.Field(i).IsZero())
}

// filled is a copy of a value that lacks something.
func fillNilLists(v reflect.Value) reflect.Value {
	if !hasNilList(v) {
		return v
	}
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		out := reflect.New(t.Elem())
		out.Elem().Set(fillNilLists(v.Elem()))
		return out
	case reflect.Slice:
		out := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(fillNilLists(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := reflect.MakeMapWithSize(t, v.Len())
		for key, elem := range v.Seq2() {
			out.SetMapIndex(key, fillNilLists(elem))
		}
		return out
	}
	out := reflect.New(t).Elem()
	out.Set(v)
	for i := range t.NumField() {
		if hasNilList(v.Field(i)) && isWritten(v, i) {
			out.Field(i).Set(fillNilLists(v.Field(i)))
		}
	}
	return out
}
