package qkvtree

// fits says if so many bytes more can be stored when all goes that may go for
// it. It wants mu.
func (t *Tree) fits(need int64, keep map[*node]bool, idle bool) bool {
	if idle {
		need += t.f.bytes
		return need <= t.limit || need-t.f.yields(keep) <= t.limit
	}
	for n := range keep {
		need += n.bytes
	}
	return need <= t.limit
}

// evict makes room for so many bytes, if it can without keep, and says if there
// is room now. Idle work may have been told that it can, and find that a View
// used the slices meanwhile: they stay.
func (t *Tree) evict(need int64, keep map[*node]bool, idle bool) (bool, error) {
	for {
		t.mu.Lock()
		fits := t.f.bytes+need <= t.limit
		var n *node
		switch {
		case fits:
		case idle:
			n = t.f.idleVictim(keep)
		default:
			n = t.f.victim(keep)
		}
		t.mu.Unlock()
		if n == nil {
			return fits, nil
		}
		info, err := t.remove(n)
		if err != nil {
			return false, err
		}
		t.mu.Lock()
		t.f.clock = max(t.f.clock, n.priority)
		t.stats.evicted++
		t.mu.Unlock()
		if fn := t.o.Observer.Evicted; fn != nil {
			fn(info)
		}
	}
}

// Free says how many bytes may still come in without anything being evicted.
func (t *Tree) Free() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.limit-t.f.bytes)
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
