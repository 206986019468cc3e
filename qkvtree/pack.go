package qkvtree

import (
	"cmp"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// usedOften is the number of uses from which a slice is packed after all others, and is
// replaced by an exact one when idle work computes it again.
const usedOften = 2

// Packer makes a slice smaller. It neither keeps nor changes it.
type Packer func(s *percached.Slice, to percached.Form) (*percached.Slice, error)

// Pack replaces the least valuable slice of a space, model and placement by one in the
// next form, up to least, and returns the bytes that this freed and wrote; 0: there is
// none. System segments and turns of conversations stay as they are.
//
// Slices that were used at most once go first, the largest form first, then in the order
// of eviction. Under sequential placement a slice goes before the one that it follows,
// because nothing exact can be computed behind a packed slice. A slice that the next form
// would not make smaller stays as it is and is not tried again.
func (t *Tree) Pack(space, model string, p percached.Placement, least percached.Form, pack Packer) (freed, written int64, err error) {
	for {
		n := t.nextToPack(groupID{space, model, p}, least)
		if n == nil {
			return 0, 0, nil
		}
		if freed, written, err = t.packNode(n, pack); err != errNotSmaller {
			return freed, written, err
		}
	}
}

// errNotSmaller means that a slice is not smaller in the next form: scales take more than
// the numbers of a few tokens save.
var errNotSmaller = errors.New("the packed slice is not smaller")

// packNode replaces a slice by one in the next form.
func (t *Tree) packNode(n *node, pack Packer) (freed, written int64, err error) {
	const op = "qkvtree.Pack"
	var h *header
	var packed *percached.Slice
	err = t.store.db.View(func(tx *kv.Tx) error {
		s, _, err := t.store.view(tx, n.group.id, n.group.prefix, n.path)
		if err != nil {
			return err
		}
		if packed, err = pack(s, s.Form+1); err != nil {
			return err
		}
		at := position{path: n.path, parent: n.above, chunk: n.chunk, tokens: s.Tokens}
		h, err = newHeader(n.group.id, at, packed, t.o.Now())
		return err
	})
	if isLossError(err) {
		t.dropUnreadable(n)
		return n.bytes, 0, nil
	}
	if err != nil {
		return 0, 0, fault.Wrap(op, err)
	}
	if err := t.begin(op); err != nil {
		return 0, 0, err
	}
	defer t.writing.Unlock()
	before := n.bytes
	if h.recordBytes() >= before && n.form < packed.Form {
		t.mu.Lock()
		defer t.mu.Unlock()
		n.smallest = true
		return 0, 0, errNotSmaller
	}
	if written, err = t.exchange(n, h, packed, map[*node]bool{n: true}, true); err != nil {
		return 0, 0, fault.Wrap(op, err)
	}
	return before - n.bytes, written, nil
}

// Packable reports whether Pack would find a slice.
func (t *Tree) Packable(space, model string, p percached.Placement, least percached.Form) bool {
	return t.nextToPack(groupID{space, model, p}, least) != nil
}

// Filled is the share of the tree's limit that is in use, or of the space's own limit if
// that is higher.
func (t *Tree) Filled(space string) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	share := func(used, limit int64) float64 { return float64(used) / float64(max(1, limit)) }
	filled := share(t.f.bytes, t.limit)
	if s := t.f.shares[space]; s != nil && s.limit >= 0 {
		filled = max(filled, share(s.bytes, s.limit))
	}
	return filled
}

// nextToPack returns the node that Pack replaces.
func (t *Tree) nextToPack(id groupID, least percached.Form) (best *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.f.groups[id]
	if g == nil {
		return nil
	}
	exactBehind := map[*node]bool{} // nodes that an exact one follows
	for _, n := range g.nodes {
		if n.form == percached.Exact && n.parent != nil {
			exactBehind[n.parent] = true
		}
	}
	for _, n := range g.nodes {
		if n.root() || n.turn || n.mayBeTurn(id.placement) || n.form >= least || n.smallest || exactBehind[n] && id.placement == percached.Sequential {
			continue
		}
		if best == nil || packBefore(n, best) {
			best = n
		}
	}
	return best
}

// mayBeTurn says that the node may be a turn of a conversation that an earlier release stored.
func (n *node) mayBeTurn(p percached.Placement) bool {
	return p == percached.Parallel && (n.kids > 0 || n.parent != nil && !n.parent.root())
}

// packBefore sorts nodes by what to pack first.
func packBefore(a, b *node) bool {
	often := func(n *node) int {
		if n.hits >= usedOften {
			return 1
		}
		return 0
	}
	if c := cmp.Or(cmp.Compare(often(a), often(b)), cmp.Compare(a.form, b.form)); c != 0 {
		return c < 0
	}
	return before(a, b)
}

// exchange replaces a stored slice by the same one in another form, if it is still there,
// and if there is room. It returns the bytes written. The caller holds writing.
func (t *Tree) exchange(n *node, h *header, s *percached.Slice, keep map[*node]bool, idle bool) (int64, error) {
	t.mu.Lock()
	h.chunk, h.turn, h.made = n.chunk, n.turn, n.made // another segment may have the same tokens
	there, size, count := n.group.nodes[n.path] == n, h.recordBytes(), n.counters
	grows := size - n.bytes
	t.mu.Unlock()
	if !there {
		return 0, nil
	}
	if grows > 0 {
		if fits, err := t.makeRoom(n.group.id.space, grows, keep, idle); !fits || err != nil {
			return 0, err
		}
		t.space.disk += size - grows // the files get all of it
	} else if fits, err := t.space.reserve(size, t.limit); !fits || err != nil {
		return 0, err
	}
	if err := t.store.put(n.group.prefix, h, s, count); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, g := range t.f.subtree(n.group, func(o *node) bool { return o == n }) {
			t.f.remove(g)
			delete(t.changed, g)
		}
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.f.bytes += grows
	t.f.shareOf(n.group.id.space).bytes += grows
	n.smallest = false
	n.bytes, n.form, n.pieces = size, h.slice.Form, len(h.sizes)
	t.f.hot.drop(n)
	t.stats.written += size
	if n.form == percached.Exact {
		t.stats.promoted++
	} else {
		t.stats.packed++
	}
	return size, nil
}
