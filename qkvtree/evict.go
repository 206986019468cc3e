package qkvtree

// fits says if so many bytes more can be stored in a space when all goes that may
// go for it. It wants mu.
func (t *Tree) fits(space string, need int64, keep map[*node]bool, idle bool) bool {
	own := t.f.shares[space].over(need)
	if idle {
		whole := t.f.bytes + need - t.limit
		if own > 0 && own > t.f.yieldsIn(space, keep) {
			return false
		}
		return whole <= max(0, own) || whole <= t.f.yields(keep)
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
		case t.f.shares[space].over(need) <= 0:
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
	fits, err := t.yield(own, func(n *node) {
		s := t.f.share(space)
		s.clock = max(s.clock, n.local)
	})
	if !fits || err != nil {
		return false, err
	}
	return t.yield(whole, func(n *node) { t.f.clock = max(t.f.clock, n.priority) })
}

// yield removes what next gives until that says that there is room, or that there
// is nothing left. Went moves a clock on. Both are called under mu.
func (t *Tree) yield(next func() (fits bool, n *node), went func(*node)) (bool, error) {
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
