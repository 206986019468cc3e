package llmtest

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

// outcome is a result and the pieces that were emitted.
type outcome struct {
	percached.Result
	pieces []string
}

func (p *probe) generate(pr percached.Prompt) outcome { return p.generateOn(p.e, pr) }

// generateOn answers a prompt and holds the result to what every result owes.
func (p *probe) generateOn(e llm.Engine, pr percached.Prompt) outcome {
	given := clonePrompt(pr)
	var out outcome
	var err error
	out.Result, err = e.Generate(p.context(), pr, func(piece string) error {
		out.pieces = append(out.pieces, piece)
		return nil
	})
	p.must(err, "Generate")
	p.owed(e, given, pr, out.Result)
	for i, piece := range out.pieces {
		if piece == "" || !utf8.ValidString(piece) {
			p.fatalf("piece %d of the answer is %q: not whole UTF-8", i, piece)
		}
	}
	if text := strings.Join(out.pieces, ""); text != out.Text {
		p.fatalf("the pieces make %q, the text is %q", text, out.Text)
	}
	if out.Usage.Generated > pr.MaxTokens {
		p.fatalf("%d tokens generated, MaxTokens %d", out.Usage.Generated, pr.MaxTokens)
	}
	want := 0
	if pr.Logits && p.info.NoLogits == "" {
		want = p.info.Vocabulary
	}
	if len(out.Logits) != want {
		p.fatalf("%d logits, want %d", len(out.Logits), want)
	}
	return out
}

func (p *probe) prefill(pr percached.Prompt) percached.Result {
	given := clonePrompt(pr)
	res, err := p.e.Prefill(p.context(), pr)
	p.must(err, "Prefill")
	p.owed(p.e, given, pr, res)
	if res.Text != "" || res.Usage.Generated != 0 {
		p.fatalf("Prefill generated %d tokens: %q", res.Usage.Generated, res.Text)
	}
	return res
}

// owed is what every successful run owes.
func (p *probe) owed(e llm.Engine, given, after percached.Prompt, res percached.Result) {
	p.untouched(given, after)
	tokens, err := e.Tokenize(given.Segments)
	p.must(err, "Tokenize")
	places := layout(given, tokens)
	var want percached.Usage
	for i, s := range given.Segments {
		want.Prompt += len(tokens[i])
		if s.Slice != nil {
			want.Reused += len(tokens[i])
		}
	}
	want.Computed = want.Prompt - want.Reused
	want.Generated = res.Usage.Generated
	if u := res.Usage; p.info.NoTokens != "" { // the model counts for itself
		want = percached.Usage{Prompt: max(u.Prompt, 1), Reused: max(u.Reused, 0), Computed: u.Prompt - u.Reused, Generated: u.Generated}
	}
	if res.Usage != want {
		p.fatalf("usage is %+v, want %+v", res.Usage, want)
	}
	t := res.Times
	if min(t.Queue, t.Tokenize, t.Restore, t.Prefill, t.Capture, t.FirstToken, t.Decode) < 0 {
		p.fatalf("negative times: %+v", t)
	}
	if len(res.Slices) != len(given.Segments) {
		p.fatalf("%d entries in Slices for %d segments", len(res.Slices), len(given.Segments))
	}
	for i, s := range given.Segments {
		wanted := s.Capture && s.Slice == nil && len(tokens[i]) > 0 && p.info.NoSlices == ""
		switch got := res.Slices[i]; {
		case places[i].joined: // whether it can be had is left open
		case got == nil && wanted:
			p.fatalf("segment %d was not captured", i)
		case got != nil && !wanted:
			p.fatalf("segment %d has a slice that was not to be made", i)
		case got != nil:
			p.wellFormed(i, got, given.Planes, tokens[i], places[i])
		}
	}
}

// untouched holds that an engine changes nothing of what it is given.
func (p *probe) untouched(given, after percached.Prompt) {
	for i := range given.Segments {
		if !reflect.DeepEqual(given.Segments[i], after.Segments[i]) { // not cmp: slices are large
			p.fatalf("the engine changed segment %d of the prompt it was given", i)
		}
	}
	if !slices.Equal(given.Stop, after.Stop) {
		p.fatalf("the engine changed the stop strings it was given")
	}
}

func (p *probe) wellFormed(i int, s *percached.Slice, planes percached.Planes, tokens []int32, at place) {
	switch {
	case s.Model != p.info.Fingerprint:
		p.fatalf("slice %d names model %q, the engine is %q", i, s.Model, p.info.Fingerprint)
	case s.Path != at.path:
		p.fatalf("slice %d has path %v, want %v", i, s.Path, at.path)
	case s.Start != at.start:
		p.fatalf("slice %d starts at %d, want %d", i, s.Start, at.start)
	case !slices.Equal(s.Tokens, tokens):
		p.fatalf("slice %d has tokens %v, want %v", i, s.Tokens, tokens)
	case s.Planes != planes:
		p.fatalf("slice %d has planes %d, want %d", i, s.Planes, planes)
	}
	next, kv := 0, 0
	for j := range s.Pieces {
		pc := &s.Pieces[j]
		switch {
		case pc.From != next || pc.To <= pc.From:
			p.fatalf("slice %d: piece %d is [%d, %d) behind %d", i, j, pc.From, pc.To, next)
		case pc.Sum != pc.Checksum():
			p.fatalf("slice %d: piece %d has a wrong checksum", i, j)
		case (planes == percached.QKV) != (len(pc.Q) > 0):
			p.fatalf("slice %d: piece %d has %d bytes of queries under planes %d", i, j, len(pc.Q), planes)
		}
		next, kv = pc.To, kv+len(pc.KV)
	}
	if next != len(tokens) {
		p.fatalf("slice %d: pieces end at token %d of %d", i, next, len(tokens))
	}
	// Framing may add a little; a tree must be able to plan by BytesPerToken.
	plain := p.info.BytesPerToken * len(tokens)
	if kv < plain || kv > plain+plain/5+1024*len(s.Pieces) {
		p.fatalf("slice %d: %d bytes of keys and values for %d tokens of %d bytes", i, kv, len(tokens), p.info.BytesPerToken)
	}
}

// place is where a segment stands.
type place struct {
	path   percached.Path
	start  int
	joined bool // behind parallel branches
}

// layout says where each segment of a prompt stands, by the rules alone.
func layout(pr percached.Prompt, tokens [][]int32) []place {
	out := make([]place, len(tokens))
	var path, root percached.Path
	start, rootEnd := 0, 0
	joined := false
	for i, t := range tokens {
		if i > 0 && pr.Segments[i].Kind == percached.KindChunk && pr.Placement == percached.Parallel {
			out[i] = place{path: root.Child(t), start: rootEnd}
			start, joined = max(start, rootEnd+len(t)), true
			continue
		}
		path = path.Child(t)
		out[i] = place{path: path, start: start, joined: joined}
		start += len(t)
		if i == 0 {
			root, rootEnd = path, start
		}
	}
	return out
}

// same holds a warm run to the cold one, bit for bit.
func (p *probe) same(what string, cold, warm percached.Result) {
	if cold.Text != warm.Text || cold.Finish != warm.Finish || cold.Usage.Generated != warm.Usage.Generated {
		p.fatalf("%s: cold answers %q (%s, %d tokens), warm %q (%s, %d tokens)", what,
			cold.Text, cold.Finish, cold.Usage.Generated, warm.Text, warm.Finish, warm.Usage.Generated)
	}
	p.sameLogits(what, cold.Logits, warm.Logits)
}

func (p *probe) sameLogits(what string, cold, warm []float32) {
	if !bitEqual(cold, warm) {
		p.fatalf("%s: logits differ", what)
	}
}

func bitEqual(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// sameSlices holds slices to each other, byte for byte, where both are there.
func (p *probe) sameSlices(what string, a, b []*percached.Slice) {
	for i := range min(len(a), len(b)) {
		if a[i] != nil && b[i] != nil {
			p.sameSlice(what, a[i], b[i])
		}
	}
}

func (p *probe) sameSlice(what string, a, b *percached.Slice) {
	if a == nil || b == nil {
		p.fatalf("%s: a slice is missing", what)
	}
	equal := a.Model == b.Model && a.Path == b.Path && a.Start == b.Start && a.Planes == b.Planes &&
		slices.Equal(a.Tokens, b.Tokens) && slices.EqualFunc(a.Pieces, b.Pieces, func(x, y percached.Piece) bool {
		return x.From == y.From && x.To == y.To && x.Sum == y.Sum && bytes.Equal(x.KV, y.KV) && bytes.Equal(x.Q, y.Q)
	})
	if !equal {
		p.fatalf("%s: slices of path %v and %v differ", what, a.Path, b.Path)
	}
}
