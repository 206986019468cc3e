package retrieval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// vector is a new vector of a chunk.
type vector struct {
	id      percached.ChunkID
	version uint64
	row     []uint16
}

// embed makes the vectors that pending chunks lack.
func (w *writer) embed(ctx context.Context) ([]vector, error) {
	if w.vec == nil || w.lost != nil {
		return nil, nil
	}
	var out []vector
	var texts []string
	for _, c := range w.pending {
		if c.Version <= w.vecFrom || w.vec.version(c.ID) == c.Version {
			continue // it exists already, after a crash
		}
		out = append(out, vector{id: c.ID, version: c.Version})
		texts = append(texts, c.Head+"\n"+c.Body)
	}
	rows, err := w.x.embed(ctx, texts, w.vec.dim, patience)
	if err != nil {
		if ended := w.x.ended(ctx); ended != nil {
			return nil, ended
		}
		w.lost = err
		return nil, nil
	}
	for i := range out {
		out[i].row = toHalves(rows[i])
	}
	return out, nil
}

const (
	// embedTexts is how many texts the embedder gets at a time. If a question
	// interrupts it, it starts them again.
	embedTexts = 64
	// hurriedTexts is how many it gets when questions have to wait for them.
	hurriedTexts = 8
	// patience is how long new documents let questions go first. A client may wait for
	// the documents, and a flood of questions leaves no pause.
	patience = 250 * time.Millisecond
)

// embed starts again after each question that came first. When patience has run out, it
// embeds some texts while questions wait, and doubles patience. With patience 0 it
// waits as long as there are questions.
func (x *Index) embed(ctx context.Context, texts []string, dim int, patience time.Duration) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	gaveWay := time.Now()
	for len(out) < len(texts) {
		if err := x.ended(ctx); err != nil {
			return nil, err
		}
		some := texts[len(out):min(len(texts), len(out)+embedTexts)]
		rows, late, err := x.embedBehind(ctx, some, patience-time.Since(gaveWay), patience > 0)
		if late {
			patience *= 2
			some = some[:min(len(some), hurriedTexts)]
			rows, err = x.o.Embedder.Embed(ctx, percached.Foreground, some)
		}
		if errors.Is(err, percached.ErrPreempted) {
			continue
		}
		gaveWay = time.Now()
		if err != nil {
			return nil, err
		}
		if err := checkRows(rows, len(some), dim); err != nil {
			return nil, fault.New(fault.Internal, "retrieval.embed", "%w", err)
		}
		out = append(out, rows...)
	}
	return out, nil
}

// embedBehind embeds texts behind all questions. late reports whether it waited longer
// than wait, if there is a limit.
func (x *Index) embedBehind(ctx context.Context, texts []string, wait time.Duration, bounded bool) (rows [][]float32, late bool, err error) {
	behind := ctx
	if bounded {
		var cancel context.CancelFunc
		behind, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	rows, err = x.o.Embedder.Embed(behind, percached.Background, texts)
	return rows, err != nil && behind.Err() != nil && ctx.Err() == nil, err
}

func checkRows(rows [][]float32, n, dim int) error {
	if len(rows) != n {
		return fmt.Errorf("the embedder made %d vectors for %d texts", len(rows), n)
	}
	for _, r := range rows {
		if len(r) != dim {
			return fmt.Errorf("the embedder made a vector of %d dimensions, not %d", len(r), dim)
		}
	}
	return nil
}

// fits reports whether a generation's vectors belong to the current embedder.
func fits(g generation, info percached.EmbedderInfo) bool {
	return g.Embedder == info.Fingerprint && g.Dimensions == info.Dimensions
}

// store writes vectors and removes those of deleted chunks from every generation. If
// upto is not 0, it records that the feed is read up to there; in the database that
// record comes last.
func (w *writer) store(made []vector, gone []percached.ChunkID, upto uint64) error {
	rec := w.rec
	if upto > 0 {
		rec.Seen = upto
		if w.vec != nil && w.lost == nil {
			rec.Active.Seq = upto
		}
	}
	b := w.x.o.DB.Bulk()
	defer b.Cancel()
	for _, m := range made {
		if err := b.Set(w.sp.id.vector(rec.Active.Number, m.id), encodeVector(m.version, m.row)); err != nil {
			return err
		}
	}
	for _, id := range gone {
		if err := b.Delete(w.sp.id.vector(rec.Active.Number, id)); err != nil {
			return err
		}
		if rec.Next != nil {
			if err := b.Delete(w.sp.id.vector(rec.Next.Number, id)); err != nil {
				return err
			}
		}
	}
	if upto > 0 {
		if err := b.Set(w.sp.id.record(), rec.encode()); err != nil {
			return err
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	w.rec = rec
	if w.sp.deleted != nil {
		for _, id := range gone {
			w.sp.deleted[id] = true
		}
	}
	if w.vec != nil {
		w.vec.mu.Lock()
		for _, m := range made {
			w.vec.set(m.id, m.version, m.row)
		}
		for _, id := range gone {
			w.vec.remove(id)
		}
		w.vec.mu.Unlock()
	}
	w.sp.mu.Lock()
	w.sp.rec = rec // after the vectors: Standing derives from it what can be found
	w.sp.mu.Unlock()
	return nil
}
