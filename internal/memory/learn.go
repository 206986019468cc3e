package memory

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/memory/fact"
)

// Statement is what a user said.
type Statement struct {
	Text string
	Said time.Time
}

// Learn adds the facts in what a user said, and returns how many are new. After an error it
// may be called again with the same statements.
func (b *Book) Learn(ctx context.Context, space string, said []Statement) (added int, err error) {
	const op = "memory.Learn"
	b.write.Lock()
	defer b.write.Unlock()
	for _, s := range said {
		for _, r := range fact.Extract(s.Text, s.Said) {
			if err := ctx.Err(); err != nil {
				return added, fault.Wrap(op, err)
			}
			gone, err := b.wasAdded(space, percached.NewDocumentID(documentKey(r, s.Said)))
			if err != nil {
				return added, fault.Wrap(op, err)
			}
			if gone {
				continue
			}
			_, is, err := b.add(ctx, space, r, s.Said)
			if k := fault.KindOf(err); err != nil && k != fault.Conflict && k != fault.Invalid { // these stay so
				return added, fault.Wrap(op, err)
			}
			if is {
				added++
			}
		}
	}
	return added, nil
}

// wasAdded says that a fact was added completely, whether or not it was deleted since.
func (b *Book) wasAdded(space string, id percached.DocumentID) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, err := b.of(space)
	if err != nil {
		return false, err
	}
	state, there := k.ids[id]
	return there && state == done, nil
}

// Use is how a question uses the facts of its space.
type Use struct {
	Facts  int // of the space; 0: the others have no meaning
	Needed bool
	Why    string
	All    []percached.ChunkID
	Best   []percached.ChunkID // that match the question, the best first
}

// Decide says which facts a question needs.
func (b *Book) Decide(space, question string) (Use, error) {
	facts, err := b.List(space)
	if err != nil || len(facts) == 0 {
		return Use{}, fault.Wrap("memory.Decide", err)
	}
	records := make([]fact.Record, len(facts))
	u := Use{Facts: len(facts)}
	for i, f := range facts {
		records[i] = f.Record
		u.All = append(u.All, f.Chunk)
	}
	d := fact.Decide(question, records)
	u.Needed, u.Why = d.Needed, d.Why
	for _, i := range d.Best {
		u.Best = append(u.Best, facts[i].Chunk)
	}
	return u, nil
}
