package predictor

import (
	"slices"
	"sync"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// group is how many records one transaction writes.
const group = 500

// Predictor holds the abstracts and predictions of all spaces.
type Predictor struct {
	o Options
	// write is held by whoever changes the disk, from looking whether the
	// chunks are still there to changing memory.
	write sync.Mutex
	// mu guards what follows. It is never held while the disk is used.
	mu      sync.RWMutex
	shelves map[kv.SpaceID]*shelf
	works   map[*work]struct{} // that are under way
}

// Open reads what the database holds into memory; texts stay on disk. The
// database stays the caller's, who closes it after the predictor.
func Open(o Options) (*Predictor, error) {
	const op = "predictor.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	p := &Predictor{o: o, shelves: map[kv.SpaceID]*shelf{}, works: map[*work]struct{}{}}
	l := loader{to: p, states: map[string]state{}}
	if err := o.DB.View(l.load); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if err := p.deleteKeys(l.gone); err != nil {
		return nil, fault.Wrap(op, err)
	}
	return p, nil
}

// Flush writes the hits that were gathered.
func (p *Predictor) Flush() error {
	p.write.Lock()
	defer p.write.Unlock()
	type dirty struct {
		g     *guess
		key   []byte
		state state
	}
	var all []dirty
	p.mu.RLock()
	for space, s := range p.shelves {
		for id, g := range s.predictions {
			if g.dirty {
				all = append(all, dirty{g, key(stateByte, space, id[:]...), g.state})
			}
		}
	}
	p.mu.RUnlock()
	for part := range slices.Chunk(all, group) {
		err := p.o.DB.Update(func(tx *kv.Tx) error {
			for _, d := range part {
				if err := tx.Set(d.key, encodeState(d.key, d.state)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fault.Wrap("predictor.Flush", err)
		}
		p.mu.Lock()
		for _, d := range part {
			d.g.dirty = d.g.state != d.state // hits that came meanwhile
		}
		p.mu.Unlock()
	}
	return nil
}

// Close writes what Flush would. The predictor must not be used any more.
func (p *Predictor) Close() error { return fault.Wrap("predictor.Close", p.Flush()) }

func (p *Predictor) deleteKeys(keys [][]byte) error {
	for part := range slices.Chunk(keys, group) {
		err := p.o.DB.Update(func(tx *kv.Tx) error {
			for _, k := range part {
				if err := tx.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
