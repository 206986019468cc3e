package llmtest

import (
	"encoding/json"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
)

func grammarChecks() []check {
	return []check{
		{name: "grammar/obeyed", run: checkObeyed},
		{name: "grammar/refused", run: checkGrammarRefused},
	}
}

// A text of each ends within 24 tokens of a byte.
var grammars = []string{
	`root ::= "yes" | "no"`,
	`root ::= "{\"a\":" ("true" | "false" | [0-9]{1,3}) "}"`,
	`root ::= [a-z]{3} [é東] "."?`,
	`root ::= "[" (x ("," x){0,2})? "]"` + "\n" + `x ::= "\"" [^"\\\x00-\x1f]{0,4} "\""`,
}

// The answer is a text of the grammar, greedy and sampled. Cut by MaxTokens, it is the
// beginning of one. A grammar changes nothing for the answers behind it.
func checkObeyed(p *probe) {
	if p.info.NoGrammar != "" {
		p.unsupported()
		return
	}
	pr := p.talkative()
	free := p.generate(pr)
	for i, text := range grammars {
		g, err := grammar.Parse(text)
		p.must(err, "grammar %d", i)
		for seed := range uint64(4) {
			pr := clonePrompt(pr)
			pr.Grammar, pr.MaxTokens = text, 64
			pr.Drafting, pr.Drafts = true, []percached.Draft{{Source: percached.DraftStored, Text: free.Text}}
			pr.Sampling = percached.Sampling{Temperature: float32(seed), Seed: seed}
			out := p.generate(pr)
			if m := g.Matcher(); !m.Accept([]byte(out.Text)) || !m.MayEnd() || out.Finish != percached.FinishEnd {
				p.fatalf("grammar %d, seed %d: the answer is %q (%s)", i, seed, out.Text, out.Finish)
			}
			if json.Valid([]byte(out.Text)) != (i%2 == 1) {
				p.fatalf("grammar %d, seed %d: the answer is %q", i, seed, out.Text)
			}
			pr.MaxTokens = 1
			cut := p.generate(pr)
			if cut.Text != "" && !g.Matcher().Allows([]byte(strings.TrimSuffix(cut.Text, "\uFFFD"))) {
				p.fatalf("grammar %d, seed %d: one token of the answer is %q", i, seed, cut.Text)
			}
		}
	}
	p.same("behind a grammar", free.Result, p.generate(pr).Result)
}

// unsupported holds that an engine that cannot hold answers to a grammar says so.
func (p *probe) unsupported() {
	pr := p.talkative()
	pr.Grammar = grammars[0]
	if _, err := p.e.Generate(p.context(), pr, nil); fault.KindOf(err) != fault.Unsupported {
		p.fatalf("a grammar: %v, want unsupported", err)
	}
}

// A wrong grammar is Invalid, and does no harm.
func checkGrammarRefused(p *probe) {
	if p.info.NoGrammar != "" {
		return
	}
	pr := p.talkative()
	free := p.generate(pr)
	for _, text := range []string{
		"root", `root ::= "a`, `root ::= x`, `root ::= root`, `x ::= "a"`, `root ::= ((("a"{9999}){9999}){9999}){9999}`,
		`root ::= ` + strings.Repeat("(", 100_000),
	} {
		wrong := clonePrompt(pr)
		wrong.Grammar = text
		began := false
		out, err := p.e.Generate(p.context(), wrong, func(string) error { began = true; return nil })
		if fault.KindOf(err) != fault.Invalid || began {
			p.fatalf("the grammar %.40q gave %q and %v, want an invalid prompt", text, out.Text, err)
		}
	}
	p.same("behind a wrong grammar", free.Result, p.generate(pr).Result)
}
