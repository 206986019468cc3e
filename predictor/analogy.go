package predictor

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/names"
)

// pattern is what questions have in common that differ in one name: the texts before and
// after it.
type pattern struct{ before, after string }

// with is the pattern's question about a name.
func (p pattern) with(name string) string { return p.before + name + p.after }

// asking is the use of a pattern: the names it was asked about, and the questions.
type asking struct {
	pattern
	names []string
	asked []Asked // latest last
}

// fits reports whether a name looks like those the pattern was asked about.
func (a *asking) fits(name string) bool {
	words := strings.Count(name, " ")
	return slices.ContainsFunc(a.names, func(n string) bool { return strings.Count(n, " ") == words }) && !slices.Contains(a.names, name)
}

// patterns lists the patterns of which at least two names were asked, most names first.
func patterns(asked []Asked) []*asking {
	found := map[pattern]*asking{}
	var all []*asking
	for _, q := range asked {
		of := names.In(q.Question, true)
		if len(of) != 1 {
			continue
		}
		before, after, _ := strings.Cut(q.Question, of[0])
		p := pattern{before, after}
		if found[p] == nil {
			found[p] = &asking{pattern: p}
			all = append(all, found[p])
		}
		a := found[p]
		a.asked = append(a.asked, q)
		if !slices.Contains(a.names, of[0]) {
			a.names = append(a.names, of[0])
		}
	}
	all = slices.DeleteFunc(all, func(a *asking) bool { return len(a.names) < 2 })
	slices.SortStableFunc(all, func(a, b *asking) int { return cmp.Compare(len(b.names), len(a.names)) })
	return all
}

// analogies makes questions without a model: what was asked about two names is asked about
// a third. First come the names of the latest questions, in other patterns; then those in
// the chunks, in their order.
func (d *draft) analogies(asked []Asked, chunks []percached.Chunk) iter.Seq[proposal] {
	known := patterns(asked)
	return func(yield func(proposal) bool) {
		if d.enoughAnalogies() {
			return
		}
		for _, q := range slices.Backward(asked[max(0, len(asked)-d.o.Buffer):]) {
			for _, name := range names.In(q.Question, true) {
				if !d.askAll(known, name, q.Chunks, yield) {
					return
				}
			}
		}
		for i := range chunks {
			for _, name := range names.In(chunks[i].Rendered(), false) {
				if !d.askAll(known, name, []percached.ChunkID{chunks[i].ID}, yield) {
					return
				}
			}
		}
	}
}

// enoughAnalogies reports whether to wait until more of the questions from the history are
// asked: few of the names are.
func (d *draft) enoughAnalogies() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	waiting, asked := 0, 0
	if s := d.states[d.work.space]; s != nil {
		for _, g := range s.predictions {
			asked += int(bit(g.from == History && g.state.hits > 0))
			waiting += int(bit(g.from == History && g.state.hits == 0))
		}
	}
	return waiting >= (4+2*asked)*d.stride
}

// askAll asks about a name in all patterns that fit.
func (d *draft) askAll(known []*asking, name string, source []percached.ChunkID, yield func(proposal) bool) bool {
	for _, a := range known {
		if a.fits(name) && !d.isPredicted(newID(d.work.space, a.with(name))) && !yield(a.about(d.work.space, name, source)) {
			return false
		}
	}
	return true
}

// about is the pattern's question about a name of these chunks. Two questions are enough
// to name as its source.
func (a *asking) about(space kv.SpaceID, name string, source []percached.ChunkID) proposal {
	p := proposal{question: a.with(name), from: History}
	last := a.asked[max(0, len(a.asked)-2):]
	for _, q := range last {
		p.asked = append(p.asked, newID(space, q.Question))
	}
	for _, c := range slices.Concat(source, citedChunks(last)) {
		if !slices.Contains(p.chunks, c) {
			p.chunks = append(p.chunks, c)
		}
	}
	return p
}
