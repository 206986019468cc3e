package qkvtree

import (
	"bytes"
	"cmp"
	"context"
	"math"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// fits says if so many bytes more can be stored in a space when all goes that may
// go for it. It wants mu.
func (t *Tree) canFit(space string, need int64, keep map[*node]bool, idle bool) bool {
	own := t.f.shares[space].excess(need)
	if idle {
		whole := t.f.bytes + need - t.limit
		if own > 0 && own > t.f.evictableBytesIn(space, keep) {
			return false
		}
		return whole <= max(0, own) || whole <= t.f.evictableBytes(keep)
	}
	limit := t.limit
	if s := t.f.shares[space]; s != nil && s.limit >= 0 {
		limit = min(limit, s.limit)
	}
	for n := range keep { // all of the same space
		need += n.bytes
	}
	return need <= limit
}

// evict makes room for so many bytes of a space, if it can without keep, and says
// if there is room now: first in the space's own limit, of its own slices, and then
// in the tree's. Idle work may have been told that it can, and find that a View
// used the slices meanwhile: they stay.
func (t *Tree) evict(space string, need int64, keep map[*node]bool, idle bool) (bool, error) {
	own := func() (bool, *node) {
		switch {
		case t.f.shares[space].excess(need) <= 0:
			return true, nil
		case idle:
			return false, t.f.idleVictimIn(space, keep)
		}
		return false, t.f.victimIn(space, keep)
	}
	whole := func() (bool, *node) {
		switch {
		case t.f.bytes+need <= t.limit:
			return true, nil
		case idle:
			return false, t.f.idleVictim(keep)
		}
		return false, t.f.victim(keep)
	}
	fits, err := t.evictUntil(own, func(n *node) {
		s := t.f.shareOf(space)
		s.clock = max(s.clock, n.local)
	})
	if !fits || err != nil {
		return false, err
	}
	return t.evictUntil(whole, func(n *node) { t.f.clock = max(t.f.clock, n.priority) })
}

// yield removes what next gives until that says that there is room, or that there
// is nothing left. Went moves a clock on. Both are called under mu.
func (t *Tree) evictUntil(next func() (fits bool, n *node), went func(*node)) (bool, error) {
	for {
		t.mu.Lock()
		fits, n := next()
		t.mu.Unlock()
		if n == nil {
			return fits, nil
		}
		info, err := t.remove(n)
		if err != nil {
			return false, err
		}
		t.mu.Lock()
		went(n)
		t.stats.evicted++
		t.mu.Unlock()
		if fn := t.o.Observer.Evicted; fn != nil {
			fn(info)
		}
	}
}

// FreeIn says how many bytes of a space may still come in without anything being
// evicted, under the tree's limit and the space's own.
func (t *Tree) FreeIn(space string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := t.limit - t.f.bytes
	if s := t.f.shares[space]; s != nil && s.limit >= 0 {
		free = min(free, s.limit-s.bytes)
	}
	return max(0, free)
}

// remove removes a node from disk and then from memory. A View that finds it in
// memory alone takes it for not stored.
func (t *Tree) remove(n *node) (Info, error) {
	err := t.store.remove(n.group.prefix, n.path)
	t.mu.Lock()
	defer t.mu.Unlock()
	info := n.info()
	if err == nil {
		t.f.remove(n)
		delete(t.changed, n)
	}
	return info, err
}

// share is one space's part of the tree. Its limit counts what the tree's does,
// for this space's slices. So that they grow old among themselves, it has a clock
// of its own, which is never behind the tree's: what makes room here must not age
// the slices of other spaces.
type spaceShare struct {
	bytes int64
	limit int64 // negative: none
	clock uint64
}

// share finds a space's part, or makes it.
func (f *forest) shareOf(space string) *spaceShare {
	s := f.shares[space]
	if s == nil {
		s = &spaceShare{limit: -1}
		f.shares[space] = s
	}
	return s
}

// over is by how many bytes a space would be above its own limit with so many
// more; it may be negative.
func (s *spaceShare) excess(need int64) int64 {
	if s == nil || s.limit < 0 {
		return -1
	}
	return s.bytes + need - s.limit
}

// clockIn is the clock that a space's slices are held against for its own limit.
func (f *forest) clockIn(space string) uint64 {
	if s := f.shares[space]; s != nil {
		return max(f.clock, s.clock)
	}
	return f.clock
}

// victimIn is victim among the slices of one space, by their worth there.
func (f *forest) victimIn(space string, keep map[*node]bool) *node {
	var best, pinned *node
	for n := range f.leavesIn(space, keep) {
		switch {
		case !n.root() || !f.isCurrent(n):
			if best == nil || beforeIn(n, best) {
				best = n
			}
		case pinned == nil || beforeIn(n, pinned):
			pinned = n
		}
	}
	if best != nil {
		return best
	}
	return pinned
}

// idleVictimIn is idleVictim among the slices of one space.
func (f *forest) idleVictimIn(space string, keep map[*node]bool) *node {
	var best *node
	for n := range f.leavesIn(space, keep) {
		if !n.root() && n.local <= f.clockIn(space) && (best == nil || beforeIn(n, best)) {
			best = n
		}
	}
	return best
}

// yieldsIn is yields for idleVictimIn.
func (f *forest) evictableBytesIn(space string, keep map[*node]bool) int64 {
	clock := f.clockIn(space)
	return f.countEvictable(
		func(g *modelGroup) bool { return g.id.space == space },
		func(n *node) bool { return !n.root() && !keep[n] && n.local <= clock },
	)
}

// ends yields the nodes of a space that nothing stands behind, outside of keep.
func (f *forest) leavesIn(space string, keep map[*node]bool) func(yield func(*node) bool) {
	return func(yield func(*node) bool) {
		for _, g := range f.groups {
			if g.id.space != space {
				continue
			}
			for _, n := range g.nodes {
				if n.kids == 0 && !keep[n] && !yield(n) {
					return
				}
			}
		}
	}
}

// beforeIn orders nodes of one space by their worth there, least first.
func beforeIn(a, b *node) bool {
	return cmp.Or(
		cmp.Compare(a.local, b.local), cmp.Compare(a.tick, b.tick),
		bytes.Compare(a.path[:], b.path[:]), bytes.Compare(a.group.prefix[:], b.group.prefix[:]),
	) < 0
}

// What the database's files take is more than what is stored: evicted slices
// lie in them until their file is rewritten, which costs as much writing as the
// file holds of what stays. So some garbage is borne, the more the larger the
// limit is, and then the file with most of it is rewritten, one for a slice
// that comes in. If that does not help, because a View still reads the file,
// slices are refused before the files exceed the limit by its slack.
const (
	tolerated   = 16   // that part of the limit, and a third of the database's overhead
	refuseAbove = 8    // that part, and its overhead
	worthwhile  = 0.05 // of a file must be garbage
)

// space watches what the database's files really take. It belongs to who holds
// writing.
type diskSpace struct {
	db         *kv.DB
	disk       int64 // at the last look, and what was let in since
	rewritten  int64 // was written anew to give space back
	retryAfter int64 // how much is to come in before the next try, after a vain one
}

// slack is by how much the files may exceed a limit.
func (s *diskSpace) slack(limit int64) int64 {
	// A limit may be the greatest number there is.
	return min(limit/refuseAbove+s.db.Overhead(), math.MaxInt64-limit)
}

func (s *diskSpace) measure() error {
	n, err := s.db.Size()
	if err == nil {
		s.disk = n
	}
	return err
}

// admit says whether so many bytes may be written without the files exceeding
// the limit and its slack. It rewrites a file if that is what it takes, or soon
// will be.
func (s *diskSpace) reserve(n, limit int64) (bool, error) {
	bound := limit + s.slack(limit)
	soon := limit + min(limit/tolerated+s.db.Overhead()/3, s.slack(limit))
	if s.disk+n <= soon {
		s.disk += n
		return true, nil
	}
	if err := s.measure(); err != nil {
		return false, err
	}
	s.retryAfter -= n
	for _, settle := range []kv.Settle{kv.SettleRecent, kv.SettleAll} {
		if s.disk+n <= soon || s.retryAfter > 0 {
			break
		}
		before := s.disk
		moved, _, err := s.db.ReclaimStep(context.Background(), worthwhile, settle)
		if err != nil && fault.KindOf(err) != fault.Conflict {
			return false, err
		}
		s.rewritten += moved
		if err := s.measure(); err != nil {
			return false, err
		}
		if s.disk < before {
			break
		}
		if settle == kv.SettleAll { // a View holds the file, or there is no garbage
			s.retryAfter = s.db.Overhead() / 16
		}
	}
	if s.disk+n > bound {
		return false, nil
	}
	s.disk += n
	return true, nil
}

// shrink gives back what can be given back now.
func (s *diskSpace) shrink() error {
	err := s.db.Reclaim(context.Background())
	if fault.KindOf(err) == fault.Conflict { // a Rewrite is at it
		err = nil
	}
	if err == nil {
		err = s.measure()
	}
	return err
}

// Compact rewrites the database without what was evicted, forgotten or
// overwritten: no byte of that is left in any file then. It needs room for a
// copy of what is stored, waits for a moment without Views, and must not be
// called inside one: see kv.DB.Rewrite.
func (t *Tree) Compact(ctx context.Context, progress func(done, total int64)) error {
	return fault.Wrap("qkvtree.Compact", t.store.db.Rewrite(ctx, progress))
}

// fitDisk brings the files of a database that was just opened inside the
// limit's slack. It may fail: Insert then stores nothing until it succeeds.
func (t *Tree) shrinkDisk() {
	bound := t.limit + t.space.slack(t.limit)
	if t.space.measure() != nil || t.space.disk <= bound {
		return
	}
	if t.space.shrink() == nil && t.space.disk > bound {
		// Badger has lost count of its garbage.
		if t.store.db.Rewrite(context.Background(), nil) == nil {
			_ = t.space.measure()
		}
	}
}
