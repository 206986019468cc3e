package qkvtree

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Stats are counts of what is stored, and since Open of what happened.
type Stats struct {
	Limit int64
	Bytes int64 // stored, as the limit counts them
	Disk  int64 // blocks that the database's files really take
	Slack int64 // what Disk may exceed Limit by
	Nodes int

	Requests uint64 // calls of View, as Hits and Absent without those of idle requests
	Hits     uint64 // segments lent
	Absent   uint64 // segments that were not stored, or stood behind one that was not
	Damaged  uint64 // segments that were stored and could not be read
	Stored   uint64 // slices that came in
	Refused  uint64 // slices for which there was no room
	Evicted  uint64
	Dropped  uint64 // damaged slices, and what stood behind them, that went
	// Written bytes went to the database, and Moved were written once more to
	// give space back. (Written + Moved) / Requests is what an answer costs the
	// disk, but for badger's own logs and tables of the small records.
	Written int64
	Moved   int64
	Flushes uint64 // of counters

	Groups []GroupStats // by space, model and placement
}

// GroupStats are the counts of the slices that can stand in one prompt.
type GroupStats struct {
	Space     string
	Model     string
	Placement percached.Placement
	Nodes     int
	Bytes     int64
	Hits      uint64    // of what is stored now
	Used      time.Time // zero: nobody has used any
}

// tally is what Stats counts since Open.
type tally struct {
	requests, hits, absent, damaged   uint64
	stored, refused, evicted, dropped uint64
	flushes                           uint64
	written, moved                    int64
}

// Stats counts.
func (t *Tree) Stats() (Stats, error) {
	disk, err := t.store.db.Size()
	if err != nil {
		return Stats{}, fault.Wrap("qkvtree.Stats", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.stats
	s := Stats{
		Limit: t.limit, Bytes: t.f.bytes, Disk: disk, Slack: t.space.slack(t.limit), Nodes: t.f.count,
		Requests: c.requests, Hits: c.hits, Absent: c.absent, Damaged: c.damaged, Stored: c.stored, Refused: c.refused,
		Evicted: c.evicted, Dropped: c.dropped, Written: c.written, Moved: c.moved, Flushes: c.flushes,
	}
	for _, g := range t.f.groups {
		gs := GroupStats{Space: g.id.space, Model: g.id.model, Placement: g.id.placement, Nodes: len(g.nodes)}
		var used int64
		for _, n := range g.nodes {
			gs.Bytes += n.bytes
			gs.Hits += n.hits
			used = max(used, n.used)
		}
		gs.Used = moment(used)
		s.Groups = append(s.Groups, gs)
	}
	slices.SortFunc(s.Groups, func(a, b GroupStats) int {
		return cmp.Or(strings.Compare(a.Space, b.Space), strings.Compare(a.Model, b.Model), cmp.Compare(a.Placement, b.Placement))
	})
	return s, nil
}

// Nodes tells fn of every slice of a space as it was when called: group by
// group, each slice before those behind it. Fn may call the tree.
func (t *Tree) Nodes(space string, fn func(Info)) {
	t.mu.Lock()
	var infos []Info
	for _, g := range t.f.sorted() {
		if g.id.space == space {
			infos = append(infos, g.walk()...)
		}
	}
	t.mu.Unlock()
	for _, n := range infos {
		fn(n)
	}
}

func (f *forest) sorted() []*group {
	gs := make([]*group, 0, len(f.groups))
	for _, g := range f.groups {
		gs = append(gs, g)
	}
	slices.SortFunc(gs, func(a, b *group) int { return bytes.Compare(a.prefix[:], b.prefix[:]) })
	return gs
}

// walk goes down from every node whose parent is not stored; siblings stand by
// priority, the worthiest first.
func (g *group) walk() []Info {
	kids := map[*node][]*node{}
	for _, n := range g.nodes {
		kids[n.parent] = append(kids[n.parent], n)
	}
	infos := make([]Info, 0, len(g.nodes))
	var down func(n *node)
	down = func(n *node) {
		if n != nil {
			infos = append(infos, n.info())
		}
		slices.SortFunc(kids[n], func(a, b *node) int {
			if before(b, a) {
				return -1
			}
			return 1
		})
		for _, k := range kids[n] {
			down(k)
		}
	}
	down(nil)
	return infos
}
