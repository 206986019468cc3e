package backend

import (
	"fmt"
	"strings"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached/api"
	"github.com/percached/percached/predictor"
)

// maxPrompt is how many bytes a prompt may have. What stands in its slots is much
// longer.
const maxPrompt = 32 << 10

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
	to := node.PromptsByName((*node.Prompts)(&out))
	for i, one := range node.PromptsByName((*node.Prompts)(&over)) {
		if *one.Text != nil {
			*to[i].Text = *one.Text
		}
	}
	return out
}

// differing are the prompts of after that before has not: what the owner of the
// data folder put there is nobody else's fault.
func differing(before, after *api.Prompts) *api.Prompts {
	was, out := orNone(before), orNone(after)
	old := node.PromptsByName((*node.Prompts)(&was))
	for i, one := range node.PromptsByName((*node.Prompts)(&out)) {
		if have := *old[i].Text; have != nil && *one.Text != nil && **one.Text == *have {
			*one.Text = nil
		}
	}
	return &out
}

// checkPrompts says what is wrong with prompts of a space.
func checkPrompts(p *api.Prompts, space, at string) (wrong api.FieldErrors) {
	if p == nil {
		return nil
	}
	for _, one := range node.PromptsByName((*node.Prompts)(p)) {
		if *one.Text == nil {
			continue
		}
		text, slot := **one.Text, predictor.Slot(one.Name)
		bad := func(format string, args ...any) {
			wrong = append(wrong, api.FieldError{Field: at + one.Name, Detail: fmt.Sprintf(format, args...)})
		}
		switch {
		case node.IsPromptFile(space):
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
func (b *Backend) tooLong(p *api.Prompts, at string) (wrong api.FieldErrors) {
	if p == nil || p.Instructions == nil || b.Engine == nil || len(*p.Instructions) > maxPrompt {
		return nil
	}
	info := b.Engine.Info()
	tokens, err := b.Engine.Tokenize(info.Chat.Ask(*p.Instructions, nil, ""))
	if err != nil || len(tokens[0]) <= info.Context/2 { // who asks will hear of an error
		return nil
	}
	return api.FieldErrors{{
		Field: at + "instructions", Detail: fmt.Sprintf("it has %d tokens, it may have half of the model's %d", len(tokens[0]), info.Context),
	}}
}
