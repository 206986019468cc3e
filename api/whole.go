package api

import (
	"reflect"
	"strings"
)

// whole is a value with an empty list for each that is nil, and so for maps: on
// the wire there is no null where openapi.yaml has a list. The value itself is left
// as it is, for others may hold it, too.
func whole(v any) any {
	if in := reflect.ValueOf(v); v != nil && lacks(in) {
		return filled(in).Interface()
	}
	return v
}

// lacks says whether a list or a map is nil that does not stay away for that.
func lacks(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && lacks(v.Elem())
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8: // bytes are text
			return false
		case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				if lacks(v.Index(i)) {
					return true
				}
			}
		}
		return v.IsNil()
	case reflect.Map:
		for _, elem := range v.Seq2() {
			if lacks(elem) {
				return true
			}
		}
		return v.IsNil()
	case reflect.Struct:
		for i := range v.NumField() {
			if lacks(v.Field(i)) && onWire(v, i) {
				return true
			}
		}
	}
	return false
}

// onWire says whether a field that lacks something is written.
func onWire(v reflect.Value, i int) bool {
	f := v.Type().Field(i)
	return f.IsExported() && !(strings.Contains(f.Tag.Get("json"), ",omit") && v.Field(i).IsZero())
}

// filled is a copy of a value that lacks something.
func filled(v reflect.Value) reflect.Value {
	if !lacks(v) {
		return v
	}
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		out := reflect.New(t.Elem())
		out.Elem().Set(filled(v.Elem()))
		return out
	case reflect.Slice:
		out := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(filled(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := reflect.MakeMapWithSize(t, v.Len())
		for key, elem := range v.Seq2() {
			out.SetMapIndex(key, filled(elem))
		}
		return out
	}
	out := reflect.New(t).Elem()
	out.Set(v)
	for i := range t.NumField() {
		if lacks(v.Field(i)) && onWire(v, i) {
			out.Field(i).Set(filled(v.Field(i)))
		}
	}
	return out
}
