package llamacpp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/grammar"
)

// The built-in model writes what schemas demand, greedy and drawn.
func TestSchemas(t *testing.T) {
	c := Default()
	c.Model, c.Context, c.Threads = filepath.Join("..", "..", "models", "nano.gguf"), 1024, 1
	e, err := OpenEngine(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, schema := range []string{
		`{"type":"object","properties":{"who":{"type":"string","maxLength":12},"day":{"enum":["Monday","Friday"]},"sure":{"type":"boolean"}},
			"required":["who","day","sure"],"additionalProperties":false}`,
		`{"type":"array","items":{"type":"integer","minimum":3,"maximum":120},"minItems":2,"maxItems":5}`,
		`{"type":"object","properties":{"when":{"type":"string","format":"date-time"},"cost":{"type":"number","nullable":true}},"required":["when"]}`,
	} {
		var judge openapi3.Schema
		if err := json.Unmarshal([]byte(schema), &judge); err != nil {
			t.Fatal(err)
		}
		gbnf, err := grammar.FromSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(4) {
			res, err := e.Generate(t.Context(), percached.Prompt{
				Segments:  e.Info().Chat.Ask("Answer.", []string{"Anna pays 42 euros on Friday at 17:05 for 3 tickets."}, "Who pays, and when?"),
				MaxTokens: 300, Grammar: gbnf, Sampling: percached.Sampling{Temperature: float32(seed), Seed: seed},
			}, nil)
			var v any
			if err == nil {
				err = json.Unmarshal([]byte(res.Text), &v)
			}
			if err == nil {
				err = judge.VisitJSON(v, openapi3.EnableFormatValidation())
			}
			if err != nil || res.Finish != percached.FinishEnd {
				t.Errorf("%s, seed %d: %q (%s): %v", schema, seed, res.Text, res.Finish, err)
			}
		}
	}
}

// A template that has tools says that the model can call them, and a call has its form.
func TestTools(t *testing.T) {
	form := grammar.Form{Text: true, Calls: []grammar.Call{{Tool: "a"}, {Tool: "b", Arguments: []byte(`{"properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}`)}}}
	must := grammar.Form{Calls: form.Calls}
	for template, tools := range map[string]bool{templateChatML: false, templateQwen25 + "{# tools #}": true, "none": false} {
		e := open(t, gguf.RandomOptions{Shape: "tiny", Seed: 1, ChatTemplate: template}, nil)
		if chat := e.Info().Chat; chat.Tools != tools {
			t.Errorf("%.40s: tools %v", template, chat.Tools)
		}
		for _, f := range []grammar.Form{form, must} {
			gbnf, err := f.Grammar()
			if err != nil {
				t.Fatal(err)
			}
			res, err := e.Generate(t.Context(), percached.Prompt{Segments: e.Info().Chat.Ask("", nil, "Who?"), MaxTokens: 200, Grammar: gbnf}, nil)
			g, _ := grammar.Parse(gbnf)
			if err != nil || len(res.Text) == 0 || !g.Matcher().Allows([]byte(res.Text)) {
				t.Errorf("%q, %v", res.Text, err)
			}
		}
	}
}

// A call that was ended gives no answer, and the grammar of the next begins anew.
func TestGrammarAgain(t *testing.T) {
	e := open(t, tiny, nil)
	prompt := percached.Prompt{Segments: e.Info().Chat.Ask("", nil, "Who?"), MaxTokens: 8, Grammar: `root ::= "ab"`}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := e.Generate(ctx, prompt, func(string) error { cancel(); return nil }); err == nil {
		t.Error("a call that was ended gave an answer")
	}
	if res, err := e.Generate(t.Context(), prompt, nil); err != nil || res.Text != "ab" {
		t.Error(res.Text, err)
	}
}
