package llmtest

import (
	"errors"
	"slices"

	"github.com/percached/percached"
)

func sliceChecks() []check {
	return []check{
		{name: "slices/lent", needSlices: true, run: checkLent},
		{name: "slices/owned", needSlices: true, run: checkOwned},
		{name: "slices/control", needSlices: true, run: checkControl},
		{name: "slices/none", run: checkNoSlices},
	}
}

func scribble(s *percached.Slice) {
	for i := range s.Pieces {
		for _, b := range [][]byte{s.Pieces[i].KV, s.Pieces[i].Q} {
			for j := range b {
				b[j] = 0xA5
			}
		}
	}
}

// Bytes that were lent are not kept: the lender may do with them what he likes
// once the call is over.
func checkLent(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		cold := p.generate(pr)
		lent := stored(pr, cold.Slices, 7)
		warm := p.generate(lent)
		for i := range 3 {
			scribble(lent.Segments[i].Slice)
		}
		p.sameSlices("after the lender took his bytes back", cold.Slices, warm.Slices)
		p.same("after the lender took his bytes back", cold.Result, p.generate(pr).Result)
		p.same("after the lender took his bytes back", cold.Result, p.generate(stored(pr, cold.Slices, 15)).Result)
	}
}

// Slices in a result belong to the caller alone.
func checkOwned(p *probe) {
	pr := p.ask(percached.Sequential)
	first := p.generate(pr)
	kept := stored(pr, first.Slices, 15)
	second := p.generate(pr)
	for _, s := range second.Slices[:4] {
		scribble(s)
		clear(s.Tokens)
	}
	third := p.generate(pr)
	for i := range 4 {
		p.sameSlice("a slice held by its owner", kept.Segments[i].Slice, first.Slices[i])
		p.sameSlice("a slice of the next run", first.Slices[i], third.Slices[i])
	}
}

// The control: a slice forged so that no check can find it changes the logits.
// An engine that passes here does use the bytes it restores.
func checkControl(p *probe) {
	for _, placement := range p.placements() {
		pr := p.fixed(p.ask(placement))
		cold := p.generate(pr)
		for i := range 4 {
			other := clonePrompt(pr)
			rotate(other.Segments[i].Tokens)
			if slices.Equal(other.Segments[i].Tokens, pr.Segments[i].Tokens) {
				continue // a segment of equal tokens
			}
			p.forged("another segment's tensors", pr, cold, p.generate(other), i)
		}
		other := clonePrompt(pr)
		rotate(other.Segments[0].Tokens)
		p.forged("tensors made behind another root", pr, cold, p.generate(other), 3)
	}
}

// rotate changes the order of all tokens but the first, which may be a begin
// token.
func rotate(t []int32) {
	if len(t) > 2 {
		first := t[1]
		copy(t[1:], t[2:])
		t[len(t)-1] = first
	}
}

func (p *probe) forged(what string, pr percached.Prompt, cold, other outcome, i int) {
	warm := stored(pr, cold.Slices, 1<<i)
	warm.Segments[i].Slice.Pieces = cloneSlice(other.Slices[i]).Pieces
	if got := p.generate(warm); bitEqual(got.Logits, cold.Logits) {
		p.fatalf("%s restored as segment %d leave the logits unchanged: are slices used at all?", what, i)
	}
}

// An engine that cannot store slices makes none and refuses all.
func checkNoSlices(p *probe) {
	if p.info.NoSlices == "" {
		return
	}
	pr := p.ask(percached.Sequential)
	p.generate(pr) // captures nothing, by what is owed
	t := p.tokens(pr.Segments)[0]
	pr.Segments[0].Slice = &percached.Slice{Model: p.info.Fingerprint, Path: percached.Path{}.Child(t), Tokens: t}
	_, err := p.e.Generate(p.context(), pr, nil)
	if refused := (*percached.SliceError)(nil); !errors.As(err, &refused) {
		p.fatalf("a slice was not refused: %v", err)
	}
}
