package llmtest

import (
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

func equalChecks() []check {
	return []check{
		{name: "equal/repeated", run: checkRepeated},
		{name: "equal/history", run: checkHistory},
		{name: "equal/sequential", needSlices: true, run: func(p *probe) { p.everySubset(percached.Sequential) }},
		{name: "equal/parallel", needSlices: true, run: func(p *probe) { p.everySubset(percached.Parallel) }},
		{name: "equal/turns", needSlices: true, run: checkTurns},
		{name: "equal/order", needSlices: true, run: checkOrder},
		{name: "equal/company", needSlices: true, run: checkCompany},
		{name: "equal/prefill", needSlices: true, run: checkPrefill},
		{name: "equal/restart", needSlices: true, run: checkRestart},
		{name: "equal/sampled", needSlices: true, run: checkSampledWarm},
		{name: "equal/planes", needSlices: true, run: checkPlanes},
	}
}

// What ran before leaves no trace.
func checkRepeated(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		first := p.generate(pr)
		p.generate(p.talkative())
		second := p.generate(pr)
		p.same("the same prompt again", first.Result, second.Result)
		p.sameSlices("the same prompt again", first.Slices, second.Slices)
		p.same("without a listener", first.Result, p.silent(pr))
		if second = p.generate(withoutLogits(pr)); second.Text != first.Text {
			p.fatalf("the answer is %q with logits and %q without", first.Text, second.Text)
		}
	}
}

func (p *probe) silent(pr percached.Prompt) percached.Result {
	res, err := p.e.Generate(p.context(), pr, nil)
	p.must(err, "Generate without emit")
	return res
}

// An engine that has seen the same chunks in other orders and other company
// computes what a new one computes.
func checkHistory(p *probe) {
	c := p.chunks()
	for _, placement := range p.placements() {
		var prompts []percached.Prompt
		for _, chunks := range [][]string{c, {c[2], c[1], c[0]}, {c[1], c[2]}, {c[2]}} {
			prompts = append(prompts, p.askOf(placement, chunks...))
		}
		other := p.askOf(placement, c[2])
		other.Segments[0].Texts = append(other.Segments[0].Texts, percached.Text{Text: " Be brief."})
		for _, pr := range append(prompts, other) {
			seasoned := p.generate(pr)
			p.fresh(func(e llm.Engine) {
				fresh := p.generateOn(e, pr)
				p.same("an engine with a history", fresh.Result, seasoned.Result)
				p.sameSlices("an engine with a history", fresh.Slices, seasoned.Slices)
			})
		}
	}
}

// everySubset tries each set of stored segments: none, prefixes of every
// length, and sets with gaps.
func (p *probe) everySubset(placement percached.Placement) { p.everySubsetOf(p.ask(placement)) }

// checkTurns tries the turns of a conversation before two chunks. The turns' slices are the
// same whether chunks stand beside them or not, and a chunk's whether turns do.
func checkTurns(p *probe) {
	c := p.chunks()
	for _, placement := range p.placements() {
		pr := p.askOf(placement, "Question: Who is there?\nAnswer: Anna.\n\n", c[2], c[0], c[1])
		pr.Segments[1].Kind, pr.Segments[2].Kind = percached.KindTurn, percached.KindTurn
		p.everySubsetOf(pr)
		all := p.generate(pr)
		turns := clonePrompt(pr)
		turns.Segments, turns.Logits = turns.Segments[:3], true
		alone := p.prefill(turns)
		p.sameSlices("turns without chunks", all.Slices[:3], alone.Slices)
		if placement == percached.Parallel {
			without := p.generate(p.askOf(placement, c[0], c[1]))
			p.sameSlices("chunks without turns", all.Slices[3:], without.Slices[1:])
		}
	}
}

func (p *probe) everySubsetOf(pr percached.Prompt) {
	cold := p.generate(pr)
	for mask := range 1 << (len(pr.Segments) - 1) {
		what := fmt.Sprintf("segments %b stored", mask)
		warm := p.generate(stored(pr, cold.Slices, mask))
		p.same(what, cold.Result, warm.Result)
		p.sameSlices(what, cold.Slices, warm.Slices)
		p.sameSlices(what+", prefill", cold.Slices, p.prefill(stored(pr, cold.Slices, mask)).Slices)
	}
}

// Under Parallel the order of the chunks is nothing, stored or not.
func checkOrder(p *probe) {
	text := p.chunks()
	base := p.generate(p.ask(percached.Parallel))
	for _, o := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		pr := p.askOf(percached.Parallel, text[o[0]], text[o[1]], text[o[2]])
		slices := []*percached.Slice{base.Slices[0], base.Slices[1+o[0]], base.Slices[1+o[1]], base.Slices[1+o[2]], nil}
		for mask := range 1 << 4 {
			what := fmt.Sprintf("chunks in the order %v, segments %b stored", o, mask)
			got := p.generate(stored(pr, slices, mask))
			p.same(what, base.Result, got.Result)
			p.sameSlices(what, slices, got.Slices)
		}
	}
}

// One path has one slice: a chunk right behind the root has the same in any
// company and under both placements.
func checkCompany(p *probe) {
	text := p.chunks()
	full := p.generate(p.ask(percached.Parallel))
	for i, chunk := range text {
		for _, placement := range p.placements() {
			alone := p.askOf(placement, chunk)
			cold := p.generate(alone)
			p.sameSlice("root", full.Slices[0], cold.Slices[0])
			p.sameSlice("a chunk alone and in company", full.Slices[1+i], cold.Slices[1])
			lent := []*percached.Slice{full.Slices[0], full.Slices[1+i], nil}
			p.same("with slices made in company", cold.Result, p.generate(stored(alone, lent, 3)).Result)
		}
	}
}

// Prefill captures what Generate captures, in whatever segment it ends.
func checkPrefill(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		cold := p.generate(pr)
		for n := 1; n <= len(pr.Segments); n++ {
			part := clonePrompt(pr)
			part.Segments = part.Segments[:n]
			part.Logits = n == len(pr.Segments)
			got := p.prefill(part)
			what := fmt.Sprintf("prefill of %d segments", n)
			p.sameSlices(what, cold.Slices, got.Slices)
			if part.Logits {
				p.sameLogits(what, cold.Logits, got.Logits)
				p.same(what, cold.Result, p.generate(stored(pr, got.Slices, 1<<(n-1)-1)).Result)
			}
		}
	}
	// The question's slice goes back into a Prefill, and its capture is owed.
	pr := p.ask(percached.Sequential)
	last := len(pr.Segments) - 1
	pr.Segments[last].Capture, pr.Logits = true, false
	first := p.prefill(pr)
	if got := p.prefill(stored(pr, first.Slices, 1<<(last+1)-1)); got.Usage.Computed != 0 {
		p.fatalf("with all segments stored %d tokens were computed", got.Usage.Computed)
	}
}

// Slices outlive the engine that made them.
func checkRestart(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		var cold outcome
		p.fresh(func(e llm.Engine) { cold = p.generateOn(e, pr) })
		p.fresh(func(e llm.Engine) {
			for _, mask := range []int{15, 5, 3} {
				p.same("after a restart", cold.Result, p.generateOn(e, stored(pr, cold.Slices, mask)).Result)
			}
			again := p.generateOn(e, pr)
			p.same("cold after a restart", cold.Result, again.Result)
			p.sameSlices("cold after a restart", cold.Slices, again.Slices)
		})
	}
}

func checkSampledWarm(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		pr.Sampling = percached.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95, Seed: 7}
		cold := p.generate(pr)
		p.same("sampled", cold.Result, p.generate(stored(pr, cold.Slices, 15)).Result)
	}
}

// Queries are carried beside keys and values, and change nothing.
func checkPlanes(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		kv := p.generate(pr)
		pr.Planes = percached.QKV
		qkv := p.generate(pr)
		p.same("with queries", kv.Result, qkv.Result)
		for _, mask := range []int{15, 5} {
			warm := p.generate(stored(pr, qkv.Slices, mask))
			p.same("from slices with queries", kv.Result, warm.Result)
			p.sameSlices("from slices with queries", qkv.Slices, warm.Slices)
			warm = p.generate(stored(pr, kv.Slices, mask))
			p.same("from slices without queries", kv.Result, warm.Result)
			p.sameSlices("behind slices without queries", qkv.Slices, warm.Slices)
		}
		pr.Planes = percached.KV
		p.same("queries not asked for", kv.Result, p.generate(stored(pr, qkv.Slices, 15)).Result)
	}
}
