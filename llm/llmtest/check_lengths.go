package llmtest

import (
	"fmt"

	"github.com/percached/percached"
)

func lengthChecks() []check {
	return []check{
		{name: "equal/lengths", needSlices: true, run: checkLengths},
		{name: "equal/counts", needSlices: true, run: checkCounts},
		{name: "equal/empty", run: checkEmptySegments},
	}
}

// repeat is n tokens of plain text.
func (p *probe) repeat(n int) []int32 {
	some := p.tokens([]percached.Segment{plainSegment(percached.KindSystem, "x"), plainSegment(percached.KindChunk, p.chunks()[1])})[1]
	out := make([]int32, n)
	for i := range out {
		out[i] = some[i%len(some)]
	}
	return out
}

// Segments of every length around the split.
func checkLengths(p *probe) {
	split := min(p.info.Split, p.info.Context/8)
	for _, placement := range p.placements() {
		for _, n := range []int{1, 2, 3, split - 1, split, split + 1, 2*split - 1, 2 * split, 2*split + 1} {
			if n < 1 {
				continue
			}
			pr := p.fixed(p.ask(placement))
			pr.Segments[2].Tokens = p.repeat(n)
			cold := p.generate(pr)
			for _, mask := range []int{15, 7, 4} {
				what := fmt.Sprintf("placement %d, %d tokens, segments %b stored", placement, n, mask)
				warm := p.generate(stored(pr, cold.Slices, mask))
				p.same(what, cold.Result, warm.Result)
				p.sameSlices(what, cold.Slices, warm.Slices)
			}
		}
	}
}

// Prompts of no chunk to six; no instructions at all.
func checkCounts(p *probe) {
	for _, placement := range p.placements() {
		var chunks []string
		for n := range 7 {
			pr := p.askOf(placement, chunks...)
			cold := p.generate(pr)
			all := 1<<(n+1) - 1
			p.same(fmt.Sprintf("%d chunks stored", n), cold.Result, p.generate(stored(pr, cold.Slices, all)).Result)
			chunks = append(chunks, fmt.Sprintf("Note %d: room %d is free.", n, 7*n))
		}
		lone := percached.Prompt{Segments: p.info.Chat.Turn(questions[0]), Placement: placement, MaxTokens: 8, Logits: true}
		p.same("a lone question", p.generate(lone).Result, p.generate(lone).Result)

		rootless := p.askOf(placement, p.chunks()...) // the first chunk is the root
		rootless.Segments = rootless.Segments[1:]
		cold := p.generate(rootless)
		p.same("a chunk as the root", cold.Result, p.generate(stored(rootless, cold.Slices, 5)).Result)
	}
}

// Segments without tokens are allowed before the question and yield nothing.
func checkEmptySegments(p *probe) {
	for _, placement := range p.placements() {
		pr := p.askOf(placement, "", p.chunks()[1])
		cold := p.generate(pr)
		if cold.Slices[1] != nil {
			p.fatalf("a segment without tokens has a slice")
		}
		if p.info.NoSlices == "" {
			p.same("an empty chunk", cold.Result, p.generate(stored(pr, cold.Slices, 5)).Result)
		}
	}
}
