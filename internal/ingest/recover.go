package ingest

import (
	"context"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

// Recover brings the layers together: it finishes what was being forgotten and
// lets each index follow its space. After a crash (unclean) it also looks for
// tensors and answers whose chunks are gone. It says whether CleanUp is due.
func (l *Library) Recover(ctx context.Context, unclean bool) (due bool, err error) {
	const op = "ingest.Recover"
	l.changing.Lock()
	defer l.changing.Unlock()
	notes, err := l.noted()
	if err != nil {
		return false, fault.Wrap(op, err)
	}
	for _, p := range notes {
		if err := l.finish(ctx, p); err != nil {
			return false, fault.Wrap(op, err)
		}
	}
	spaces, err := l.Knowledge.Spaces()
	if err != nil {
		return false, fault.Wrap(op, err)
	}
	for _, s := range spaces {
		if err := l.Index.Update(ctx, s.Name); err != nil {
			return false, fault.Wrap(op, err)
		}
		if !unclean {
			continue
		}
		if err := l.sweep(ctx, s.Name); err != nil {
			return false, fault.Wrap(op, err)
		}
	}
	return len(notes) > 0, nil
}

// finish does what was left of a forgetting that a crash cut short.
func (l *Library) finish(ctx context.Context, p *pending) error {
	if !p.Gone {
		var err error
		if p.Whole {
			_, _, err = l.Knowledge.DeleteSpace(p.Space)
		} else {
			_, err = l.Knowledge.Delete(ctx, p.Space, p.Document)
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		p.Gone = true
		if err := l.note(p); err != nil {
			return err
		}
	}
	_, err := l.Knowledge.Space(p.Space)
	switch there := err == nil; {
	case err != nil && fault.KindOf(err) != fault.NotFound:
		return err
	case !there:
		_, err = l.forgetSpace(ctx, p.Space)
		return err
	case p.Whole: // a new one of that name
		return l.sweep(ctx, p.Space)
	}
	_, err = l.forget(ctx, p)
	return err
}

// sweep drops the tensors of chunks that are gone, and marks the answers made
// from them.
func (l *Library) sweep(ctx context.Context, space string) error {
	named := map[percached.ChunkID]bool{}
	l.Tree.Nodes(space, func(n qkvtree.Info) { named[n.Chunk] = true })
	if err := l.Bank.Each(space, func(e qabank.Entry) error {
		for _, ev := range e.Evidence {
			named[ev.Chunk] = true
		}
		return nil
	}); err != nil {
		return err
	}
	delete(named, percached.ChunkID{}) // instructions are no chunk
	ids := make([]percached.ChunkID, 0, len(named))
	for id := range named {
		ids = append(ids, id)
	}
	gone, err := l.gone(space, ids)
	if err != nil || len(gone) == 0 {
		return err
	}
	return l.outdate(ctx, space, gone)
}
