package answer

import (
	"slices"

	"github.com/percached/percached"
)

// join makes one segment of a prompt. The same chunks are in it as there would be
// in segments, but for the rare one that takes more tokens in one text: the worst
// go then.
func (r *run) join(p *laid) error {
	for segments := p.prompt.Segments; ; {
		one := joined(segments)
		tokens, err := r.Engine.Tokenize([]percached.Segment{one})
		if err != nil {
			return err
		}
		one.Tokens = tokens[0]
		if len(one.Tokens)+r.set.MaxTokens <= r.Engine.Info().Context || len(p.chunks) == 0 {
			p.prompt.Segments = []percached.Segment{one}
			return nil
		}
		worst := slices.Index(p.ranks, slices.Max(p.ranks))
		p.chunks = slices.Delete(p.chunks, worst, worst+1)
		p.ranks = slices.Delete(p.ranks, worst, worst+1)
		p.nodes = slices.Delete(p.nodes, worst+1, worst+2)
		segments = slices.Delete(slices.Clone(segments), worst+1, worst+2)
	}
}

// joined is a segment that is always computed, with the texts of all these. What
// stands together without control tokens between is one text.
func joined(segments []percached.Segment) percached.Segment {
	one := percached.Segment{Kind: percached.KindQuestion}
	for _, s := range segments {
		for _, t := range s.Texts {
			if n := len(one.Texts); n > 0 && one.Texts[n-1].Special == t.Special {
				one.Texts[n-1].Text += t.Text
			} else {
				one.Texts = append(one.Texts, t)
			}
		}
	}
	return one
}
