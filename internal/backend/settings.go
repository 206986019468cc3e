package backend

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/idle"
)

// invalid is the fault of a request of which one field is wrong.
func invalid(field, detail string) error {
	return invalids(api.FieldErrors{{Field: field, Detail: detail}})
}

// invalids is the fault of a request with wrong fields; nil if there are none.
func invalids(fields api.FieldErrors) error {
	if len(fields) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "percached", "%w", fields)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// merged lays a merge patch (RFC 7396) over settings, and tells which it names.
func merged(set api.Settings, patch []byte) (api.Settings, []string, error) {
	m := merging{}
	b, err := json.Marshal(set) // what is merged must not change what is stored
	if err == nil {
		err = json.Unmarshal(b, &m.set)
	}
	if err != nil {
		return set, nil, err
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(patch, &parts) != nil || parts == nil {
		return set, nil, invalid("", "it must be a JSON object")
	}
	for _, key := range sortedKeys(parts) {
		m.lay(key, parts[key])
	}
	if p := m.set.Prompts; p != nil && *p == (api.Prompts{}) {
		m.set.Prompts = nil
	}
	return m.set, m.keys, invalids(m.wrong)
}

// merging is a merge under way.
type merging struct {
	set   api.Settings
	keys  []string
	wrong api.FieldErrors
}

// lay gives one setting its new value, or takes it back where that is null.
func (m *merging) lay(key string, value json.RawMessage) {
	to, ok := fieldNamed(reflect.ValueOf(&m.set).Elem(), key)
	switch {
	case !ok:
		m.fail(escaped(key), "there is no such setting")
	case key == "prompts":
		m.layPrompts(value)
	default:
		m.one(key, to, value)
	}
}

// layPrompts merges the prompts one by one.
func (m *merging) layPrompts(value json.RawMessage) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		m.fail("prompts", "it must be an object, or null")
		return
	}
	if parts == nil { // null
		m.set.Prompts, m.keys = nil, append(m.keys, "prompts")
		return
	}
	if m.set.Prompts == nil {
		m.set.Prompts = &api.Prompts{}
	}
	for _, name := range sortedKeys(parts) {
		if to, ok := fieldNamed(reflect.ValueOf(m.set.Prompts).Elem(), name); ok {
			m.one("prompts/"+name, to, parts[name])
		} else {
			m.fail("prompts/"+escaped(name), "there is no such prompt")
		}
	}
}

// one reads the value of a setting, to which to points.
func (m *merging) one(key string, to reflect.Value, value json.RawMessage) {
	into := reflect.New(to.Type())
	if json.Unmarshal(value, into.Interface()) != nil {
		m.fail(key, "it must be "+settingKind(to.Type().Elem()))
		return
	}
	to.Set(into.Elem())
	m.keys = append(m.keys, key)
}

func (m *merging) fail(key, detail string) {
	m.wrong = append(m.wrong, api.FieldError{Field: "/" + key, Detail: detail})
}

// fieldNamed finds the field that has this name in JSON, letter for letter.
func fieldNamed(v reflect.Value, name string) (reflect.Value, bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous && jsonName(f) == name {
			return v.FieldByIndex(f.Index), true
		}
	}
	return reflect.Value{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// escaped is a name as part of a JSON pointer.
func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// settingKind says what a setting may be.
func settingKind(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[percached.Order]():
		return "relevance or canonical"
	case reflect.TypeFor[percached.Placement]():
		return "sequential or parallel"
	case reflect.TypeFor[percached.Planes]():
		return "kv or qkv"
	case reflect.TypeFor[percached.Prediction]():
		return "off, answers or both"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a text"
}

// checkSettings says what is wrong with settings of a space. What one may be does
// not depend on the others, but for one text and chunks side by side.
func (b *Backend) checkSettings(set api.Settings, space, at string) (wrong api.FieldErrors) {
	from := reflect.ValueOf(set.Settings)
	for i := range from.NumField() {
		if from.Field(i).IsNil() {
			continue
		}
		var one percached.Settings
		reflect.ValueOf(&one).Elem().Field(i).Set(from.Field(i))
		_, err := answer.Default().With(one)
		if err == nil {
			_, err = idle.Default().With(one)
		}
		if err == nil {
			continue
		}
		t := from.Type().Field(i)
		detail := "it must be " + settingKind(t.Type.Elem()) // a word of the client's is not said again
		if t.Type.Elem().Kind() != reflect.String {
			detail = strings.TrimPrefix(cmdline.Sentence(err), "settings: "+jsonName(t)+": ")
		}
		wrong = append(wrong, api.FieldError{Field: at + jsonName(t), Detail: detail})
	}
	if _, err := answer.Default().With(percached.Settings{Whole: set.Whole, Placement: set.Placement}); err != nil && len(wrong) == 0 {
		wrong = append(wrong, api.FieldError{Field: at + "whole", Detail: strings.TrimPrefix(cmdline.Sentence(err), "settings: whole: ")})
	}
	return append(append(wrong, checkPrompts(set.Prompts, space, at+"prompts/")...), b.tooLong(set.Prompts, at+"prompts/")...)
}
