package qkvtree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
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
		gs.Used = usedTime(used)
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
			infos = append(infos, g.infos()...)
		}
	}
	t.mu.Unlock()
	for _, n := range infos {
		fn(n)
	}
}

func (f *forest) sorted() []*modelGroup {
	gs := make([]*modelGroup, 0, len(f.groups))
	for _, g := range f.groups {
		gs = append(gs, g)
	}
	slices.SortFunc(gs, func(a, b *modelGroup) int { return bytes.Compare(a.prefix[:], b.prefix[:]) })
	return gs
}

// walk goes down from every node whose parent is not stored; siblings stand by
// priority, the worthiest first.
func (g *modelGroup) infos() []Info {
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

// Report is what Verify found. What was wrong is mended when it returns.
type Report struct {
	Slices  int   // read and found sound
	Bytes   int64 // of those, as they lie in the database
	Damaged int   // slices that could not be read as they were written, and those that stood behind them: gone
	Stale   int   // records that belonged to no slice: gone
	// Uncounted is by how many bytes what is stored differs from what the limit
	// is held against.
	Uncounted int64
}

// Clean says that nothing was wrong.
func (r Report) Clean() bool { return r.Damaged == 0 && r.Stale == 0 && r.Uncounted == 0 }

// Verify reads every slice and holds it against its MAC and checksums, and the
// records against what the tree has in memory. Requests go on meanwhile.
func (t *Tree) Verify(ctx context.Context) (Report, error) {
	const op = "qkvtree.Verify"
	var r Report
	for _, n := range t.all() {
		if err := ctx.Err(); err != nil {
			return r, fault.Wrap(op, err)
		}
		if err := t.verify(n, &r); err != nil {
			return r, fault.Wrap(op, err)
		}
	}
	return r, fault.Wrap(op, t.auditRecords(&r))
}

// all gives the nodes of this moment, group by group.
func (t *Tree) all() []*node {
	t.mu.Lock()
	defer t.mu.Unlock()
	nodes := make([]*node, 0, t.f.count)
	for _, g := range t.f.sorted() {
		for _, n := range g.nodes {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (t *Tree) verify(n *node, r *Report) error {
	var size int64
	err := t.store.db.View(func(tx *kv.Tx) (err error) {
		_, size, err = t.store.view(tx, n.group.id, n.group.prefix, n.path)
		return err
	})
	switch {
	case isLossError(err):
		r.Damaged += t.dropUnreadable(n)
		return nil
	case err != nil:
		return err
	}
	r.Slices++
	r.Bytes += size
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.group.nodes[n.path] == n { // else another one was stored in its place
		r.Uncounted += size - n.bytes
	}
	return nil
}

// audit holds the keys in the database against the nodes in memory.
func (t *Tree) auditRecords(r *Report) error {
	if err := t.begin("qkvtree.audit"); err != nil {
		return err
	}
	defer t.writing.Unlock()
	nodes := map[string]*node{}
	var bytes int64
	for _, n := range t.all() {
		nodes[string(nodeKey(headerKind, n.group.prefix, n.path)[1:])] = n
		bytes += n.bytes
	}
	t.mu.Lock()
	r.Uncounted += bytes - t.f.bytes
	t.mu.Unlock()
	have := map[*node]int{}
	stale, err := t.store.orphanRecords(nodes, have)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if have[n] != 2+n.pieces && n.group.nodes[n.path] == n { // not gone with another
			r.Damaged += t.discardSubtree(n, &SliceError{Path: n.path, Err: ErrMissing})
		}
	}
	r.Stale = len(stale)
	return t.store.delete(stale)
}

// unowned gives the keys that belong to none of these nodes, and counts the
// others by node.
func (st *store) orphanRecords(nodes map[string]*node, have map[*node]int) (stale [][]byte, err error) {
	err = st.db.View(func(tx *kv.Tx) error {
		return tx.Keys(nil, func(k []byte, _ int64) error {
			var n *node
			if len(k) >= nodeSize {
				n = nodes[string(k[1:nodeSize])]
			}
			switch k[0] {
			case ageKind:
				if len(k) == 1 {
					return nil
				}
				n = nil
			case headerKind, counterKind:
				if len(k) != nodeSize {
					n = nil
				}
			case pieceKind:
				if len(k) != pieceSize || n != nil && binary.BigEndian.Uint32(k[nodeSize:]) >= uint32(n.pieces) {
					n = nil
				}
			default:
				n = nil
			}
			if n == nil {
				stale = append(stale, bytes.Clone(k))
				return nil
			}
			have[n]++
			return nil
		})
	})
	return stale, err
}
