package retrieval

import (
	"context"
	"maps"
	"os"

	"github.com/percached/percached/internal/base/durable"
)

const (
	// arrangeShare of the vectors may be new or dead before the graph is
	// brought up to date; the new ones are compared one by one till then.
	arrangeShare = 16
	arrangeStep  = 64 // nodes mended or put in while changes wait
)

// arrange has the graph of a space brought up to date, if its vectors want it and
// nobody is at it. The caller holds write, or life alone.
func (x *Index) arrange(sp *space) {
	_, v, _ := sp.state()
	if v == nil || !v.due(x.o.GraphFrom) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || sp.arranging {
		return
	}
	sp.arranging = true
	x.work.Go((&arranger{x: x, sp: sp}).run)
}

// due says that there are too few vectors for the graph there is, or that it
// lacks or holds too many.
func (v *vectors) due(from int) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	live, g := len(v.slots), v.graph
	switch {
	case live < from:
		return g != nil && live < from/2
	case g == nil:
		return true
	}
	missing := live - (g.nodes - len(g.dead))
	return (missing+len(g.dead))*arrangeShare >= live
}

// arranger brings a graph up to date in rounds of many steps. Others may search all
// the time, and change the space between two steps.
type arranger struct {
	x  *Index
	sp *space

	v     *vectors       // those that the round is over
	begun bool           // whether there is a round
	going map[int32]bool // nodes that were dead when it began; nil when they are out
	at    int32          // the slot that is next
	end   int32          // what came behind it is of the next round
}

func (a *arranger) run() {
	for more := true; more; {
		more = a.step()
	}
	a.x.evict(nil) // it was not idle
}

// step holds write. It says whether there is more to do.
func (a *arranger) step() (more bool) {
	select {
	case a.sp.write <- struct{}{}:
		defer func() { <-a.sp.write }()
	case <-a.x.quit:
		return false // Close keeps what was made of the graph
	}
	if a.x.ended(context.Background()) == nil && a.advance() {
		return true
	}
	a.x.mu.Lock()
	defer a.x.mu.Unlock()
	if _, v, _ := a.sp.state(); v != a.v && !a.x.closed {
		return true // it was opened anew meanwhile, by who does not hold write
	}
	a.sp.arranging = false
	return false
}

func (a *arranger) advance() (more bool) {
	if _, v, _ := a.sp.state(); v != a.v || v == nil {
		*a = arranger{x: a.x, sp: a.sp, v: v}
	}
	switch {
	case a.v == nil:
		return false
	case !a.begun:
		return a.begin()
	case a.going != nil:
		a.mend()
	case !a.insert():
		a.begun = false
		a.x.keepGraph(a.sp)
	}
	return true
}

// begin begins a round, if one is due.
func (a *arranger) begin() bool {
	v := a.v
	if !v.due(a.x.o.GraphFrom) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.slots) < a.x.o.GraphFrom {
		v.ungraph()
		_ = os.Remove(a.sp.graphFile()) // it is not read for so few
		return false
	}
	if v.graph == nil {
		v.graph = newGraph()
	}
	a.begun, a.at, a.end, a.going = true, 0, int32(len(v.ids)), maps.Clone(v.graph.dead)
	return true
}

// mend leads links past the nodes that are going and, when all are, takes these out.
func (a *arranger) mend() {
	v := a.v
	end := min(a.at+arrangeStep, int32(len(v.graph.level)))
	for ; a.at < end; a.at++ {
		v.graph.mend(v, a.at, a.going)
	}
	if int(end) < len(v.graph.level) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.graph.drop(a.going)
	for s := range a.going {
		v.free = append(v.free, s)
	}
	v.unkept = true
	a.going, a.at = nil, 0
}

// insert puts in what has a vector and is no node, and says whether there is more.
func (a *arranger) insert() (more bool) {
	v := a.v
	for n := 0; n < arrangeStep && a.at < a.end; a.at++ {
		if v.versions[a.at] != 0 && !v.graph.has(a.at) {
			n++
			v.mu.Lock()
			v.graph.insert(v, a.at)
			v.unkept = true
			v.mu.Unlock()
		}
	}
	return a.at < a.end
}

// keepGraph writes the graph to its file. The caller holds write. One of which more
// than a sixteenth is dead is not read again.
func (x *Index) keepGraph(sp *space) {
	rec, v, _ := sp.state()
	if v == nil || v.graph == nil || v.graph.nodes == 0 {
		return
	}
	err := x.room(sp.dir)
	if err == nil {
		err = durable.Write(sp.graphFile(), encodeGraph(v, rec.Active))
	}
	if v.unkept = err != nil; v.unkept { // it is here, and can be made again
		x.log("a graph is not kept", "space", sp.name, "error", err)
	}
}

// ungraph drops the graph. Slots of nodes whose chunk is gone are free.
func (v *vectors) ungraph() {
	for s := range v.graph.dead {
		v.free = append(v.free, s)
	}
	v.graph = nil
}
