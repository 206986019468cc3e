package retrieval

import "github.com/percached/percached"

// walk is what one search of the graph needs. Heaps hold the best on top in
// open, the worst on top in found.
type walk struct {
	seen  []uint32 // by slot: the number of the walk that was there
	mark  uint32
	open  []near
	found []near
}

func (g *graph) walk() *walk {
	w, _ := g.walks.Get().(*walk)
	if w == nil {
		w = &walk{}
	}
	if len(w.seen) < len(g.level) {
		w.seen, w.mark = make([]uint32, len(g.level)+len(g.level)/8), 0
	}
	return w
}

// descend goes to the nearest node on a level.
func (g *graph) descend(v *vectors, q []float32, at near, level int8) near {
	for better := true; better; {
		better = false
		for _, n := range g.links(at.slot, level) {
			if d := percached.Dot(q, v.row(n)); d > at.cosine {
				at, better = near{n, d}, true
			}
		}
	}
	return at
}

// around gives the ef nodes of a level that are nearest to q, as far as links
// lead there, nearest first. They are valid until the next walk.
func (g *graph) around(v *vectors, q []float32, from []near, ef int, level int8, w *walk) []near {
	w.mark++
	if w.mark == 0 { // came round
		clear(w.seen)
		w.mark = 1
	}
	w.open, w.found = w.open[:0], w.found[:0]
	for _, c := range from {
		w.seen[c.slot] = w.mark
		w.open = pushNear(w.open, c, nearer)
		w.found = pushNear(w.found, c, farther)
	}
	for len(w.open) > 0 {
		c := w.open[0]
		if len(w.found) >= ef && c.cosine < w.found[0].cosine {
			break
		}
		w.open = popNear(w.open, nearer)
		for _, n := range g.links(c.slot, level) {
			if w.seen[n] == w.mark {
				continue
			}
			w.seen[n] = w.mark
			d := near{n, percached.Dot(q, v.row(n))}
			if len(w.found) >= ef {
				if d.cosine <= w.found[0].cosine {
					continue
				}
				w.found = popNear(w.found, farther)
			}
			w.open = pushNear(w.open, d, nearer)
			w.found = pushNear(w.found, d, farther)
		}
	}
	sortNear(w.found)
	return w.found
}

// search gives about n of the nearest nodes whose chunks are there.
func (g *graph) search(v *vectors, q []float32, n int) []near {
	if g.entry < 0 {
		return nil
	}
	w := g.walk()
	defer g.walks.Put(w)
	at := near{g.entry, percached.Dot(q, v.row(g.entry))}
	for l := g.level[g.entry]; l > 0; l-- {
		at = g.descend(v, q, at, l)
	}
	out := make([]near, 0, n)
	for _, c := range g.around(v, q, []near{at}, max(graphSearch, 2*n), 0, w) {
		if v.versions[c.slot] != 0 && len(out) < n {
			out = append(out, c)
		}
	}
	return out
}

func nearer(a, b near) bool {
	return a.cosine > b.cosine || a.cosine == b.cosine && a.slot < b.slot
}

func farther(a, b near) bool { return nearer(b, a) }

// pushNear and popNear keep a heap with its first by less on top.
func pushNear(h []near, c near, less func(a, b near) bool) []near {
	h = append(h, c)
	for i := len(h) - 1; i > 0 && less(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	return h
}

func popNear(h []near, less func(a, b near) bool) []near {
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < n && less(h[c+1], h[c]) {
			c++
		}
		if c >= n || !less(h[c], h[i]) {
			return h
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
