package predictor

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Predictions lists the predictions of a space, latest first.
func (p *Predictor) Predictions(space string) ([]Prediction, error) {
	const op = "predictor.Predictions"
	p.mu.RLock()
	var ids [][16]byte
	if s := p.states[kv.NewSpaceID(space)]; s != nil {
		ids = slices.Collect(maps.Keys(s.predictions))
	}
	p.mu.RUnlock()
	out := make([]Prediction, 0, len(ids))
	for _, id := range ids {
		pr, err := p.Get(space, id)
		if fault.KindOf(err) == fault.NotFound { // deleted meanwhile, or damaged
			continue
		}
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		out = append(out, pr)
	}
	slices.SortFunc(out, func(a, b Prediction) int {
		return cmp.Or(b.Made.Compare(a.Made), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return out, nil
}

// Unpopulated lists up to n predictions that are neither prefilled nor answered, latest
// first. It does not access the disk.
func (p *Predictor) Unpopulated(space string, n int) [][16]byte {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.states[kv.NewSpaceID(space)]
	if s == nil {
		return nil
	}
	var ids [][16]byte
	for id, g := range s.predictions {
		if !g.state.populated {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b [16]byte) int {
		return cmp.Or(s.predictions[b].made.Compare(s.predictions[a].made), bytes.Compare(a[:], b[:]))
	})
	return ids[:min(max(n, 0), len(ids))]
}

// Get reads a prediction. NotFound means that it does not exist.
func (p *Predictor) Get(space string, id [16]byte) (Prediction, error) {
	const op = "predictor.Get"
	hash := kv.NewSpaceID(space)
	p.mu.RLock()
	g := p.prediction(hash, id)
	var st state
	if g != nil {
		st = g.state
	}
	p.mu.RUnlock()
	if g == nil {
		return Prediction{}, fault.New(fault.NotFound, op, "prediction %x does not exist", id)
	}
	k := key(predictionByte, hash, id[:]...)
	var pr Prediction
	err := p.o.DB.View(func(tx *kv.Tx) error {
		v, err := tx.Get(k)
		if err == nil {
			pr, err = decodePrediction(k, v)
		}
		return err
	})
	if err != nil && (unreadable(err) || fault.KindOf(err) == fault.NotFound) {
		if err := p.dropDamaged(hash, id, g, err); err != nil {
			return Prediction{}, fault.Wrap(op, err)
		}
		return Prediction{}, fault.New(fault.NotFound, op, "prediction %x was damaged and is deleted", id)
	}
	pr.ID, pr.Populated, pr.Hits, pr.LastHit = id, st.populated, st.hits, st.last
	return pr, fault.Wrap(op, err)
}

// dropDamaged deletes an unreadable prediction, unless it was replaced meanwhile.
func (p *Predictor) dropDamaged(space kv.SpaceID, id [16]byte, g *storedPrediction, why error) error {
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.RLock()
	same := p.prediction(space, id) == g
	s := p.states[space]
	p.mu.RUnlock()
	if !same {
		return nil
	}
	p.damaged(why)
	return p.erasePredictions(space, s, [][16]byte{id})
}

// prediction returns one prediction or nil. The caller holds mu.
func (p *Predictor) prediction(space kv.SpaceID, id [16]byte) *storedPrediction {
	if s := p.states[space]; s != nil {
		return s.predictions[id]
	}
	return nil
}

// Populated records that a prediction was prefilled or answered. NotFound means that it
// does not exist.
func (p *Predictor) Populated(space string, id [16]byte) error {
	const op = "predictor.Populated"
	hash := kv.NewSpaceID(space)
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.RLock()
	g := p.prediction(hash, id)
	var st state
	if g != nil {
		st = g.state
	}
	p.mu.RUnlock()
	if g == nil {
		return fault.New(fault.NotFound, op, "prediction %x does not exist", id)
	}
	if st.populated {
		return nil
	}
	st.populated = true
	k := key(stateByte, hash, id[:]...)
	if err := p.o.DB.Update(func(tx *kv.Tx) error { return tx.Set(k, encodeState(k, st)) }); err != nil {
		return fault.Wrap(op, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.state.populated = true
	g.dirty = g.state != st
	return nil
}

// Hit counts a request for a predicted question. Flush writes it. An unknown ID is
// ignored.
func (p *Predictor) Hit(space string, id [16]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.prediction(kv.NewSpaceID(space), id); g != nil {
		g.state.hits++
		g.state.last = truncateTime(p.o.Now())
		g.dirty = true
	}
}

// Cited lists the chunks behind the parts and predictions of a space, each once.
func (p *Predictor) Cited(space string) ([]percached.ChunkID, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.states[kv.NewSpaceID(space)]
	if s == nil {
		return nil, nil
	}
	cited := map[percached.ChunkID]bool{}
	for c := range s.parts {
		cited[c] = true
	}
	for _, g := range s.predictions {
		for _, c := range g.chunks {
			cited[c] = true
		}
	}
	return slices.SortedFunc(maps.Keys(cited), func(a, b percached.ChunkID) int { return bytes.Compare(a[:], b[:]) }), nil
}

// Stats are the counts of a space.
type Stats struct {
	Parts       int             `json:"summaries"` // parts of the abstract
	Empty       int             `json:"empty"`     // parts for which the model found nothing to say
	Waiting     int             `json:"unused"`    // parts without a prediction
	Bytes       int64           `json:"bytes"`     // of the abstract's texts
	Predictions int             `json:"predictions"`
	FromHistory int             `json:"from_history"` // predictions from the history; the others are from knowledge
	Populated   int             `json:"populated"`
	Hit         int             `json:"asked"`   // predictions asked at least once
	Dropped     map[Drop]uint64 `json:"dropped"` // output without use, since the beginning
}

// Stats returns the counts of a space, or zeros if it does not exist.
func (p *Predictor) Stats(space string) (Stats, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	out := Stats{Dropped: map[Drop]uint64{}}
	s := p.states[kv.NewSpaceID(space)]
	if s == nil {
		return out, nil
	}
	out.Parts, out.Bytes, out.Predictions = len(s.parts), s.bytes, len(s.predictions)
	for _, pt := range s.parts {
		out.Empty += int(bit(pt.bytes == 0))
		out.Waiting += int(bit(pt.isUnused()))
	}
	for _, g := range s.predictions {
		out.FromHistory += int(bit(g.from == History))
		out.Populated += int(bit(g.state.populated))
		out.Hit += int(bit(g.state.hits > 0))
	}
	maps.Copy(out.Dropped, s.dropped)
	return out, nil
}
