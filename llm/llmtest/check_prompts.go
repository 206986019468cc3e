package llmtest

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

func promptChecks() []check {
	return []check{
		{name: "prompt/invalid", run: checkInvalid},
		{name: "prompt/prefill", run: checkPrefillAllows},
		{name: "prompt/too long", run: checkTooLong},
	}
}

// badPrompts are prompts that no engine runs, each wrong in its own way; the
// generate ones are right for Prefill.
func (p *probe) badPrompts() map[string]func(*percached.Prompt) {
	last := func(pr *percached.Prompt) *percached.Segment { return &pr.Segments[len(pr.Segments)-1] }
	bad := map[string]func(*percached.Prompt){
		"no segments":           func(pr *percached.Prompt) { pr.Segments = nil },
		"instructions later":    func(pr *percached.Prompt) { pr.Segments[2].Kind = percached.KindSystem },
		"question in the midst": func(pr *percached.Prompt) { pr.Segments[3].Kind = percached.KindQuestion },
		"a turn behind a chunk": func(pr *percached.Prompt) { pr.Segments[2].Kind = percached.KindTurn },
		"unknown kind":          func(pr *percached.Prompt) { pr.Segments[1].Kind = 9 },
		"unknown placement":     func(pr *percached.Prompt) { pr.Placement = 9 },
		"unknown priority":      func(pr *percached.Prompt) { pr.Priority = 9 },
		"unknown planes":        func(pr *percached.Prompt) { pr.Planes = 9 },
		"negative MaxTokens":    func(pr *percached.Prompt) { pr.MaxTokens = -1 },
		"token too high":        func(pr *percached.Prompt) { pr.Segments[2].Tokens = []int32{int32(p.info.Vocabulary)} },
		"token below zero":      func(pr *percached.Prompt) { last(pr).Tokens = []int32{-1} },
		"too long": func(pr *percached.Prompt) {
			last(pr).Tokens = p.repeat(p.info.Context + 1)
		},
		"a chunk twice": func(pr *percached.Prompt) {
			pr.Placement = percached.Parallel
			pr.Segments[3].Texts = pr.Segments[1].Texts
		},
	}
	if len(p.placements()) == 1 { // such an engine may say Unsupported to all
		delete(bad, "a chunk twice")
	}
	return bad
}

func (p *probe) badQuestions() map[string]func(*percached.Prompt) {
	last := func(pr *percached.Prompt) *percached.Segment { return &pr.Segments[len(pr.Segments)-1] }
	return map[string]func(*percached.Prompt){
		"no question":       func(pr *percached.Prompt) { pr.Segments = pr.Segments[:4] },
		"empty question":    func(pr *percached.Prompt) { last(pr).Texts = nil },
		"captured question": func(pr *percached.Prompt) { last(pr).Capture = true },
		"stored question": func(pr *percached.Prompt) {
			last(pr).Slice = &percached.Slice{Model: p.info.Fingerprint, Tokens: p.tokens(pr.Segments)[4]}
		},
		"no room for an answer": func(pr *percached.Prompt) { pr.MaxTokens = 0 },
	}
}

// A bad prompt is Invalid, each kind with words of its own, and does no harm.
func checkInvalid(p *probe) {
	said := map[string]string{}
	refused := func(name string, err error) {
		if fault.KindOf(err) != fault.Invalid {
			p.fatalf("%s: %v (%v), want an invalid prompt", name, err, fault.KindOf(err))
		}
		for other, text := range said {
			if text == err.Error() && other != name {
				p.fatalf("%s and %s are told the same: %s", name, other, text)
			}
		}
		said[name] = err.Error()
	}
	pr := p.ask(percached.Sequential)
	cold := p.generate(pr)
	for _, onlyGenerate := range []bool{false, true} {
		bad := p.badPrompts()
		if onlyGenerate {
			bad = p.badQuestions()
		}
		for name, spoil := range bad {
			wrong := clonePrompt(pr)
			spoil(&wrong)
			_, err := p.e.Generate(p.context(), wrong, nil)
			refused(name, err)
			if !onlyGenerate {
				_, err = p.e.Prefill(p.context(), wrong)
				if fault.KindOf(err) != fault.Invalid {
					p.fatalf("%s: Prefill says %v, want an invalid prompt", name, err)
				}
			}
		}
	}
	p.same("after bad prompts", cold.Result, p.generate(pr).Result)
}

// Prefill needs no question, no room, and no last segment that is computed.
func checkPrefillAllows(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		pr.MaxTokens, pr.Logits = 0, false
		pr.Segments = pr.Segments[:4]
		cold := p.prefill(pr)
		if p.info.NoSlices == "" {
			p.prefill(stored(pr, cold.Slices, 15))
		}
	}
}

// A prompt that just fits the context runs; one token more is refused: what is left out
// of a prompt is for its maker to choose.
func checkTooLong(p *probe) {
	for _, placement := range p.placements() {
		fits := p.long(p.ask(placement), 2, 0)
		cold := p.generate(fits)
		over := p.long(p.ask(placement), 2, 1)
		if _, err := p.e.Generate(p.context(), over, nil); fault.KindOf(err) != fault.Invalid {
			p.fatalf("one token too many: %v, want an invalid prompt", err)
		}
		if _, err := p.e.Prefill(p.context(), withoutLogits(over)); fault.KindOf(err) != fault.Invalid {
			p.fatalf("Prefill of one token too many: %v, want an invalid prompt", err)
		}
		p.same("after one token too many", cold.Result, p.generate(fits).Result)
	}
}

// long is the prompt with the chunk at i stretched until the prompt and its
// answer exceed the context by so many tokens.
func (p *probe) long(pr percached.Prompt, i, by int) percached.Prompt {
	pr = p.fixed(pr)
	n := p.info.Context - pr.MaxTokens + by
	for j, s := range pr.Segments {
		if j != i {
			n -= len(s.Tokens)
		}
	}
	pr.Segments[i].Tokens = p.repeat(n)
	return pr
}

func withoutLogits(pr percached.Prompt) percached.Prompt {
	pr.Logits = false
	return pr
}
