package idle

import (
	"cmp"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

const (
	scanBatch     = 256 // how many entries or chunks to check for missing tensors at a time, most useful first
	minFreeTokens = 64  // tokens; with less free space nothing is prefilled
	sliceOverhead = 640 // approximate bytes of a slice besides tensors and token ids
)

// tensorSearch is the state on which a search for missing tensors was based.
type tensorSearch struct {
	free       int64
	entries    int
	mark       string
	prediction percached.Prediction
}

// freeBytes is the free space for a space's tensors, 0 if they are not kept.
func (w *Worker) freeBytes(space string, r rules) int64 {
	if !r.Tensors {
		return 0
	}
	return w.Tree.FreeIn(space)
}

// tensorBytes is the approximate size of this many tokens in this many slices.
func (w *Worker) tensorBytes(tokens, slices int) int64 {
	return int64(tokens)*int64(w.Engine.Info().BytesPerToken+8) + int64(slices)*sliceOverhead
}

// dueRestore names entries whose chunks lack tensors, most useful first, while there is
// space.
func (w *Worker) dueRestore(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	free := w.freeBytes(space, r)
	now := tensorSearch{free, w.Bank.Stats(space).Entries, r.mark, r.Prediction}
	wanted := r.Conversion && free >= w.tensorBytes(minFreeTokens, 1)
	if wanted && w.full[space] == now {
		return nil, nil
	}
	delete(w.full, space)
	if !wanted {
		return nil, nil
	}
	var due []scheduler.Due
	looked, lacking := 0, false
	err := w.Bank.Scan(space, func(i qabank.Info) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if looked++; looked > scanBatch || len(due) >= limit || i.Stale || i.Settings != r.mark || i.Origin != answer.Asked && r.Prediction != percached.PredictBoth {
			return nil
		}
		e, err := w.Bank.Get(space, i.ID)
		if err != nil {
			return ignoreGone(err)
		}
		missing, err := w.Asker.Missing(space, evidence(e))
		if err != nil {
			return ignoreGone(err)
		}
		if missing == 0 {
			return nil
		}
		lacking = true
		if need := w.tensorBytes(missing, len(e.Evidence)+1); need <= free {
			free -= need
			due = append(due, scheduler.Due{Subject: i.ID.String()})
		}
		return nil
	})
	if err == nil && !lacking {
		w.full[space] = now
	}
	return due, err
}

// ignoreGone ignores deleted and damaged things, which must not hide others.
func ignoreGone(err error) error {
	if k := fault.KindOf(err); err == nil || k == fault.NotFound || k == fault.Internal {
		return nil
	}
	return err
}

func evidence(e qabank.Entry) []percached.ChunkID {
	ids := make([]percached.ChunkID, len(e.Evidence))
	for i, ev := range e.Evidence {
		ids[i] = ev.Chunk
	}
	return ids
}

func (w *Worker) restore(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	e, err := w.entry(space, subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	if !r.Conversion {
		return nothing()
	}
	return w.prefillMissing(ctx, space, r, evidence(e))
}

// prefillMissing prefills the missing tensors of these chunks, if there is space.
func (w *Worker) prefillMissing(ctx context.Context, space string, r rules, chunks []percached.ChunkID) (scheduler.Done, error) {
	missing, err := w.Asker.Missing(space, chunks)
	if err != nil {
		return scheduler.Done{}, err
	}
	if missing == 0 || w.tensorBytes(missing, len(chunks)+1) > w.freeBytes(space, r) {
		return nothing()
	}
	got, err := w.Asker.Fill(ctx, space, chunks)
	return cost(got), err
}

// dueWarm names chunks without tensors while there is space: the most likely to be
// retrieved first, then the newest. Under sequential placement such tensors serve only
// the first chunk of a prompt. It names none if idle work keeps only answers.
func (w *Worker) dueWarm(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	free := w.freeBytes(space, r)
	if r.Prediction == percached.PredictAnswers || free < w.tensorBytes(minFreeTokens, 1) {
		return nil, nil
	}
	if waits, err := w.waitsForPlacement(space, r); err != nil || waits {
		return nil, err
	}
	bare, err := w.chunksWithoutTensors(ctx, space, r)
	if err == nil && len(bare) > 0 {
		err = w.rankByRetrieval(ctx, space, bare)
	}
	var due []scheduler.Due
	for _, c := range bare[:min(len(bare), scanBatch)] {
		if len(due) >= limit || ctx.Err() != nil {
			break
		}
		missing, err := w.Asker.Missing(space, []percached.ChunkID{c.id})
		if ignoreGone(err) != nil {
			return due, err
		}
		need := w.tensorBytes(missing, 2)
		if err != nil || missing == 0 || need > free {
			continue // deleted, or the same tokens as another chunk
		}
		free -= need
		due = append(due, scheduler.Due{Subject: c.id.String()})
	}
	return due, err
}

func (w *Worker) warm(ctx context.Context, space string, r rules, subject string) (scheduler.Done, error) {
	c, err := id(subject)
	if err != nil {
		return scheduler.Done{}, err
	}
	if r.Prediction == percached.PredictAnswers {
		return nothing()
	}
	return w.prefillMissing(ctx, space, r, []percached.ChunkID{c})
}

// candidate is a chunk that may be prefilled.
type candidate struct {
	id    percached.ChunkID
	doc   percached.Document
	worth float64
}

// chunksWithoutTensors lists the chunks of a space that are not stored right after the
// instructions.
func (w *Worker) chunksWithoutTensors(ctx context.Context, space string, r rules) (found []candidate, err error) {
	model := w.Engine.Info().Fingerprint
	seen := map[percached.ChunkID]bool{}
	w.Tree.Nodes(space, func(n qkvtree.Info) {
		if n.Model == model && n.Placement == r.Placement && n.Depth == 1 {
			seen[n.Chunk] = true
		}
	})
	err = w.documents(ctx, space, func(d percached.Document) {
		for _, c := range d.Chunks {
			if !seen[c] {
				seen[c] = true
				found = append(found, candidate{id: c, doc: d})
			}
		}
	})
	return found, err
}

// rankByRetrieval sorts by likelihood of retrieval, then newest first.
func (w *Worker) rankByRetrieval(ctx context.Context, space string, chunks []candidate) error {
	worth, err := w.retrievalScores(ctx, space)
	if err != nil {
		return err
	}
	for i := range chunks {
		chunks[i].worth = worth[chunks[i].id]
	}
	slices.SortFunc(chunks, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), b.doc.Date.Compare(a.doc.Date), b.doc.Added.Compare(a.doc.Added), slices.Compare(a.id[:], b.id[:]))
	})
	return nil
}

// retrievalScores estimates how likely chunks are to be retrieved, from the questions asked.
func (w *Worker) retrievalScores(ctx context.Context, space string) (map[percached.ChunkID]float64, error) {
	past, err := w.History.Recent(space, asked)
	if err != nil {
		return nil, err
	}
	worth := NewWorth(past)
	if len(worth.Latest) == 0 {
		w.latest.forget(func(s string) bool { return s == space }) // the history was deleted
		return worth.Of, nil
	}
	vectors, err := w.latest.embed(ctx, w.Embedder, space, worth.Latest)
	if err != nil {
		return nil, err
	}
	for i, text := range worth.Latest {
		hits, err := w.Index.Search(ctx, retrieval.Query{Space: space, Text: text, Vector: vectors[i], K: Ranks})
		if err != nil {
			return nil, err
		}
		worth.Found(hits)
	}
	return worth.Of, nil
}
