package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/predictor"
)

// maxPrompt is how many bytes a prompt may have. What stands in its slots is much
// longer.
const maxPrompt = 32 << 10

// prompts are the files of one space's own prompts. Those of all spaces lie in the
// folder above.
type prompts struct {
	dir   string
	plain bool // the space's name can be that of a folder
}

// promptName is what the name of a space is like that is a folder's.
var promptName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

func (s *service) prompts(space string) prompts {
	return prompts{s.home.Path("prompts", filepath.Base(space)), promptName.MatchString(space) && !isPromptFile(space)}
}

// isPromptFile: a space of this name would have its folder where a prompt of all
// spaces lies.
func isPromptFile(space string) bool {
	name, ok := strings.CutSuffix(space, ".txt")
	return ok && slices.ContainsFunc(promptsOf(&api.Prompts{}), func(p onePrompt) bool { return p.name == name })
}

// onePrompt is a prompt by its name.
type onePrompt struct {
	name string
	text **string
}

// promptsOf gives the fields of p by name.
func promptsOf(p *api.Prompts) []onePrompt {
	return []onePrompt{{"instructions", &p.Instructions}, {"abstract", &p.Abstract}, {"knowledge", &p.Knowledge}, {"history", &p.History}}
}

// orNone is a value, or the zero one where there is none.
func orNone[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// laidOver are prompts where there are none above them.
func laidOver(below, above *api.Prompts) api.Prompts {
	out, over := orNone(below), orNone(above)
	to := promptsOf(&out)
	for i, one := range promptsOf(&over) {
		if *one.text != nil {
			*to[i].text = *one.text
		}
	}
	return out
}

// differing are the prompts of after that before has not: what the owner of the
// data folder put there is nobody else's fault.
func differing(before, after *api.Prompts) *api.Prompts {
	was, out := orNone(before), orNone(after)
	old := promptsOf(&was)
	for i, one := range promptsOf(&out) {
		if have := *old[i].text; have != nil && *one.text != nil && **one.text == *have {
			*one.text = nil
		}
	}
	return &out
}

// checkPrompts says what is wrong with prompts of a space.
func checkPrompts(p *api.Prompts, space, at string) (wrong api.FieldErrors) {
	if p == nil {
		return nil
	}
	for _, one := range promptsOf(p) {
		if *one.text == nil {
			continue
		}
		text, slot := **one.text, predictor.Slot(one.name)
		bad := func(format string, args ...any) {
			wrong = append(wrong, api.FieldError{Field: at + one.name, Detail: fmt.Sprintf(format, args...)})
		}
		switch {
		case isPromptFile(space):
			bad("a space of this name can have no prompts of its own")
		case len(text) > maxPrompt:
			bad("it has %d bytes, it may have %d", len(text), maxPrompt)
		case !strings.Contains(text, slot):
			bad("%s must stand in it", slot)
		}
	}
	return wrong
}

// tooLong says that instructions leave documents no room in the model's context.
func (s *service) tooLong(p *api.Prompts, at string) (wrong api.FieldErrors) {
	if p == nil || p.Instructions == nil || s.engine == nil || len(*p.Instructions) > maxPrompt {
		return nil
	}
	info := s.engine.Info()
	tokens, err := s.engine.Tokenize(info.Chat.Ask(*p.Instructions, nil, ""))
	if err != nil || len(tokens[0]) <= info.Context/2 { // who asks will hear of an error
		return nil
	}
	return api.FieldErrors{{
		Field: at + "instructions", Detail: fmt.Sprintf("it has %d tokens, it may have half of the model's %d", len(tokens[0]), info.Context),
	}}
}

// read gives the space's own prompts; nil if it has none.
func (f prompts) read() (*api.Prompts, error) {
	var p api.Prompts
	if !f.plain {
		return nil, nil
	}
	for _, one := range promptsOf(&p) {
		b, err := os.ReadFile(f.path(one.name))
		switch {
		case err == nil:
			text := strings.ToValidUTF8(string(b), "\uFFFD")
			*one.text = &text
		case !errors.Is(err, fs.ErrNotExist):
			return nil, f.fault(err)
		}
	}
	if p == (api.Prompts{}) {
		return nil, nil
	}
	return &p, nil
}

// write makes these the space's own prompts, each whole or not at all. It leaves
// alone what is as it should be.
func (f prompts) write(p api.Prompts) error {
	was, err := f.read()
	if err != nil {
		return err
	}
	before := orNone(was)
	old := promptsOf(&before)
	for i, one := range promptsOf(&p) {
		have, want := *old[i].text, *one.text
		switch {
		case have == nil && want == nil, have != nil && want != nil && *have == *want:
		case !f.plain:
			return fault.New(fault.Unsupported, "percached: prompts", "a space of this name can have no prompts of its own")
		case want == nil:
			if err = os.Remove(f.path(one.name)); err == nil {
				err = durable.Folder(f.dir)
			}
		default:
			err = f.put(one.name, *want)
		}
		if err != nil {
			return f.fault(err)
		}
	}
	return nil
}

// put writes a prompt, in a folder that it makes.
func (f prompts) put(name, text string) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if err := durable.Write(f.path(name), []byte(text)); err != nil {
		return err
	}
	all := filepath.Dir(f.dir) // the folders may be new, too
	return errors.Join(durable.Folder(all), durable.Folder(filepath.Dir(all)))
}

// remove removes all prompts of the space.
func (f prompts) remove() error {
	if !f.plain {
		return nil
	}
	err := os.RemoveAll(f.dir)
	if err == nil {
		err = durable.Folder(filepath.Dir(f.dir))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no space ever had prompts
		return f.fault(err)
	}
	return nil
}

func (f prompts) path(name string) string { return filepath.Join(f.dir, name+".txt") }

func (f prompts) fault(err error) error {
	return fault.New(fault.Unavailable, "percached: prompts", "%w", err)
}
