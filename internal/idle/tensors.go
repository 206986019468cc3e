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
	scanned = 256 // entries or chunks that are looked at for missing tensors at a time, the most useful ones
	chunky  = 64  // tokens; with less room than for so many nothing is filled in
	record  = 640 // bytes that a slice takes besides tensors and token ids, about
)

// room is what a search for missing tensors rested on.
type room struct {
	free       int64
	entries    int
	mark       string
	prediction percached.Prediction
}

// free is the room for a space's tensors; none where they are not kept.
func (w *Worker) free(space string, r rules) int64 {
	if !r.Tensors {
		return 0
	}
	return w.Tree.FreeIn(space)
}

// bytes is about what so many tokens in so many slices take.
func (w *Worker) bytes(tokens, slices int) int64 {
	return int64(tokens)*int64(w.Engine.Info().BytesPerToken+8) + int64(slices)*record
}

// dueRestore: entries whose chunks have lost tensors, the most useful entries
// first, as long as there is room.
func (w *Worker) dueRestore(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	free := w.free(space, r)
	now := room{free, w.Bank.Stats(space).Entries, r.mark, r.Prediction}
	wanted := r.Conversion && free >= w.bytes(chunky, 1)
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
		if looked++; looked > scanned || len(due) >= limit || i.Stale || i.Settings != r.mark || i.Origin != answer.Asked && r.Prediction != percached.PredictBoth {
			return nil
		}
		e, err := w.Bank.Get(space, i.ID)
		if err != nil {
			return absent(err)
		}
		missing, err := w.Asker.Missing(space, evidence(e))
		if err != nil {
			return absent(err)
		}
		if missing == 0 {
			return nil
		}
		lacking = true
		if need := w.bytes(missing, len(e.Evidence)+1); need <= free {
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

// absent passes over what went meanwhile, or is damaged: it must not hide the
// others.
func absent(err error) error {
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
	return w.fill(ctx, space, r, evidence(e))
}

// fill prefills what is missing of these chunks, if there is room for it.
func (w *Worker) fill(ctx context.Context, space string, r rules, chunks []percached.ChunkID) (scheduler.Done, error) {
	missing, err := w.Asker.Missing(space, chunks)
	if err != nil {
		return scheduler.Done{}, err
	}
	if missing == 0 || w.bytes(missing, len(chunks)+1) > w.free(space, r) {
		return nothing()
	}
	got, err := w.Asker.Fill(ctx, space, chunks)
	return cost(got), err
}

// dueWarm: chunks without tensors, those that are the likeliest to be retrieved and
// then the newest first, as long as there is room. Where chunk stands behind chunk,
// such tensors serve the first chunk of a prompt alone. There are none where idle work
// is to keep answers only.
func (w *Worker) dueWarm(ctx context.Context, space string, r rules, limit int) ([]scheduler.Due, error) {
	free := w.free(space, r)
	if r.Prediction == percached.PredictAnswers || free < w.bytes(chunky, 1) {
		return nil, nil
	}
	if waits, err := w.waits(space, r); err != nil || waits {
		return nil, err
	}
	bare, err := w.bare(ctx, space, r)
	if err == nil && len(bare) > 0 {
		err = w.rank(ctx, space, bare)
	}
	var due []scheduler.Due
	for _, c := range bare[:min(len(bare), scanned)] {
		if len(due) >= limit || ctx.Err() != nil {
			break
		}
		missing, err := w.Asker.Missing(space, []percached.ChunkID{c.id})
		if absent(err) != nil {
			return due, err
		}
		need := w.bytes(missing, 2)
		if err != nil || missing == 0 || need > free {
			continue // gone, or the same tokens as another chunk's
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
	return w.fill(ctx, space, r, []percached.ChunkID{c})
}

const (
	asked  = 200 // latest questions that say which chunks are retrieved most
	nearby = 32  // of them, the latest, for which it is looked what was nearly retrieved
	ranks  = 40  // how far
)

// candidate is a chunk that may be read ahead.
type candidate struct {
	id    percached.ChunkID
	doc   percached.Document
	worth float64
}

// bare gives the chunks of a space that are not stored right behind the instructions.
func (w *Worker) bare(ctx context.Context, space string, r rules) (found []candidate, err error) {
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

// rank puts the likeliest to be retrieved first, and then the newest.
func (w *Worker) rank(ctx context.Context, space string, chunks []candidate) error {
	worth, err := w.worth(ctx, space)
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

// worth says how likely chunks are to be retrieved, going by what was asked: each
// time that one was counts, and of the latest questions its place in the search, too,
// as the next questions are about what stands near.
func (w *Worker) worth(ctx context.Context, space string) (map[percached.ChunkID]float64, error) {
	past, err := w.History.Recent(space, asked)
	if err != nil {
		return nil, err
	}
	worth := map[percached.ChunkID]float64{}
	for _, r := range past {
		for _, c := range r.Chunks {
			worth[c]++
		}
	}
	var texts []string
	for _, r := range past[max(0, len(past)-nearby):] {
		if !slices.Contains(texts, r.Question) {
			texts = append(texts, r.Question)
		}
	}
	if len(texts) == 0 {
		return worth, nil
	}
	vectors, err := w.Embedder.Embed(ctx, percached.Background, texts)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		hits, err := w.Index.Search(ctx, retrieval.Query{Space: space, Text: text, Vector: vectors[i], K: ranks})
		if err != nil {
			return nil, err
		}
		for rank, h := range hits {
			worth[h.Chunk] += 1 / float64(1+rank)
		}
	}
	return worth, nil
}
