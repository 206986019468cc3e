package predictor

import (
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// loader fills a predictor that nobody else sees yet.
type loader struct {
	to     *Predictor
	states map[string]state // by key behind its type, until a prediction takes them
	gone   [][]byte         // keys to remove
}

func (l *loader) load(tx *kv.Tx) error {
	for _, step := range []struct {
		kind byte
		read func(k, v []byte) error
	}{{partByte, l.part}, {stateByte, l.state}, {predictionByte, l.prediction}, {countsByte, l.counts}} {
		err := tx.Scan([]byte{ownByte, step.kind}, func(k, v []byte, damage error) error {
			err := damage
			if err == nil {
				err = step.read(k, v)
			}
			if err == nil || !unreadable(err) {
				return err
			}
			l.gone = append(l.gone, slices.Clone(k))
			l.to.damaged(err)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for rest := range l.states { // no prediction took them
		l.gone = append(l.gone, append([]byte{ownByte, stateByte}, rest...))
	}
	return nil
}

// unreadable says that a record is damaged, whoever found that out.
func unreadable(err error) bool {
	return errors.Is(err, sealed.ErrDamaged) || errors.Is(err, kv.ErrDamaged)
}

func (l *loader) part(k, v []byte) error {
	space, id, ok := splitKey(k, 16)
	pt, _, err := decodePart(k, v)
	if err == nil && !ok {
		err = sealed.ErrDamaged
	}
	if err != nil {
		return err
	}
	pt.chunk = percached.ChunkID(id)
	l.to.shelf(space).put(pt)
	return nil
}

func (l *loader) state(k, v []byte) error {
	s, err := decodeState(k, v)
	if err == nil {
		l.states[string(k[2:])] = s
	}
	return err
}

func (l *loader) prediction(k, v []byte) error {
	space, id, ok := splitKey(k, 16)
	p, err := decodePrediction(k, v)
	if err == nil && (!ok || [16]byte(id) != newID(space, p.Question)) {
		err = sealed.ErrDamaged
	}
	if err != nil {
		return err
	}
	l.to.shelf(space).predictions[[16]byte(id)] = &guess{from: p.From, made: p.Made, chunks: p.Chunks, state: l.states[string(k[2:])]}
	delete(l.states, string(k[2:]))
	return nil
}

func (l *loader) counts(k, v []byte) error {
	space, _, ok := splitKey(k, 0)
	c, err := decodeCounts(k, v)
	if err == nil && !ok {
		err = sealed.ErrDamaged
	}
	if err == nil {
		l.to.shelf(space).dropped = c
	}
	return err
}
