package predictor

import (
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// work is a call that is under way: what it rests on may be forgotten before it
// ends.
type work struct {
	space   kv.SpaceID
	chunks  []percached.ChunkID
	history bool // it rests on what was asked
	void    bool // nothing of it may be stored any more
}

// begin makes a work known. It comes before the look at the chunks, so that
// they are seen gone there or the work is made void here.
func (p *Predictor) begin(w *work) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works[w] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.works, w)
	}
}

// narrow says that a work rests on these chunks only.
func (p *Predictor) narrow(w *work, chunks []percached.ChunkID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.chunks = chunks
}

// void makes the works of a space void that rest on what is forgotten. The
// caller holds write.
func (p *Predictor) void(space kv.SpaceID, rests func(*work) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.works {
		if w.space == space && rests(w) {
			w.void = true
		}
	}
}

// stands says whether what a work rests on is still there as it was. The
// caller holds write until the work is stored.
func (p *Predictor) stands(space string, w *work, versions map[percached.ChunkID]uint64) (bool, error) {
	p.mu.RLock()
	void := w.void
	p.mu.RUnlock()
	if void {
		return false, nil
	}
	now, err := p.versions(space, w.chunks)
	if fault.KindOf(err) == fault.NotFound { // the space is gone
		return false, nil
	}
	return !slices.ContainsFunc(w.chunks, func(id percached.ChunkID) bool {
		v, there := now[id]
		return !there || v != versions[id]
	}), err
}

// look is how many chunks are looked at in one go.
const look = 512

// versions gives the versions of those chunks that are there. One that is
// damaged counts as gone.
func (p *Predictor) versions(space string, ids []percached.ChunkID) (map[percached.ChunkID]uint64, error) {
	versions := make(map[percached.ChunkID]uint64, len(ids))
	for some := range slices.Chunk(ids, look) {
		chunks, err := p.o.Knowledge.Chunks(space, some)
		if err != nil && fault.KindOf(err) != fault.Internal {
			return nil, err
		}
		for i := range chunks {
			versions[chunks[i].ID] = chunks[i].Version
		}
	}
	return versions, nil
}
