package mised

import (
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object by the names of its fields, in small letters and without _.
type object struct {
	fields map[string]json.RawMessage
	names  map[string]string // as they are written
}

func objectOf(raw map[string]json.RawMessage) object {
	o := object{map[string]json.RawMessage{}, map[string]string{}}
	for name, value := range raw {
		o.fields[plain(name)], o.names[plain(name)] = value, name
	}
	return o
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// read takes a field into a value, and says whether it was there and fit. What was
// there counts as read.
func (o object) read(name string, to any) (there, fits bool) {
	raw, there := o.fields[plain(name)]
	delete(o.fields, plain(name))
	if !there || string(raw) == "null" {
		return false, false
	}
	return true, json.Unmarshal(raw, to) == nil
}

func (o object) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return o.fields[plain(name)] != nil })
}

// text gives the first of the fields that is a text with words.
func (o object) text(names ...string) (first string) {
	for _, name := range names {
		var s string
		if _, fits := o.read(name, &s); fits && first == "" {
			first = strings.TrimSpace(s)
		}
	}
	return first
}

// inner gives an object in a field, or one without fields.
func (o object) inner(name string) object {
	var raw map[string]json.RawMessage
	o.read(name, &raw)
	return objectOf(raw)
}

// list gives the objects in a list; there says whether the field is one. An item
// that is no object has no fields.
func (o object) list(name string) (items []object, there bool) {
	var raw []json.RawMessage
	if _, there = o.read(name, &raw); !there {
		return nil, false
	}
	for _, item := range raw {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(item, &fields) // what cannot be is without fields
		items = append(items, objectOf(fields))
	}
	return items, true
}

// rest counts what was not read.
func (o object) rest(passedOver map[string]int) {
	for name := range o.fields {
		passedOver[o.names[name]]++
	}
}
