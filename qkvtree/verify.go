package qkvtree

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

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
	return r, fault.Wrap(op, t.audit(&r))
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
		_, size, err = t.store.lend(tx, n.group.id, n.group.prefix, n.path)
		return err
	})
	switch {
	case isLoss(err):
		r.Damaged += t.drop(n)
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
func (t *Tree) audit(r *Report) error {
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
	stale, err := t.store.unowned(nodes, have)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if have[n] != 2+n.pieces && n.group.nodes[n.path] == n { // not gone with another
			r.Damaged += t.discard(n, &SliceError{Path: n.path, Err: ErrMissing})
		}
	}
	r.Stale = len(stale)
	return t.store.delete(stale)
}

// unowned gives the keys that belong to none of these nodes, and counts the
// others by node.
func (st *store) unowned(nodes map[string]*node, have map[*node]int) (stale [][]byte, err error) {
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
