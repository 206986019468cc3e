package predictor

import (
	"context"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Summarise asks the model to sum up a chunk, and keeps that as a part of the
// space's abstract. Nothing is done if the part is there at the chunk's version.
// NotFound: the chunk is gone.
func (p *Predictor) Summarise(ctx context.Context, space string, chunk percached.ChunkID) (Usage, error) {
	const op = "predictor.Summarise"
	w := &work{space: kv.NewSpaceID(space), chunks: []percached.ChunkID{chunk}}
	defer p.begin(w)()
	chunks, err := p.o.Knowledge.Chunks(space, w.chunks)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	if len(chunks) != 1 {
		return Usage{}, fault.New(fault.NotFound, op, "there is no chunk %s", chunk)
	}
	c := &chunks[0]
	if p.has(w.space, c) {
		return Usage{}, nil
	}
	words, err := p.wording(space, "abstract", abstractPrompt)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	at, title, err := p.find(space, c)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	text := strings.ToValidUTF8(about(title, c), "")
	const least = 256 // bytes
	res, _, err := p.say(ctx, p.o.SummaryTokens, len(text), least, func(n int) string {
		return words.fill(strings.TrimRight(shorten(text, n), "."), "", 0)
	})
	if err != nil {
		return usage(&res), fault.Wrap(op, err)
	}
	pt := &part{chunk: chunk, version: c.Version, made: moment(p.o.Now()), at: at}
	return usage(&res), fault.Wrap(op, p.keep(space, w, pt, summary(res.Text)))
}

// has says whether a chunk's part is there at its version.
func (p *Predictor) has(space kv.SpaceID, c *percached.Chunk) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.shelves[space]
	return s != nil && s.parts[c.ID] != nil && s.parts[c.ID].version == c.Version
}

// find gives the place of a chunk and the title of the document that has it
// there.
func (p *Predictor) find(space string, c *percached.Chunk) (at place, title string, err error) {
	found := false
	for _, id := range c.Documents {
		// Documents gives the one behind an ID.
		some, err := p.o.Knowledge.Documents(space, previous(id), 1)
		if err != nil && fault.KindOf(err) != fault.Internal {
			return at, "", err
		}
		if len(some) != 1 || some[0].ID != id {
			continue
		}
		here := placeOf(&some[0])
		here.number = max(slices.Index(some[0].Chunks, c.ID), 0)
		if !found || newest(here, at) < 0 {
			at, title, found = here, some[0].Title, true
		}
	}
	return at, title, nil
}

// previous is the ID before this one.
func previous(id percached.DocumentID) percached.DocumentID {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]--
		if id[i] != 0xff {
			return id
		}
	}
	return percached.DocumentID{} // there is none before the first
}
