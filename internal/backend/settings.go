package backend

import (
	"encoding/json"
	"fmt"
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
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/predictor"
)

// invalid is the error of a request with one wrong field.
func invalid(field, detail string) error {
	return invalidFields(api.FieldErrors{{Field: field, Detail: detail}})
}

// invalidFields is the error of a request with wrong fields, or nil if there are none.
func invalidFields(fields api.FieldErrors) error {
	if len(fields) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "percached", "%w", fields)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// applyMergePatch applies a merge patch (RFC 7396) to settings, and returns its keys.
func applyMergePatch(set api.Settings, patch []byte) (api.Settings, []string, error) {
	m := patchRun{}
	b, err := json.Marshal(set) // copy, so that the stored settings do not change
	if err == nil {
		err = json.Unmarshal(b, &m.set)
	}
	if err != nil {
		return set, nil, err
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(patch, &parts) != nil || parts == nil {
		return set, nil, invalid("", "must be a JSON object")
	}
	for _, key := range sortedKeys(parts) {
		m.apply(key, parts[key])
	}
	if p := m.set.Prompts; p != nil && *p == (api.Prompts{}) {
		m.set.Prompts = nil
	}
	return m.set, m.keys, invalidFields(m.wrong)
}

// patchRun applies one merge patch.
type patchRun struct {
	set   api.Settings
	keys  []string
	wrong api.FieldErrors
}

// apply sets one setting, or removes it if the value is null.
func (m *patchRun) apply(key string, value json.RawMessage) {
	to, ok := fieldNamed(reflect.ValueOf(&m.set).Elem(), key)
	switch {
	case !ok:
		m.fail(pointerToken(key), "there is no such setting")
	case key == "prompts":
		m.setPrompts(value)
	default:
		m.setField(key, to, value)
	}
}

// setPrompts merges the prompts one by one.
func (m *patchRun) setPrompts(value json.RawMessage) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		m.fail("prompts", "must be an object or null")
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
			m.setField("prompts/"+name, to, parts[name])
		} else {
			m.fail("prompts/"+pointerToken(name), "there is no such prompt")
		}
	}
}

// setField parses the value of a setting into its field.
func (m *patchRun) setField(key string, to reflect.Value, value json.RawMessage) {
	into := reflect.New(to.Type())
	if json.Unmarshal(value, into.Interface()) != nil {
		m.fail(key, "must be "+settingKind(to.Type().Elem()))
		return
	}
	to.Set(into.Elem())
	m.keys = append(m.keys, key)
}

func (m *patchRun) fail(key, detail string) {
	m.wrong = append(m.wrong, api.FieldError{Field: "/" + key, Detail: detail})
}

// fieldNamed finds the field with this exact name in JSON.
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

// pointerToken escapes a name as a token of a JSON pointer.
func pointerToken(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// settingKind describes the values of a setting.
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

// checkSettings returns the errors in settings of a space. It checks each setting alone,
// and then whole together with placement.
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
		detail := "must be " + settingKind(t.Type.Elem()) // without the client's text
		if t.Type.Elem().Kind() != reflect.String {
			detail = strings.TrimPrefix(cmdline.Sentence(err), "settings: "+jsonName(t)+": ")
		}
		wrong = append(wrong, api.FieldError{Field: at + jsonName(t), Detail: detail})
	}
	if to := set.MovedTo; to != nil {
		if detail := checkMovedTo(*to); detail != "" {
			wrong = append(wrong, api.FieldError{Field: at + "moved_to", Detail: detail})
		}
	}
	if from := set.CopyOf; from != nil {
		if detail := checkMovedTo(*from); detail != "" {
			wrong = append(wrong, api.FieldError{Field: at + "copy_of", Detail: detail})
		}
	}
	if _, err := answer.Default().With(percached.Settings{Whole: set.Whole, Placement: set.Placement}); err != nil && len(wrong) == 0 {
		wrong = append(wrong, api.FieldError{Field: at + "whole", Detail: strings.TrimPrefix(cmdline.Sentence(err), "settings: whole: ")})
	}
	return append(append(wrong, checkPrompts(set.Prompts, space, at+"prompts/")...), b.checkInstructions(set.Prompts, at+"prompts/")...)
}

// maxPrompt is the maximum size of a prompt in bytes, without the texts in its slots.
const maxPrompt = 32 << 10

// deref returns the value, or the zero value for nil.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// overridePrompts returns the prompts of below, overridden by those of above.
func overridePrompts(below, above *api.Prompts) api.Prompts {
	out, own := deref(below), deref(above)
	to := node.PromptFields((*node.Prompts)(&out))
	for i, one := range node.PromptFields((*node.Prompts)(&own)) {
		if *one.Text != nil {
			*to[i].Text = *one.Text
		}
	}
	return out
}

// changedPrompts returns the prompts of after that differ from before. A request is not
// blamed for prompts that were in the data folder already.
func changedPrompts(before, after *api.Prompts) *api.Prompts {
	was, out := deref(before), deref(after)
	old := node.PromptFields((*node.Prompts)(&was))
	for i, one := range node.PromptFields((*node.Prompts)(&out)) {
		if have := *old[i].Text; have != nil && *one.Text != nil && **one.Text == *have {
			*one.Text = nil
		}
	}
	return &out
}

// checkPrompts returns the errors in prompts of a space.
func checkPrompts(p *api.Prompts, space, at string) (wrong api.FieldErrors) {
	if p == nil {
		return nil
	}
	for _, one := range node.PromptFields((*node.Prompts)(p)) {
		if *one.Text == nil {
			continue
		}
		text, slot := **one.Text, predictor.Slot(one.Name)
		bad := func(format string, args ...any) {
			wrong = append(wrong, api.FieldError{Field: at + one.Name, Detail: fmt.Sprintf(format, args...)})
		}
		switch {
		case node.IsPromptFile(space):
			bad("a space of this name cannot have its own prompts")
		case len(text) > maxPrompt:
			bad("has %d bytes; the maximum is %d", len(text), maxPrompt)
		case !strings.Contains(text, slot):
			bad("must contain %s", slot)
		}
	}
	return wrong
}

// checkInstructions refuses instructions that leave documents no space in the context.
func (b *Backend) checkInstructions(p *api.Prompts, at string) (wrong api.FieldErrors) {
	if p == nil || p.Instructions == nil || b.Engine == nil || len(*p.Instructions) > maxPrompt {
		return nil
	}
	info := b.Engine.Info()
	tokens, err := b.Engine.Tokenize(info.Chat.Ask(*p.Instructions, nil, ""))
	if err != nil || len(tokens[0]) <= info.Context/2 { // questions will report an error
		return nil
	}
	return api.FieldErrors{{
		Field: at + "instructions", Detail: fmt.Sprintf("has %d tokens; the maximum is half of the model's context of %d", len(tokens[0]), info.Context),
	}}
}
