package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
)

// The grammar of a question allows what the client asked for, and the model is told.
func TestShape(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"day": {"enum":["Friday"]}},"required":["day"]}`)
	described := json.RawMessage(`{"type":"integer", "description":"How many."}`)
	tools := []api.Tool{{Name: "find", Description: "Finds days.", Parameters: schema}, {Name: "go"}}
	const friday, call, leave, text = `{"day":"Friday"}`, `{"tool":"find","arguments":{"day":"Friday"}}`, `{"tool": "go", "arguments": {"a":1}}`, "On {Friday}.\nSure."
	for name, c := range map[string]struct {
		in      api.AskRequest
		yes, no []string
		told    string
		banked  bool
	}{
		"text":        {in: api.AskRequest{Instructions: "Be short."}, told: "Be short.", banked: true},
		"any object":  {in: api.AskRequest{Format: &api.Format{}}, yes: []string{friday, ` {"a":{}}`}, no: []string{text, `[]`, `{}`}, told: "JSON object", banked: true},
		"a schema":    {in: api.AskRequest{Format: &api.Format{Schema: schema}, Instructions: "Be short."}, yes: []string{friday}, no: []string{`{}`, text}, told: "Answer with JSON.", banked: true},
		"described":   {in: api.AskRequest{Format: &api.Format{Schema: described}}, yes: []string{`1`}, no: []string{text}, told: `Schema: {"type":"integer",`, banked: true},
		"tools":       {in: api.AskRequest{Tools: tools}, yes: []string{text, call, leave}, no: []string{friday, `{"tool":"x","arguments":{}}`, " a"}, told: "find: Finds days. Arguments: {"},
		"must call":   {in: api.AskRequest{Tools: tools[:1], MustCall: true}, yes: []string{call}, no: []string{leave, text}, told: "Call a tool"},
		"call or not": {in: api.AskRequest{Tools: tools, Format: &api.Format{Schema: schema}}, yes: []string{friday, call, leave}, no: []string{text}, told: "JSON"},
		"results":     {in: api.AskRequest{Results: []api.ToolResult{{Tool: "find", Arguments: friday, Output: "17:05"}}}, told: "find returned for " + friday + ":\n17:05"},
	} {
		q := questionOf(c.in)
		if err := shape(&q, c.in, true); err != nil {
			t.Error(name, err)
			continue
		}
		if !strings.Contains(q.Instructions, c.told) || !strings.HasPrefix(q.Instructions, c.in.Instructions) || q.FollowsUp == c.banked {
			t.Errorf("%s: %+v", name, q)
		}
		if (q.Grammar == "") != (c.yes == nil) {
			t.Errorf("%s: the grammar is %q", name, q.Grammar)
		}
		for i, text := range append(c.yes, c.no...) {
			g, err := grammar.Parse(q.Grammar)
			if err != nil {
				t.Fatal(err)
			}
			if m := g.Matcher(); (m.Accept([]byte(text)) && m.MayEnd()) != (i < len(c.yes)) {
				t.Errorf("%s: %s is allowed: %v", name, text, i >= len(c.yes))
			}
		}
	}
	bad := json.RawMessage(`{"properties":{"a":{"pattern":"x"}}}`)
	for _, c := range []struct {
		in    api.AskRequest
		tools bool
		kind  fault.Kind
		want  string
	}{
		{api.AskRequest{Format: &api.Format{Schema: bad}}, true, fault.Invalid, "/properties/a/pattern"},
		{api.AskRequest{Tools: []api.Tool{{Name: "find", Parameters: bad}}}, true, fault.Invalid, "the tool find"},
		{api.AskRequest{Tools: tools}, false, fault.Unsupported, "no tools"},
	} {
		if err := shape(&answer.Question{}, c.in, c.tools); fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %v with %q, got %v", c.kind, c.want, err)
		}
	}
}
