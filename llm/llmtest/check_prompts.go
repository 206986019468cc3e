package llmtest

import (
	"fmt"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

func promptChecks() []check {
	return []check{{name: "prompt/invalid", run: checkInvalid}, {name: "prompt/prefill", run: checkPrefillAllows}}
}

// badPrompts are prompts that no engine runs, each wrong in its own way; the
// generate ones are right for Prefill.
func (p *probe) badPrompts() map[string]func(*percached.Prompt) {
	last := func(pr *percached.Prompt) *percached.Segment { return &pr.Segments[len(pr.Segments)-1] }
	return map[string]func(*percached.Prompt){
		"no segments":           func(pr *percached.Prompt) { pr.Segments = nil },
		"instructions later":    func(pr *percached.Prompt) { pr.Segments[2].Kind = percached.KindSystem },
		"question in the midst": func(pr *percached.Prompt) { pr.Segments[3].Kind = percached.KindQuestion },
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

func dropChecks() []check {
	return []check{
		{name: "drop/not needed", run: checkFits},
		{name: "drop/worst", run: checkDrop},
		{name: "drop/several", run: checkDropSeveral},
		{name: "drop/stored", needSlices: true, run: checkDropStored},
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

func without(pr percached.Prompt, gone ...int) percached.Prompt {
	pr = clonePrompt(pr)
	slices.Sort(gone)
	for _, i := range slices.Backward(gone) {
		pr.Segments = slices.Delete(pr.Segments, i, i+1)
	}
	return pr
}

func (p *probe) dropped(what string, res percached.Result, want ...int) {
	if !slices.Equal(res.Dropped, want) && len(res.Dropped)+len(want) > 0 {
		p.fatalf("%s: segments %v were dropped, want %v", what, res.Dropped, want)
	}
}

// A prompt that just fits keeps all its chunks.
func checkFits(p *probe) {
	for _, placement := range p.placements() {
		p.dropped("a prompt that just fits", p.generate(p.long(p.ask(placement), 2, 0)).Result)
	}
}

// The chunk of the highest rank is left out, wherever it stands; of equal
// ranks the last; and the rest is as if it had never been there.
func checkDrop(p *probe) {
	for _, placement := range p.placements() {
		for _, c := range []struct {
			ranks [3]int
			gone  int
		}{{[3]int{0, 2, 1}, 2}, {[3]int{5, 2, 1}, 1}, {[3]int{0, 1, 2}, 3}, {[3]int{3, 3, 1}, 2}} {
			what := fmt.Sprintf("placement %d, ranks %v", placement, c.ranks)
			pr := p.long(p.ask(placement), c.gone, 1)
			for i, r := range c.ranks {
				pr.Segments[1+i].Rank = r
			}
			got, want := p.generate(pr), p.generate(without(pr, c.gone))
			p.dropped(what, got.Result, c.gone)
			p.same(what, want.Result, got.Result)
			p.sameSlices(what, slices.Insert(want.Slices, c.gone, nil), got.Slices)
			p.dropped(what+", prefill", p.prefill(withoutLogits(pr)), c.gone)
		}
	}
}

func withoutLogits(pr percached.Prompt) percached.Prompt {
	pr.Logits = false
	return pr
}

func checkDropSeveral(p *probe) {
	for _, placement := range p.placements() {
		pr := p.long(p.ask(placement), 2, 1)
		for i, r := range []int{4, 0, 3} { // the long one is the best, and the last to go
			pr.Segments[1+i].Rank = r
		}
		pr.Segments[2].Tokens = append(pr.Segments[2].Tokens, p.repeat(p.info.Context)...)
		got := p.generate(pr)
		p.dropped("a chunk longer than the context", got.Result, 1, 2, 3)
		p.same("without any chunk", p.generate(without(pr, 1, 2, 3)).Result, got.Result)
	}
}

// Slices behind a dropped chunk are left unused where their path has changed,
// used where it has not, and nothing is refused.
func checkDropStored(p *probe) {
	for _, placement := range p.placements() {
		pr := p.long(p.ask(placement), 2, 1)
		pr.Segments[2].Rank = 9
		want := p.generate(without(pr, 2))
		slicesOf := slices.Insert(want.Slices, 2, nil)
		if placement == percached.Sequential {
			tokens := p.tokens(pr.Segments)
			at := layout(pr, tokens, nil)[3] // behind the chunk that will be dropped
			slicesOf[3] = cloneSlice(slicesOf[3])
			slicesOf[3].Path, slicesOf[3].Start = at.path, at.start
			scribble(slicesOf[3])
			for i := range slicesOf[3].Pieces {
				slicesOf[3].Pieces[i].Sum = slicesOf[3].Pieces[i].Checksum()
			}
		}
		got := p.generate(stored(pr, slicesOf, 11)) // reuse is held to what is owed
		p.dropped("with slices", got.Result, 2)
		p.same("with slices", want.Result, got.Result)
	}
}
