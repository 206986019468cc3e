package predictor

import (
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// removal selects what to delete.
type removal struct {
	work   func(*task) bool // tasks whose result must not be stored
	part   func(*part) bool
	guess  func(*storedPrediction) bool
	counts bool
}

// Forget deletes the parts of chunks and the predictions based on them. It does not wait
// for the engine: the result of a call in progress that depends on them will not be
// stored.
func (p *Predictor) Forget(space string, chunks []percached.ChunkID) (parts, predictions int, err error) {
	gone := make(map[percached.ChunkID]bool, len(chunks))
	for _, c := range chunks {
		gone[c] = true
	}
	rests := func(on []percached.ChunkID) bool {
		return slices.ContainsFunc(on, func(c percached.ChunkID) bool { return gone[c] })
	}
	parts, predictions, err = p.remove(space, removal{
		work:  func(w *task) bool { return rests(w.chunks) },
		part:  func(pt *part) bool { return gone[pt.chunk] },
		guess: func(g *storedPrediction) bool { return rests(g.chunks) },
	})
	return parts, predictions, fault.Wrap("predictor.Forget", err)
}

// ForgetHistory deletes the predictions of a space that came from the history.
func (p *Predictor) ForgetHistory(space string) (int, error) {
	_, n, err := p.remove(space, removal{
		work:  func(w *task) bool { return w.history },
		part:  func(*part) bool { return false },
		guess: func(g *storedPrediction) bool { return g.from == History },
	})
	return n, fault.Wrap("predictor.ForgetHistory", err)
}

// OlderHistory counts the predictions of a space that came from the history and were made
// before a time.
func (p *Predictor) OlderHistory(space string, before time.Time) (n int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if s := p.states[kv.NewSpaceID(space)]; s != nil {
		for _, g := range s.predictions {
			if g.fromHistoryBefore(before) {
				n++
			}
		}
	}
	return n
}

// ExpireHistory deletes what OlderHistory counts.
func (p *Predictor) ExpireHistory(space string, before time.Time) (int, error) {
	_, n, err := p.remove(space, removal{
		work:  func(*task) bool { return false },
		part:  func(*part) bool { return false },
		guess: func(g *storedPrediction) bool { return g.fromHistoryBefore(before) },
	})
	return n, fault.Wrap("predictor.ExpireHistory", err)
}

func (g *storedPrediction) fromHistoryBefore(t time.Time) bool {
	return g.from == History && g.made.Before(t)
}

// DropSpace deletes everything about a space, including its counts.
func (p *Predictor) DropSpace(space string) (parts, predictions int, err error) {
	parts, predictions, err = p.remove(space, removal{
		work:   func(*task) bool { return true },
		part:   func(*part) bool { return true },
		guess:  func(*storedPrediction) bool { return true },
		counts: true,
	})
	return parts, predictions, fault.Wrap("predictor.DropSpace", err)
}

// remove voids the affected tasks and then deletes what the removal selects.
func (p *Predictor) remove(space string, d removal) (parts, predictions int, err error) {
	id := kv.NewSpaceID(space)
	p.write.Lock()
	defer p.write.Unlock()
	p.voidTasks(id, d.work)
	p.mu.RLock()
	s := p.states[id]
	var chunks []percached.ChunkID
	var guesses [][16]byte
	if s != nil {
		for c, pt := range s.parts {
			if d.part(pt) {
				chunks = append(chunks, c)
			}
		}
		for q, g := range s.predictions {
			if d.guess(g) {
				guesses = append(guesses, q)
			}
		}
	}
	p.mu.RUnlock()
	if s == nil {
		return 0, 0, nil
	}
	for some := range slices.Chunk(chunks, group) {
		if err := p.eraseParts(id, s, some); err != nil {
			return parts, predictions, err
		}
		parts += len(some)
	}
	for some := range slices.Chunk(guesses, group) {
		if err := p.erasePredictions(id, s, some); err != nil {
			return parts, predictions, err
		}
		predictions += len(some)
	}
	if d.counts {
		err = p.eraseCounts(id, s)
	}
	return parts, predictions, err
}

// The callers of the following methods hold write.

func (p *Predictor) eraseParts(space kv.SpaceID, s *spaceState, chunks []percached.ChunkID) error {
	var keys [][]byte
	for _, c := range chunks {
		keys = append(keys, partKey(space, c))
	}
	if err := p.deleteKeys(keys); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range chunks {
		s.removePart(c)
	}
	return nil
}

func (p *Predictor) erasePredictions(space kv.SpaceID, s *spaceState, ids [][16]byte) error {
	var keys [][]byte
	for _, id := range ids {
		keys = append(keys, key(predictionByte, space, id[:]...), key(stateByte, space, id[:]...))
	}
	if err := p.deleteKeys(keys); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		delete(s.predictions, id)
	}
	return nil
}

func (p *Predictor) eraseCounts(space kv.SpaceID, s *spaceState) error {
	if err := p.deleteKeys([][]byte{key(countsByte, space)}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.dropped = map[Drop]uint64{}
	return nil
}
