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

// handle makes a handler from a backend operation. The input is filled from the path, the
// query, and the body if the input has JSON fields; otherwise a body is refused.
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
		} else if err := noBody(r); err != nil { // a POST could have a body
			return err
		}
		if err := checkAll(v); err != nil {
			return err
		}
		exchangeOf(r.Context()).noteKeys(in)
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

// reply sends v as JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(withEmptyLists(v)); err != nil {
		return err
	}
	if own, ok := w.(*writer); ok {
		own.result = v
	}
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // net/http reports a disconnected client
	return nil
}

const eventsType = "text/event-stream"

// wantsEvents says whether the client prefers an event stream to JSON. JSON is the default.
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

// quality returns how much an Accept header prefers a type, 0 to 1. The most specific range
// counts: the type, then its class, then */*.
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

// withEmptyLists returns v with an empty list or map in place of each nil one, because
// openapi.yaml allows no null there. It copies what it changes; others may share v.
func withEmptyLists(v any) any {
	if in := reflect.ValueOf(v); v != nil && hasNilList(in) {
		return fillNilLists(in).Interface()
	}
	return v
}

// hasNilList says whether v contains a nil list or map that would be sent as null.
func hasNilList(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && hasNilList(v.Elem())
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8: // sent as text
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

// isWritten says whether a field with a nil list is sent.
func isWritten(v reflect.Value, i int) bool {
	f := v.Type().Field(i)
	return f.IsExported() && !(strings.Contains(f.Tag.Get("json"), ",omit") && v.Field(i).IsZero())
}

// fillNilLists returns a copy of v with empty lists and maps in place of nil ones.
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
