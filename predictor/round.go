package predictor

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// From is the source of a prediction.
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
	Chunks   []percached.ChunkID // its source
	// Asked are the IDs of the history questions behind it; see NewID.
	Asked     [][16]byte
	Made      time.Time
	Populated bool // it was prefilled or answered
	Hits      uint64
	LastHit   time.Time
}

// Round is the result of one request for predictions.
type Round struct {
	// Sources is how many parts of the abstract or questions of the history the prompt
	// contained. 0: nothing was left to use.
	Sources int
	New     []Prediction
	Dropped map[Drop]int
	Usage   Usage
}

// proposal is a question that a round may store, with what it was made from.
type proposal struct {
	question string
	from     From
	chunks   []percached.ChunkID
	asked    [][16]byte // questions of the history
}

// draft is a round in progress.
type draft struct {
	*Predictor
	space    string
	work     *task
	from     From
	versions map[percached.ChunkID]uint64 // of its chunks
	parts    []*part                      // used by this round
	chunks   []percached.ChunkID          // in the prompt
	asked    [][16]byte                   // in the prompt
	stride   int
}

// stride checks how many questions to ask for; 0 means the default.
func (p *Predictor) stride(n int) (int, error) {
	if n == 0 {
		n = p.o.Stride
	}
	if n < 1 || n > maxStride {
		return 0, fault.New(fault.Invalid, "predictor: stride", "invalid stride %d: it is not between 1 and %d", n, maxStride)
	}
	return n, nil
}

// prepareRound returns what a round needs: the prompt, the kind of space, and how many
// questions to ask for.
func (p *Predictor) prepareRound(space, prompt, ours string, n int) (w promptTemplate, kind string, stride int, err error) {
	if stride, err = p.stride(n); err != nil {
		return w, "", 0, err
	}
	about, err := p.o.Knowledge.Space(space)
	if err != nil {
		return w, "", 0, err
	}
	w, err = p.loadPrompt(space, prompt, ours)
	return w, about.Kind, stride, err
}

// tokens is the maximum length of the list.
func (d *draft) tokens() int { return d.stride * d.o.QuestionTokens }

// finish stores the useful questions of the model's output, and those that need no model:
// of the form of these chunks' sentences if the round is about them, and by analogy to the
// questions asked.
func (d *draft) finish(ctx context.Context, res *percached.Result, chunks []percached.ChunkID, asked []Asked) (Round, error) {
	r := Round{Sources: len(d.parts) + len(d.asked), Usage: usage(res)}
	questions, dropped := []string(nil), map[Drop]int{}
	if res.Usage.Prompt > 0 {
		questions, dropped = parse(res.Text, d.stride, res.Finish != percached.FinishLength)
	}
	var printed []proposal
	for _, q := range questions {
		printed = append(printed, proposal{q, d.from, slices.Clone(d.chunks), slices.Clone(d.asked)})
	}
	d.widenTask(chunks)
	texts, err := d.readChunks(chunks)
	if err != nil { // NotFound: the space was deleted
		return r, ignoreGone(err)
	}
	var kept []proposal
	for _, from := range []iter.Seq[proposal]{slices.Values(d.factQuestions(texts)), d.analogies(asked, texts), slices.Values(printed)} {
		useful, err := d.useful(ctx, from, d.stride, dropped)
		if err != nil {
			return r, err
		}
		kept = append(kept, useful...)
	}
	rests := slices.Clone(d.chunks)
	for _, q := range kept {
		rests = append(rests, q.chunks...)
	}
	d.narrowTask(d.work, rests)
	return r, d.store(&r, kept, dropped)
}

// ignoreGone ignores that a space was deleted meanwhile.
func ignoreGone(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// readChunks reads chunks for questions without a model. The round depends on them.
func (d *draft) readChunks(ids []percached.ChunkID) (texts []percached.Chunk, err error) {
	err = d.eachChunk(d.space, ids, func(c percached.Chunk) {
		texts = append(texts, c)
		if _, used := d.versions[c.ID]; !used { // else the prompt contains that version
			d.versions[c.ID] = c.Version
		}
	})
	return texts, err
}

// useful tests proposals until n are useful, or 4 n are not.
func (d *draft) useful(ctx context.Context, proposals iter.Seq[proposal], n int, dropped map[Drop]int) (kept []proposal, err error) {
	tried := map[[16]byte]bool{}
	for q := range proposals {
		id := newID(d.work.space, q.question)
		if tried[id] || len(q.question) > maxQuestion {
			continue
		}
		tried[id] = true
		why, err := d.reject(ctx, q.question)
		switch {
		case err != nil:
			return nil, err
		case why != "":
			dropped[why]++
		default:
			kept = append(kept, q)
		}
		if len(kept) >= n || len(tried) >= 4*n {
			break
		}
	}
	return kept, nil
}

// reject returns why a question is useless, or "".
func (d *draft) reject(ctx context.Context, q string) (Drop, error) {
	id := newID(d.work.space, q)
	if slices.Contains(d.asked, id) || d.isPredicted(id) {
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

func (d *draft) isPredicted(id [16]byte) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.states[d.work.space]
	return s != nil && s.predictions[id] != nil
}

// store writes a round in one transaction. It writes nothing if the sources changed
// meanwhile.
func (d *draft) store(r *Round, questions []proposal, dropped map[Drop]int) error {
	d.write.Lock()
	defer d.write.Unlock()
	ok, err := d.isCurrent(d.space, d.work, d.versions)
	if err != nil || !ok || !d.partsUnused() {
		return err
	}
	var fresh []Prediction
	now := truncateTime(d.o.Now())
	for _, q := range questions {
		id := newID(d.work.space, q.question)
		if d.isPredicted(id) || slices.ContainsFunc(fresh, func(p Prediction) bool { return p.ID == id }) {
			dropped[Known]++
			continue
		}
		fresh = append(fresh, Prediction{ID: id, Question: q.question, From: q.from, Chunks: q.chunks, Asked: q.asked, Made: now})
	}
	counts := d.counts(dropped)
	if err := d.o.DB.Update(func(tx *kv.Tx) error { return d.writeRound(tx, fresh, counts) }); err != nil {
		return err
	}
	r.New, r.Dropped = fresh, dropped
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stateOf(d.work.space)
	for _, pt := range d.parts {
		pt.used = true
	}
	for i := range fresh {
		s.predictions[fresh[i].ID] = &storedPrediction{from: fresh[i].From, made: now, chunks: fresh[i].Chunks}
	}
	s.dropped = counts
	return nil
}

// partsUnused reports whether the parts still exist and no other round used them.
func (d *draft) partsUnused() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.states[d.work.space]
	for _, pt := range d.parts {
		if s == nil || s.parts[pt.chunk] != pt || pt.used {
			return false
		}
	}
	return true
}

// counts adds this round's dropped questions to the space's totals.
func (d *draft) counts(dropped map[Drop]int) map[Drop]uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	counts := map[Drop]uint64{}
	if s := d.states[d.work.space]; s != nil {
		maps.Copy(counts, s.dropped)
	}
	for why, n := range dropped {
		counts[why] += uint64(n)
	}
	return counts
}

func (d *draft) writeRound(tx *kv.Tx, fresh []Prediction, counts map[Drop]uint64) error {
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

// markUsed rewrites a part. If it is unreadable, the next read of its text deletes it.
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

// task is a call in progress. Its sources may be forgotten before it ends.
type task struct {
	space   kv.SpaceID
	chunks  []percached.ChunkID
	history bool // it depends on the history
	void    bool // its result must not be stored
}

// beginTask registers a task. It must precede the read of the chunks: then either that
// read finds them gone, or forgetting them voids the task.
func (p *Predictor) beginTask(w *task) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks[w] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.tasks, w)
	}
}

// narrowTask limits a task's dependencies to these chunks.
func (p *Predictor) narrowTask(w *task, chunks []percached.ChunkID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.chunks = chunks
}

// widenTask makes a round depend on more chunks. It must precede their read.
func (d *draft) widenTask(chunks []percached.ChunkID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work.chunks = append(slices.Clone(d.work.chunks), chunks...)
}

// voidTasks voids the tasks of a space that depend on something forgotten. The caller
// holds write.
func (p *Predictor) voidTasks(space kv.SpaceID, rests func(*task) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.tasks {
		if w.space == space && rests(w) {
			w.void = true
		}
	}
}

// isCurrent reports whether the sources of a task are unchanged. The caller holds write
// until the task's result is stored.
func (p *Predictor) isCurrent(space string, w *task, versions map[percached.ChunkID]uint64) (bool, error) {
	p.mu.RLock()
	void := w.void
	p.mu.RUnlock()
	if void {
		return false, nil
	}
	now, err := p.versions(space, w.chunks)
	if fault.KindOf(err) == fault.NotFound { // the space was deleted
		return false, nil
	}
	return !slices.ContainsFunc(w.chunks, func(id percached.ChunkID) bool {
		v, there := now[id]
		return !there || v != versions[id]
	}), err
}

// chunkBatch is how many chunks one read returns.
const chunkBatch = 512

// versions returns the versions of the existing chunks. A damaged one counts as gone.
func (p *Predictor) versions(space string, ids []percached.ChunkID) (map[percached.ChunkID]uint64, error) {
	versions := make(map[percached.ChunkID]uint64, len(ids))
	err := p.eachChunk(space, ids, func(c percached.Chunk) { versions[c.ID] = c.Version })
	if err != nil {
		return nil, err
	}
	return versions, nil
}

// eachChunk reads the existing chunks in batches. A damaged one counts as gone.
func (p *Predictor) eachChunk(space string, ids []percached.ChunkID, fn func(percached.Chunk)) error {
	for some := range slices.Chunk(ids, chunkBatch) {
		chunks, err := p.o.Knowledge.Chunks(space, some)
		if err != nil && fault.KindOf(err) != fault.Internal {
			return err
		}
		for i := range chunks {
			fn(chunks[i])
		}
	}
	return nil
}
