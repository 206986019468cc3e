package llmtest

import (
	"slices"
	"strings"

	"github.com/percached/percached"
)

const instructions = "Answer from the notes. Say so if they do not tell."

var questions = []string{
	"When does the train to Zürich leave?", "Who is to write the report?", "What did the doctor say?", "Tell me a story.",
	"Hello", "1 2 3 4 5", "Why?", "What colour is the green door, and who painted it on Tuesday?",
}

// placements are those that the engine must offer: side by side needs slices.
func (p *probe) placements() []percached.Placement {
	if p.info.NoSlices != "" {
		return []percached.Placement{percached.Sequential}
	}
	return []percached.Placement{percached.Sequential, percached.Parallel}
}

// chunks are three: one short, one with more than ASCII, one longer than the
// split where the context allows.
func (p *probe) chunks() []string {
	long := "Notes of Monday, 09:30. "
	for n := 0; n < 200 && p.count(long) < min(p.info.Split+3, p.info.Context/6); n++ {
		long += "Anna paid 42 € for the tickets. "
	}
	return []string{"Yes.", "Zürich, 3. März: der Zug fährt um 17:05 🚆 ab Gleis 9.", long}
}

func (p *probe) count(text string) int {
	t := p.tokens([]percached.Segment{
		{Kind: percached.KindSystem, Texts: []percached.Text{{Text: "x"}}},
		{Kind: percached.KindChunk, Texts: []percached.Text{{Text: text}}},
	})
	return len(t[1])
}

func (p *probe) tokens(segs []percached.Segment) [][]int32 {
	t, err := p.e.Tokenize(segs)
	p.must(err, "Tokenize")
	if len(t) != len(segs) {
		p.fatalf("Tokenize gave %d lists for %d segments", len(t), len(segs))
	}
	return t
}

// ask is a prompt of the three chunks that captures all it can.
func (p *probe) ask(placement percached.Placement) percached.Prompt {
	return p.askOf(placement, p.chunks()...)
}

func (p *probe) askOf(placement percached.Placement, chunks ...string) percached.Prompt {
	pr := percached.Prompt{
		Segments:  p.info.Chat.Ask(instructions, chunks, questions[0]),
		Placement: placement, MaxTokens: 8, Logits: true,
	}
	captureAll(pr.Segments)
	total := 0
	for _, t := range p.tokens(pr.Segments) {
		total += len(t)
	}
	if total+64 > p.info.Context {
		p.fatalf("a context of %d is too small for the suite: it wants %d", p.info.Context, total+64)
	}
	return pr
}

func captureAll(segs []percached.Segment) {
	for i := range segs {
		segs[i].Capture = segs[i].Kind != percached.KindQuestion
	}
}

// fixed is the prompt with its tokens set.
func (p *probe) fixed(pr percached.Prompt) percached.Prompt {
	pr = clonePrompt(pr)
	for i, t := range p.tokens(pr.Segments) {
		pr.Segments[i].Tokens, pr.Segments[i].Texts = t, nil
	}
	return pr
}

// stored is the prompt with the slices that mask names, by index of segment.
func stored(pr percached.Prompt, from []*percached.Slice, mask int) percached.Prompt {
	pr = clonePrompt(pr)
	for i := range pr.Segments {
		if mask&(1<<i) != 0 {
			pr.Segments[i].Slice = cloneSlice(from[i])
		}
	}
	return pr
}

// talkative is a prompt whose answer has several pieces. Models with random
// weights may say little; then sampling helps.
func (p *probe) talkative() percached.Prompt {
	if p.talk != nil {
		return clonePrompt(*p.talk)
	}
	for seed := range uint64(8) {
		for _, q := range questions {
			pr := percached.Prompt{Segments: p.info.Chat.Ask(instructions, p.chunks()[:2], q), MaxTokens: 24, Logits: true}
			captureAll(pr.Segments)
			if seed > 0 {
				pr.Sampling = percached.Sampling{Temperature: 1, Seed: seed}
			}
			if out := p.generate(pr); len(out.pieces) >= 8 && stopIn(out.pieces) != "" {
				p.talk = &pr
				return clonePrompt(pr)
			}
		}
	}
	p.fatalf("no question got an answer of at least eight pieces")
	panic("unreachable")
}

// stopIn is a string of the answer that can stand as its stop: across the
// border of two pieces, not at the beginning.
func stopIn(pieces []string) string {
	text := strings.Join(pieces, "")
	at := 0
	for i := 1; i < len(pieces); i++ {
		at += len(pieces[i-1])
		before, after := []rune(pieces[i-1]), []rune(pieces[i])
		stop := string(before[len(before)-1]) + string(after[0])
		if !strings.ContainsRune(stop, '\uFFFD') && strings.Index(text, stop) > 0 {
			return stop
		}
	}
	return ""
}

func clonePrompt(pr percached.Prompt) percached.Prompt {
	pr.Segments = slices.Clone(pr.Segments)
	pr.Stop = slices.Clone(pr.Stop)
	for i := range pr.Segments {
		s := &pr.Segments[i]
		s.Texts, s.Tokens, s.Slice = slices.Clone(s.Texts), slices.Clone(s.Tokens), cloneSlice(s.Slice)
	}
	return pr
}

func cloneSlice(s *percached.Slice) *percached.Slice {
	if s == nil {
		return nil
	}
	c := *s
	c.Tokens, c.Pieces = slices.Clone(s.Tokens), slices.Clone(s.Pieces)
	for i := range c.Pieces {
		c.Pieces[i].KV, c.Pieces[i].Q = slices.Clone(c.Pieces[i].KV), slices.Clone(c.Pieces[i].Q)
	}
	return &c
}
