package qkvtree

// fits says if so many bytes more can be stored when all but keep goes. It
// wants mu.
func (t *Tree) fits(need int64, keep map[*node]bool) bool {
	for n := range keep {
		need += n.bytes
	}
	return need <= t.limit
}

// evict makes room for so many bytes, if it can without keep.
func (t *Tree) evict(need int64, keep map[*node]bool) error {
	for {
		t.mu.Lock()
		var n *node
		if t.f.bytes+need > t.limit {
			n = t.f.victim(keep)
		}
		t.mu.Unlock()
		if n == nil {
			return nil
		}
		info, err := t.remove(n)
		if err != nil {
			return err
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
