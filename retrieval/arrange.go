package retrieval

import (
	"context"
	"os"

	"github.com/percached/percached/internal/durable"
)

const (
	// arrangeShare of the vectors may be new or dead before the graph is
	// brought up to date; the new ones are compared one by one till then.
	arrangeShare = 16
	arrangeStep  = 256 // nodes put in between two looks at whether to stop
)

// arrange makes, mends or drops the graph of a space, as the number of its
// vectors wants. The caller holds write, so that the vectors stay as they are;
// searches go on meanwhile.
func (x *Index) arrange(ctx context.Context, sp *space) error {
	rec, v, _ := sp.state()
	if v == nil {
		return nil
	}
	live := len(v.slots)
	if live < x.o.GraphFrom {
		if v.graph != nil && live < x.o.GraphFrom/2 {
			v.adopt(nil)
			_ = os.Remove(sp.graphFile()) // it is not read for so few
		}
		return nil
	}
	g := v.graph
	if g == nil {
		g = newGraph()
	}
	missing := live - (g.nodes - len(g.dead))
	_, unkept := os.Stat(sp.graphFile()) // Rebuild drops the file
	if unkept == nil && (missing+len(g.dead))*arrangeShare < live {
		return nil
	}
	g = g.clone()
	g.remove(v)
	n := 0
	for s := range int32(len(v.ids)) {
		if v.versions[s] == 0 || g.has(s) {
			continue
		}
		if n%arrangeStep == 0 {
			if err := x.ended(ctx); err != nil {
				return err
			}
			if x.o.Arranging != nil {
				x.o.Arranging(sp.name, n, missing)
			}
		}
		n++
		g.insert(v, s)
	}
	v.adopt(g)
	err := x.room(sp.dir)
	if err == nil {
		err = durable.Write(sp.graphFile(), encodeGraph(v, rec.Active))
	}
	if err != nil { // it is here, and can be made again
		x.log("a graph is not kept", "space", sp.name, "error", err)
	}
	return nil
}

// adopt changes the graph. Slots of nodes that it no longer has are free.
func (v *vectors) adopt(g *graph) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.graph = g
	v.free = v.free[:0]
	for s := range int32(len(v.ids)) {
		if v.versions[s] == 0 && !g.has(s) {
			v.free = append(v.free, s)
		}
	}
}
