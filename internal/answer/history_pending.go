package answer

import "slices"

// of finds what is kept of a space, or makes it.
func (h *History) of(space string) *past {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.spaces[space]
	if p == nil {
		p = &past{}
		h.spaces[space] = p
	}
	return p
}

// gather adds a record to what is pending of a space, and says whether it is the
// last of so many. A full disk may keep them long.
func (h *History) gather(space string, r Record) (full bool) {
	p := h.of(space)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.gathered++
	p.pending = h.latest(append(p.pending, r))
	return p.gathered%historyBatch == 0
}

func (h *History) gathered(p *past) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.gathered
}

// latest are as many records as a space may have.
func (h *History) latest(rs []Record) []Record { return rs[max(0, len(rs)-h.limit):] }

// take empties what is pending of a space.
func (h *History) take(p *past) []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	rs := p.pending
	p.pending, p.gathered = nil, 0
	return rs
}

// giveBack makes records pending again, before what came meanwhile.
func (h *History) giveBack(p *past, rs []Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.pending = h.latest(append(rs, p.pending...))
}

// pending is a copy of what is pending of a space.
func (h *History) pending(p *past) []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(p.pending)
}
