package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
)

// maxShown is the size up to which a schema is part of the prompt. A larger one only
// shapes the answer, as does one without descriptions: small models answer worse when they
// read it.
const maxShown = 4 << 10

// shape adds to a question what the client demands of the answer's form: the grammar, and
// words for the model behind the client's instructions. tools says whether the model can
// call tools.
func shape(q *answer.Question, in api.AskRequest, tools bool) error {
	if in.Format == nil && len(in.Tools)+len(in.Results) == 0 {
		return nil
	}
	if len(in.Tools) > 0 && !tools {
		return fault.New(fault.Unsupported, "backend: tools", "the chat template of the model has no tools")
	}
	form := grammar.Form{Text: in.Format == nil}
	parts := []string{in.Instructions}
	switch {
	case in.Format == nil:
	case in.Format.Schema == nil:
		form.Object, parts = true, append(parts, "Answer with a JSON object.")
	default:
		form.Schema = in.Format.Schema
		text := "Answer with JSON."
		if bytes.Contains(in.Format.Schema, []byte(`"description"`)) {
			text += shown(" Its JSON Schema: ", in.Format.Schema)
		}
		parts = append(parts, text)
	}
	if len(in.Tools) > 0 {
		text := `Instead of an answer you can call a tool: write {"tool": its name, "arguments": an object}. These are the tools:`
		if in.MustCall {
			form = grammar.Form{}
			text = `Call a tool: write {"tool": its name, "arguments": an object}. These are the tools:`
		}
		for _, t := range in.Tools {
			form.Calls = append(form.Calls, grammar.Call{Tool: t.Name, Arguments: t.Parameters})
			text += "\n" + strings.TrimSpace(t.Name+": "+t.Description) + shown(" Arguments: ", t.Parameters)
		}
		parts = append(parts, text)
	}
	for _, r := range in.Results {
		parts = append(parts, fmt.Sprintf("The tool %s returned for %s:\n%s", r.Tool, r.Arguments, r.Output))
	}
	q.Instructions = strings.TrimSpace(strings.Join(parts, "\n\n"))
	if len(in.Tools)+len(in.Results) > 0 {
		q.FollowsUp = true // the answer does not rest on the documents alone
	}
	if in.Format == nil && len(in.Tools) == 0 {
		return nil
	}
	var err error
	q.Grammar, err = form.Grammar()
	return err
}

// shown is a schema for the prompt, behind a text; empty if it is too large.
func shown(before string, schema json.RawMessage) string {
	var b bytes.Buffer
	if len(schema) == 0 || json.Compact(&b, schema) != nil || b.Len() > maxShown {
		return ""
	}
	return before + b.String()
}
