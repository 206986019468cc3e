package answer

import "github.com/percached/percached"

// attended adds up how many tokens each could see, itself among them, of the
// prompt's that were computed and of those behind it that were generated.
func attended(p percached.Prompt, generated int) int64 {
	var sum, before int64 // all that stands before a segment, whether it sees it or not
	for i, s := range p.Segments {
		seen := before
		if i > 0 && s.Kind == percached.KindChunk && p.Placement == percached.Parallel {
			seen = int64(len(p.Segments[0].Tokens))
		}
		n := int64(len(s.Tokens))
		if s.Slice == nil {
			sum += sawEach(seen, n)
		}
		before += n
	}
	return sum + sawEach(before, int64(generated))
}

// sawEach is what n tokens in a row see, behind others that all of them see.
func sawEach(before, n int64) int64 { return n*before + n*(n+1)/2 }
