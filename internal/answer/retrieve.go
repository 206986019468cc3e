package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

const (
	// embedTurn is how many texts of a caller are embedded before another caller's turn.
	embedTurn = 8
	// spareHits are asked for beyond those needed: the index may still name chunks that
	// are gone.
	spareHits = 8
)

// retrieved is what the search found for a question.
type retrieved struct {
	seq      uint64            // the space's count of changes that the question is answered at
	seen     uint64            // the latest change that the search covered
	vectors  [][]float32       // of the search texts; none: words alone decide
	chunks   []percached.Chunk // best first
	searched bool
	memory   Consulted
}

// vector is that of the first search text; nil: there is none.
func (f retrieved) vector() []float32 {
	if len(f.vectors) == 0 {
		return nil
	}
	return f.vectors[0]
}

// best returns the n best chunks, or as many as there are.
func (f retrieved) best(n int) []percached.Chunk { return f.chunks[:min(len(f.chunks), n)] }

// embed computes the vectors of the search texts. If the embedder fails, words alone decide.
func (a *Asker) embed(ctx context.Context, r request, p *progress) ([][]float32, error) {
	texts := r.searchTexts()
	var vectors [][]float32
	var err error
	if r.work == nil {
		vectors, err = a.Embed(ctx, r.Caller, texts)
	} else {
		vectors, err = a.Embedder.Embed(ctx, percached.Background, texts)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fault.Wrap("embed", ctx.Err())
	case err != nil && r.work != nil && r.banked: // without a vector the answer could not be stored
		return nil, err
	case err != nil:
		p.without("the embedder", err)
	case len(vectors) == len(texts):
		return vectors, nil
	}
	return nil, nil
}

// Embed computes the vectors of questions that a client waits for.
func (a *Asker) Embed(ctx context.Context, caller string, questions []string) ([][]float32, error) {
	return a.EmbedBy(ctx, a.Embedder, caller, questions)
}

// EmbedBy computes the vectors of texts that a client waits for. Callers take turns, as at
// the engine, so that one caller's many texts do not delay another caller's question.
func (a *Asker) EmbedBy(ctx context.Context, by embedder, caller string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, embedTurn) {
		made, err := a.embedSome(ctx, by, caller, some)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, made...)
	}
	return vectors, nil
}

func (a *Asker) embedSome(ctx context.Context, by embedder, caller string, texts []string) ([][]float32, error) {
	p, err := a.embeds.enter(caller)
	if err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.turn(ctx); err != nil {
		return nil, err
	}
	return by.Embed(ctx, percached.Foreground, texts)
}

// retrieve searches the question's chunks, at the count of changes and with the vector
// of found.
func (a *Asker) retrieve(ctx context.Context, r request, found retrieved, p *progress) (retrieved, error) {
	defer p.stageEnded("retrieve", &p.times.Retrieve)
	st := a.standing(r.Space)
	if st.EmbedderStale {
		p.notes = append(p.notes, "the vectors of this space belong to another embedding model, so the search used words alone; run percached reindex")
	}
	found.seen = min(found.seq, st.Seq) // read before the search, which may miss what comes in meanwhile
	n := max(r.settings.K, r.settings.KRefresh)
	found.memory = a.consult(r.Space, r.wholeText(), r.settings)
	var all [][]percached.Chunk
	for i, text := range r.searchTexts() {
		var vector []float32
		if i < len(found.vectors) {
			vector = found.vectors[i]
		}
		chunks, err := a.searchWith(ctx, r.Space, text, vector, r.settings.K, n, found.memory)
		if err != nil {
			return found, err
		}
		all = append(all, chunks)
	}
	found.chunks, found.searched = interleave(all, n), true
	return found, nil
}

// interleave takes the best of each list in turn, n in all.
func interleave(lists [][]percached.Chunk, n int) (out []percached.Chunk) {
	seen := map[percached.ChunkID]bool{}
	for i := range n {
		for _, l := range lists {
			if i < len(l) && !seen[l[i].ID] && len(out) < n {
				seen[l[i].ID] = true
				out = append(out, l[i])
			}
		}
	}
	return out
}

// Find searches a space for the passages nearest to a text, at most n, best first. If the
// embedder fails, words alone decide.
func (a *Asker) Find(ctx context.Context, caller, space, text string, n int) ([]Citation, error) {
	const op = "answer.Find"
	chunks, err := a.findChunks(ctx, caller, space, text, n)
	found := make([]Citation, len(chunks))
	for i, c := range chunks {
		found[i] = citation(c)
	}
	return found, fault.Wrap(op, err)
}

// findChunks embeds a text and searches for it. If the embedder fails, words alone decide.
func (a *Asker) findChunks(ctx context.Context, caller, space, text string, n int) ([]percached.Chunk, error) {
	vectors, err := a.Embed(ctx, caller, []string{text})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case fault.KindOf(err) == fault.Overloaded:
		return nil, err
	case err != nil || a.standing(space).EmbedderStale:
		vectors = [][]float32{nil}
	}
	return a.search(ctx, space, text, vectors[0], n)
}

// standing returns what a search of a space covers. If that is unknown, no answer is
// confirmed, and the search itself reports what is wrong.
func (a *Asker) standing(space string) retrieval.Standing {
	st, err := a.Searcher.Standing(space)
	if err != nil {
		return retrieval.Standing{}
	}
	return st
}

// searchStored returns the best chunks of a stored question.
func (a *Asker) searchStored(ctx context.Context, space string, e qabank.Entry, set Settings, p percached.Priority) ([]percached.Chunk, error) {
	vector := e.Vector
	if e.Embedder != a.Embedder.Info().Fingerprint {
		vector = nil
		vs, err := a.Embedder.Embed(ctx, p, []string{e.Question})
		if err == nil && len(vs) == 1 {
			vector = vs[0]
		}
	}
	return a.searchWith(ctx, space, e.Question, vector, set.K, max(set.K, set.KRefresh), a.consult(space, e.Question, set))
}

// search returns the n best chunks for a question that still exist.
func (a *Asker) search(ctx context.Context, space, text string, vector []float32, n int) ([]percached.Chunk, error) {
	return a.searchQuery(ctx, retrieval.Query{Space: space, Text: text, Vector: vector, K: n + spareHits}, n)
}

func (a *Asker) searchQuery(ctx context.Context, q retrieval.Query, n int) ([]percached.Chunk, error) {
	hits, err := a.Searcher.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	ids := make([]percached.ChunkID, len(hits))
	for i, h := range hits {
		ids[i] = h.Chunk
	}
	return a.readChunks(q.Space, ids, n)
}

// readChunks reads the first n of these chunks that still exist. A damaged chunk is left
// out if there are others.
func (a *Asker) readChunks(space string, ids []percached.ChunkID, n int) (chunks []percached.Chunk, damage error) {
	for len(ids) > 0 && len(chunks) < n {
		some := ids[:min(len(ids), n-len(chunks))]
		ids = ids[len(some):]
		found, err := a.Knowledge.Chunks(space, some)
		chunks = append(chunks, found...)
		switch {
		case err == nil:
		case fault.KindOf(err) == fault.Internal:
			damage = err
		default:
			return nil, err
		}
	}
	if damage != nil && len(chunks) > 0 {
		a.Logger.Warn("a chunk that the search found cannot be read", "space", space, "error", damage)
		damage = nil
	}
	return chunks, damage
}

// unchanged says whether all chunks that an answer rests on are still as they were at
// this count of changes. If there are none, it says whether the space exists.
func (a *Asker) unchanged(space string, seq uint64, chunks []percached.Chunk) bool {
	if now, err := a.Knowledge.Seq(space); err == nil && now == seq {
		return true
	}
	ids := make([]percached.ChunkID, len(chunks))
	for i, c := range chunks {
		ids[i] = c.ID
	}
	now, err := a.Knowledge.Chunks(space, ids)
	return err == nil && slices.EqualFunc(chunks, now, func(a, b percached.Chunk) bool { return a.ID == b.ID && a.Version == b.Version })
}
