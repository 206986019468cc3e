package qkvtree

import (
	"bytes"
	"cmp"
	"context"
	"math"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// canFit reports whether eviction can make room for this many bytes of a space. The
// caller holds mu.
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
	for n := range keep { // all in the same space
		need += n.bytes
	}
	return need <= limit
}

// evict makes room for this many bytes of a space without evicting keep, and reports
// whether there is room: first within the space's limit, by its own slices, then within
// the tree's. For idle work a View may meanwhile use slices that canFit counted; they
// stay.
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

// evictOverdue enforces lowered limits of the tree and of spaces, if that is due: since they
// were lowered, or since it failed, for example because the disk was full. The caller holds
// writing.
func (t *Tree) evictOverdue() error {
	if !t.overdue {
		return nil
	}
	spaces := []string{""} // for the tree's limit alone
	t.mu.Lock()
	for name, s := range t.f.shares {
		if s.excess(0) > 0 {
			spaces = append(spaces, name)
		}
	}
	t.mu.Unlock()
	for _, space := range spaces {
		if _, err := t.evict(space, 0, nil, false); err != nil {
			return err
		}
	}
	if err := t.space.shrink(); err != nil {
		return err
	}
	t.overdue = false
	return nil
}

// evictUntil removes the nodes that next returns until there is room or nothing is left.
// went advances a clock. Both are called under mu.
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

// FreeIn returns how many bytes of a space fit without eviction, under the tree's limit
// and the space's own.
func (t *Tree) FreeIn(space string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := t.limit - t.f.bytes
	if s := t.f.shares[space]; s != nil && s.limit >= 0 {
		free = min(free, s.limit-s.bytes)
	}
	return max(0, free)
}

// remove deletes a node from disk and then from memory. A View that finds it in memory
// only treats it as not stored. Its hot copy goes first, and even if the deletion fails: the
// header may be gone from the disk then.
func (t *Tree) remove(n *node) (Info, error) {
	t.mu.Lock()
	t.f.hot.drop(n)
	t.mu.Unlock()
	err := t.store.remove(n.group.prefix, n.path)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.f.hot.drop(n) // a View may have kept it meanwhile
	info := n.info()
	if err == nil {
		t.f.remove(n)
		delete(t.changed, n)
	}
	return info, err
}

// spaceShare is one space's part of the tree. Its limit counts like the tree's, for this
// space's slices only. It has its own clock, at least as high as the tree's, so that
// evictions here do not age the slices of other spaces.
type spaceShare struct {
	bytes int64
	limit int64 // negative: unlimited
	clock uint64
}

// shareOf returns a space's part and creates it if necessary.
func (f *forest) shareOf(space string) *spaceShare {
	s := f.shares[space]
	if s == nil {
		s = &spaceShare{limit: -1}
		f.shares[space] = s
	}
	return s
}

// excess is by how many bytes a space would exceed its own limit with need more; it may
// be negative.
func (s *spaceShare) excess(need int64) int64 {
	if s == nil || s.limit < 0 {
		return -1
	}
	return s.bytes + need - s.limit
}

// clockIn is the clock for a space's own limit.
func (f *forest) clockIn(space string) uint64 {
	if s := f.shares[space]; s != nil {
		return max(f.clock, s.clock)
	}
	return f.clock
}

// victimIn is victim among the slices of one space, by their priority there.
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

// evictableBytesIn is evictableBytes for idleVictimIn.
func (f *forest) evictableBytesIn(space string, keep map[*node]bool) int64 {
	clock := f.clockIn(space)
	return f.countEvictable(
		func(g *modelGroup) bool { return g.id.space == space },
		func(n *node) bool { return !n.root() && !keep[n] && n.local <= clock },
	)
}

// leavesIn lists the nodes of a space without nodes after them, except keep.
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

// beforeIn sorts nodes of one space by their priority there, lowest first.
func beforeIn(a, b *node) bool {
	return cmp.Or(
		cmp.Compare(a.local, b.local), cmp.Compare(a.tick, b.tick),
		bytes.Compare(a.path[:], b.path[:]), bytes.Compare(a.group.prefix[:], b.group.prefix[:]),
	) < 0
}

// The database's files are larger than the stored slices: evicted slices stay in a file
// until it is rewritten, which costs as many written bytes as the file still holds. So a
// certain amount of garbage is tolerated, in proportion to the limit. Beyond it, each
// insert rewrites the file with the most garbage. If that does not help, because a View
// still reads the file, slices are refused before the files exceed the limit by its
// slack.
const (
	tolerated   = 16   // fraction of the limit, plus a third of the database's overhead
	refuseAbove = 8    // fraction of the limit, plus the overhead
	worthwhile  = 0.05 // minimum garbage in a file
)

// diskSpace tracks the real size of the database's files. The caller holds writing.
type diskSpace struct {
	db         *kv.DB
	disk       int64 // at the last measurement, plus reservations since
	rewritten  int64 // bytes rewritten to reclaim space
	retryAfter int64 // bytes to reserve before the next attempt, after a useless one
}

// slack is by how much the files may exceed a limit.
func (s *diskSpace) slack(limit int64) int64 {
	// A limit may be the maximum int64.
	return min(limit/refuseAbove+s.db.Overhead(), math.MaxInt64-limit)
}

func (s *diskSpace) measure() error {
	n, err := s.db.Size()
	if err == nil {
		s.disk = n
	}
	return err
}

// reserve reports whether n bytes may be written without the files exceeding the limit
// and its slack. It rewrites a file if that is necessary now or soon.
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
	for _, settle := range []kv.SettleMode{kv.SettleRecent, kv.SettleAll} {
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
		if settle == kv.SettleAll { // a View reads the file, or there is no garbage
			s.retryAfter = s.db.Overhead() / 16
		}
	}
	if s.disk+n > bound {
		return false, nil
	}
	s.disk += n
	return true, nil
}

// shrink reclaims what can be reclaimed now.
func (s *diskSpace) shrink() error {
	err := s.db.Reclaim(context.Background())
	if fault.KindOf(err) == fault.Conflict { // a Rewrite is running
		err = nil
	}
	if err == nil {
		err = s.measure()
	}
	return err
}

// Compact rewrites the database without evicted, forgotten or overwritten slices: no file
// then contains any of their bytes. It needs disk space for a copy of all stored slices,
// waits for a moment without Views, and must not be called inside one; see kv.DB.Rewrite.
func (t *Tree) Compact(ctx context.Context, progress func(done, total int64)) error {
	return fault.Wrap("qkvtree.Compact", t.store.db.Rewrite(ctx, progress))
}

// shrinkDisk reduces the files of a newly opened database to the limit and its slack. If
// it fails, Insert stores nothing until it succeeds.
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
