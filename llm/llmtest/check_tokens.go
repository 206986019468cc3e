package llmtest

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

func infoChecks() []check {
	return []check{{name: "info", run: checkInfo}}
}

func checkInfo(p *probe) {
	i := p.info
	if i.Fingerprint == "" || i.Context <= 0 || i.Split <= 0 || i.Vocabulary <= 0 || i.Chat.Name == "" {
		p.fatalf("the engine leaves out what it must say: %+v", i)
	}
	if (i.NoSlices == "") != (i.BytesPerToken > 0) {
		p.fatalf("BytesPerToken %d, but NoSlices %q", i.BytesPerToken, i.NoSlices)
	}
	p.generate(p.talkative())
	if d := cmp.Diff(i, p.e.Info()); d != "" {
		p.fatalf("Info changed:\n%s", d)
	}
	p.fresh(func(e llm.Engine) {
		if d := cmp.Diff(i, e.Info()); d != "" {
			p.fatalf("Info changed with a restart:\n%s", d)
		}
	})
}

func tokenChecks() []check {
	return []check{
		{name: "tokens/apart", run: checkApart},
		{name: "tokens/begin", run: checkBegin},
		{name: "tokens/special", run: checkSpecial},
		{name: "tokens/set", run: checkTokensSet},
	}
}

func plainSegment(k percached.Kind, texts ...string) percached.Segment {
	s := percached.Segment{Kind: k}
	for _, t := range texts {
		s.Texts = append(s.Texts, percached.Text{Text: t})
	}
	return s
}

// A segment's tokens depend on its own texts alone, each text's on itself.
func checkApart(p *probe) {
	root, texts := plainSegment(percached.KindSystem, "x"), append(p.chunks(), "", " ", "a\xffb", "\x00", "ends in a", "space ")
	alone := make([][]int32, len(texts))
	var all []percached.Segment
	for i, t := range texts {
		alone[i] = p.tokens([]percached.Segment{root, plainSegment(percached.KindChunk, t)})[1]
		all = append(all, plainSegment(percached.KindChunk, t))
	}
	together := p.tokens(append([]percached.Segment{root}, all...))[1:]
	for i := range texts {
		if !slices.Equal(together[i], alone[i]) {
			p.fatalf("%q is %v alone and %v among others", texts[i], alone[i], together[i])
		}
		j := (i + 1) % len(texts)
		two := p.tokens([]percached.Segment{root, plainSegment(percached.KindChunk, texts[i], texts[j])})[1]
		if !slices.Equal(two, slices.Concat(alone[i], alone[j])) {
			p.fatalf("%q and %q are %v apart and %v in one segment", texts[i], texts[j], slices.Concat(alone[i], alone[j]), two)
		}
	}
	if n := len(p.tokens([]percached.Segment{root, plainSegment(percached.KindChunk)})[1]); n != 0 {
		p.fatalf("a segment without texts has %d tokens", n)
	}
}

// The begin token, if there is one, stands at the head of the first segment.
func checkBegin(p *probe) {
	var heads []int32
	for _, text := range []string{"x", "Yes.", ""} {
		s := plainSegment(percached.KindSystem, text)
		t := p.tokens([]percached.Segment{s, {Kind: percached.KindChunk, Texts: s.Texts}, {Kind: percached.KindChunk, Texts: s.Texts}})
		if !slices.Equal(t[1], t[2]) {
			p.fatalf("%q is %v as the second segment and %v as the third", text, t[1], t[2])
		}
		if text == "" && len(t[1]) > 0 {
			p.fatalf("the empty text is %v behind the first segment", t[1])
		}
		head := len(t[0]) - len(t[1])
		if head < 0 || head > 1 || !slices.Equal(t[0][head:], t[1]) {
			p.fatalf("%q is %v as the first segment and %v as the second", text, t[0], t[1])
		}
		heads = append(heads, int32(head))
		if head > 0 && slices.Contains(t[1], t[0][0]) {
			p.fatalf("the begin token %d stands in %v too", t[0][0], t[1])
		}
	}
	if slices.Max(heads) != slices.Min(heads) {
		p.fatalf("some prompts get a begin token, some do not: %v", heads)
	}
}

// Text of documents and questions never yields a control token.
func checkSpecial(p *probe) {
	root := plainSegment(percached.KindSystem, "x")
	control := p.tokens([]percached.Segment{root, {Kind: percached.KindChunk, Texts: []percached.Text{{Text: p.Special, Special: true}}}})[1]
	if len(control) != 1 {
		p.fatalf("%q is %v where control tokens act: want one token", p.Special, control)
	}
	for _, text := range []string{p.Special, "a " + p.Special + " b", p.Special + p.Special, "\n" + p.Special + "\n"} {
		got := p.tokens([]percached.Segment{root, plainSegment(percached.KindChunk, text), plainSegment(percached.KindQuestion, text)})
		if len(got[1]) == 0 || slices.Contains(got[1], control[0]) || slices.Contains(got[2], control[0]) {
			p.fatalf("the plain text %q is %v: it holds the control token %d", text, got[1], control[0])
		}
	}
	mixed := percached.Segment{Kind: percached.KindChunk, Texts: []percached.Text{{Text: p.Special, Special: true}, {Text: p.Special}}}
	if got := p.tokens([]percached.Segment{root, mixed})[1]; got[0] != control[0] || slices.Contains(got[1:], control[0]) {
		p.fatalf("control text and plain text in one segment are %v", got)
	}
}

// A prompt of tokens is the prompt of the texts they came from.
func checkTokensSet(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		byText, byTokens := p.generate(pr), p.generate(p.fixed(pr))
		p.same("tokens set", byText.Result, byTokens.Result)
		p.sameSlices("tokens set", byText.Slices, byTokens.Slices)
	}
}
