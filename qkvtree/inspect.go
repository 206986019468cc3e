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

// Stats count what is stored, and what happened since Open.
type Stats struct {
	Limit int64
	Bytes int64 // stored, as the limit counts them
	Disk  int64 // blocks used by the database's files
	Slack int64 // by how much Disk may exceed Limit
	Nodes int

	Requests uint64 // calls of View without idle ones, also in Hits and Absent
	Hits     uint64 // segments lent
	Hot      uint64 // of Hits, those lent from memory
	Absent   uint64 // segments that were not stored, or followed one that was not
	Damaged  uint64 // stored segments that were unreadable
	Stored   uint64 // slices inserted
	Refused  uint64 // slices without room
	Evicted  uint64
	Expired  uint64 // slices of turns that nobody used for long
	Dropped  uint64 // damaged slices, and slices after them, that were deleted
	// Written is the number of bytes written to the database, Moved the number rewritten
	// to reclaim space. (Written + Moved) / Requests is the disk cost of an answer,
	// without badger's own logs and small tables.
	Written int64
	Moved   int64
	Flushes uint64 // of counters

	Promoted uint64 // packed slices that exact ones replaced
	Packed   uint64 // slices that were replaced by smaller ones

	HotLimit int64 // of slices kept in memory; see Tree.SetHotLimit
	HotBytes int64

	Forms  map[percached.Form]FormStats // of the slices stored now
	Groups []GroupStats                 // by space, model and placement
}

// FormStats count the slices of one form.
type FormStats struct {
	Nodes int
	Bytes int64
}

// GroupStats count the slices that one prompt can combine.
type GroupStats struct {
	Space     string
	Model     string
	Placement percached.Placement
	Nodes     int
	Bytes     int64
	Hits      uint64    // of the slices stored now
	Used      time.Time // zero: none was used
}

// tally is what Stats counts since Open.
type tally struct {
	requests, hits, absent, damaged   uint64
	hot                               uint64
	stored, refused, evicted, dropped uint64
	promoted, packed                  uint64
	expired                           uint64
	flushes                           uint64
	written, moved                    int64
}

// Stats returns the current counts.
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
		Requests: c.requests, Hits: c.hits, Hot: c.hot, HotLimit: t.f.hot.limit, HotBytes: t.f.hot.bytes, Absent: c.absent, Damaged: c.damaged, Stored: c.stored, Refused: c.refused,
		Evicted: c.evicted, Expired: c.expired, Dropped: c.dropped, Written: c.written, Moved: c.moved, Flushes: c.flushes,
		Promoted: c.promoted, Packed: c.packed, Forms: map[percached.Form]FormStats{},
	}
	for _, g := range t.f.groups {
		gs := GroupStats{Space: g.id.space, Model: g.id.model, Placement: g.id.placement, Nodes: len(g.nodes)}
		var used int64
		for _, n := range g.nodes {
			gs.Bytes += n.bytes
			of := s.Forms[n.form]
			s.Forms[n.form] = FormStats{Nodes: of.Nodes + 1, Bytes: of.Bytes + n.bytes}
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

// Nodes calls fn for every slice of a space at the time of the call: by group, each slice
// before its children. fn may call the tree.
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

// infos lists the nodes below every node without a stored parent; siblings by priority,
// highest first.
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

// Report is the result of Verify. Everything wrong has been repaired.
type Report struct {
	Slices  int   // intact slices
	Bytes   int64 // of those, in the database
	Damaged int   // unreadable slices and slices after them, deleted
	Stale   int   // records without a slice, deleted
	// Uncounted is the difference in bytes between the stored records and the counted
	// size.
	Uncounted int64
}

// Clean reports whether nothing was wrong.
func (r Report) Clean() bool { return r.Damaged == 0 && r.Stale == 0 && r.Uncounted == 0 }

// Verify checks every slice against its MAC and checksums, and the records against
// memory. Requests continue meanwhile.
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

// all lists all current nodes by group.
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
	var form percached.Form
	err := t.store.db.View(func(tx *kv.Tx) error {
		s, n, err := t.store.view(tx, n.group.id, n.group.prefix, n.path)
		if err == nil {
			size, form = n, s.Form
		}
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
	if n.group.nodes[n.path] == n && n.form == form { // otherwise it was replaced
		r.Uncounted += size - n.bytes
	}
	return nil
}

// auditRecords compares the keys in the database with the nodes in memory.
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
		if have[n] != 2+n.pieces && n.group.nodes[n.path] == n { // unless it was dropped with another
			r.Damaged += t.discardSubtree(n, &SliceError{Path: n.path, Err: ErrMissing})
		}
	}
	r.Stale = len(stale)
	return t.store.delete(stale)
}

// orphanRecords lists the keys that belong to none of these nodes, and counts the others
// by node.
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
