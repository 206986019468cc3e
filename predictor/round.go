package predictor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// From says what a prediction was made from.
type From string

// The sources of predictions.
const (
	Knowledge From = "knowledge"
	History   From = "history"
)

// Prediction is a question that the user may ask.
type Prediction struct {
	ID       [16]byte
	Question string
	From     From
	Chunks   []percached.ChunkID // that it rests on
	// Asked are the questions of the history that it came from, as NewID names
	// them.
	Asked     [][16]byte
	Made      time.Time
	Populated bool // it was prefilled or answered
	Hits      uint64
	LastHit   time.Time
}

// Round is what came of asking the model once for predictions.
type Round struct {
	// Sources is how many parts of the abstract, or questions of the history,
	// it was made from. 0: there was nothing to do.
	Sources int
	New     []Prediction
	Dropped map[Drop]int
	Usage   Usage
}

// draft is a round that is under way.
type draft struct {
	*Predictor
	space    string
	work     *work
	from     From
	versions map[percached.ChunkID]uint64 // of the chunks it rests on
	parts    []*part                      // that are used up by it
	asked    [][16]byte
	stride   int
}

// stride is how many questions are asked for; none means as many as usual.
func (p *Predictor) stride(n int) (int, error) {
	if n == 0 {
		n = p.o.Stride
	}
	if n < 1 || n > maxStride {
		return 0, fault.New(fault.Invalid, "predictor: stride", "%d is not between 1 and %d", n, maxStride)
	}
	return n, nil
}

// asking is what asking for predictions in a space begins with: the prompt's
// wording, the space's kind, and how many questions are asked for.
func (p *Predictor) asking(space, prompt, ours string, n int) (w wording, kind string, stride int, err error) {
	if stride, err = p.stride(n); err != nil {
		return w, "", 0, err
	}
	about, err := p.o.Knowledge.Space(space)
	if err != nil {
		return w, "", 0, err
	}
	w, err = p.wording(space, prompt, ours)
	return w, about.Kind, stride, err
}

// tokens bound the list that is asked for.
func (d *draft) tokens() int { return d.stride * d.o.QuestionTokens }

// end parses what the model printed, and stores what is of use.
func (d *draft) end(ctx context.Context, res *percached.Result) (Round, error) {
	r := Round{Sources: len(d.parts) + len(d.asked), Usage: usage(res)}
	questions, dropped := parse(res.Text, d.stride, res.Finish != percached.FinishLength)
	var fresh []string
	for _, q := range questions {
		why, err := d.sift(ctx, q)
		if err != nil {
			return r, err
		}
		if why != "" {
			dropped[why]++
			continue
		}
		fresh = append(fresh, q)
	}
	return r, d.store(&r, fresh, dropped)
}

// sift says why a question is of no use, if it is not.
func (d *draft) sift(ctx context.Context, q string) (Drop, error) {
	id := newID(d.work.space, q)
	if slices.Contains(d.asked, id) || d.predicted(id) {
		return Known, nil
	}
	known, err := d.o.Check.Known(ctx, d.space, q)
	if known || err != nil {
		return Known, err
	}
	supported, err := d.o.Check.Supported(ctx, d.space, q)
	if !supported || err != nil {
		return Unsupported, err
	}
	return "", nil
}

func (d *draft) predicted(id [16]byte) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.shelves[d.work.space]
	return s != nil && s.predictions[id] != nil
}

// store writes a round in one transaction: or, if what it rests on has changed
// meanwhile, nothing.
func (d *draft) store(r *Round, questions []string, dropped map[Drop]int) error {
	d.write.Lock()
	defer d.write.Unlock()
	ok, err := d.stands(d.space, d.work, d.versions)
	if err != nil || !ok || !d.unused() {
		return err
	}
	var fresh []Prediction
	now := moment(d.o.Now())
	for _, q := range questions {
		id := newID(d.work.space, q)
		if d.predicted(id) { // by another round, meanwhile
			dropped[Known]++
			continue
		}
		fresh = append(fresh, Prediction{
			ID: id, Question: q, From: d.from, Chunks: slices.Clone(d.work.chunks), Asked: slices.Clone(d.asked), Made: now,
		})
	}
	counts := d.counts(dropped)
	if err := d.o.DB.Update(func(tx *kv.Tx) error { return d.set(tx, fresh, counts) }); err != nil {
		return err
	}
	r.New, r.Dropped = fresh, dropped
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.shelf(d.work.space)
	rests := slices.Clone(d.work.chunks)
	for _, pt := range d.parts {
		pt.used = true
	}
	for i := range fresh {
		s.predictions[fresh[i].ID] = &guess{from: d.from, made: now, chunks: rests}
	}
	s.dropped = counts
	return nil
}

// unused says whether the parts are still there and nobody else used them.
func (d *draft) unused() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.shelves[d.work.space]
	for _, pt := range d.parts {
		if s == nil || s.parts[pt.chunk] != pt || pt.used {
			return false
		}
	}
	return true
}

// counts adds up what was dropped in the space ever, with this round.
func (d *draft) counts(dropped map[Drop]int) map[Drop]uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	counts := map[Drop]uint64{}
	if s := d.shelves[d.work.space]; s != nil {
		maps.Copy(counts, s.dropped)
	}
	for why, n := range dropped {
		counts[why] += uint64(n)
	}
	return counts
}

func (d *draft) set(tx *kv.Tx, fresh []Prediction, counts map[Drop]uint64) error {
	for i := range fresh {
		k := key(predictionByte, d.work.space, fresh[i].ID[:]...)
		if err := tx.Set(k, encodePrediction(k, &fresh[i])); err != nil {
			return err
		}
		k = key(stateByte, d.work.space, fresh[i].ID[:]...)
		if err := tx.Set(k, encodeState(k, state{})); err != nil {
			return err
		}
	}
	for _, pt := range d.parts {
		if err := d.markUsed(tx, pt); err != nil {
			return err
		}
	}
	if len(counts) == 0 {
		return nil
	}
	k := key(countsByte, d.work.space)
	return tx.Set(k, encodeCounts(k, counts))
}

// markUsed writes a part anew. One that has become unreadable is left to be
// found when it is read for its text.
func (d *draft) markUsed(tx *kv.Tx, pt *part) error {
	k := partKey(d.work.space, pt.chunk)
	v, err := tx.Get(k)
	if err != nil {
		return err
	}
	was, text, err := decodePart(k, v)
	if err != nil {
		return err
	}
	was.used = true
	return tx.Set(k, encodePart(k, was, text))
}
