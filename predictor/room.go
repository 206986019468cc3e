package predictor

import (
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// keep stores a part, and removes older ones that must make room for it.
func (p *Predictor) keep(space string, w *work, pt *part, text string) error {
	p.write.Lock()
	defer p.write.Unlock()
	ok, err := p.stands(space, w, map[percached.ChunkID]uint64{pt.chunk: pt.version})
	if !ok || err != nil {
		return err
	}
	pt.bytes = len(text)
	p.mu.RLock()
	old, fits := p.shelves[w.space].room(pt, p.o.AbstractLimit)
	p.mu.RUnlock()
	if !fits {
		return nil
	}
	k := partKey(w.space, pt.chunk)
	value := encodePart(k, pt, text)
	err = p.o.DB.Update(func(tx *kv.Tx) error {
		for _, o := range old {
			if err := tx.Delete(partKey(w.space, o.chunk)); err != nil {
				return err
			}
		}
		return tx.Set(k, value)
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shelf(w.space)
	for _, o := range old {
		s.drop(o.chunk)
	}
	s.put(pt)
	return nil
}

// room picks the parts that must go for one, the oldest first, and only such as
// are older. It fits or not; it always does if Unsummarised named its chunk and
// nothing newer came in since: it leaves room for all that is wanted.
func (s *shelf) room(pt *part, limit int64) (old []*part, fits bool) {
	if s == nil {
		return nil, int64(pt.bytes) <= limit
	}
	need := s.bytes + int64(pt.bytes) - limit
	if was := s.parts[pt.chunk]; was != nil {
		need -= int64(was.bytes)
	}
	if need <= 0 {
		return nil, true
	}
	var older []*part
	for _, o := range s.parts {
		if o.chunk != pt.chunk && o.bytes > 0 && byPlace(pt, o) < 0 {
			older = append(older, o)
		}
	}
	slices.SortFunc(older, byPlace)
	for _, o := range slices.Backward(older) {
		if need <= 0 {
			break
		}
		old = append(old, o)
		need -= int64(o.bytes)
	}
	return old, need <= 0
}
