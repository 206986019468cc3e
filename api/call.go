package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
)

// call makes a handler of something that the backend does. In is filled from the
// path, the query, and the body if it has fields for one; else a body is refused.
func call[In, Out any](status int, fn do[In, Out]) handler {
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
	if err := enc.Encode(whole(v)); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that is gone is seen by net/http
	return nil
}
