package ingest

import (
	"context"
	"errors"

	"github.com/percached/percached/internal/base/fault"
)

// Recover makes the layers consistent: it completes unfinished deletions and updates each
// index from its space. After a crash (unclean) it also searches for tensors and answers
// of deleted chunks. With an error some work remains, which CleanUp does; nothing wrong
// is served meanwhile.
func (l *Library) Recover(ctx context.Context, unclean bool) error {
	const op = "ingest.Recover"
	done, err := l.turns.exclusive(ctx)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	notes, err := l.notes()
	if err != nil {
		return fault.Wrap(op, err)
	}
	half, err := l.onlyMetaDirty()
	if err != nil {
		return fault.Wrap(op, err)
	}
	l.mu.Lock()
	l.uncleanAll = half
	l.mu.Unlock()
	errs := []error{l.dropForeign()} // an error in one space must not stop the others
	for _, p := range notes {
		errs = append(errs, l.finish(ctx, p))
	}
	spaces, err := l.Knowledge.Spaces()
	if err != nil {
		return fault.Wrap(op, err)
	}
	for _, s := range spaces {
		errs = append(errs, l.Index.Update(ctx, s.Name))
		if unclean {
			errs = append(errs, l.sweep(ctx, s.Name))
		}
	}
	return fault.Wrap(op, errors.Join(errs...))
}

// finish completes a deletion after a crash.
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
	switch {
	case fault.KindOf(err) == fault.NotFound && l.isImporting(p.Space):
		return nil // the import completed the deletion when it began, and its records are new ones
	case fault.KindOf(err) == fault.NotFound:
		_, err = l.forgetSpace(ctx, p.Space)
	case err == nil: // if the whole space was deleted, this is a new one of that name
		_, err = l.forget(ctx, p)
	}
	return err
}

// sweep deletes the tensors of deleted chunks and marks their answers as stale.
func (l *Library) sweep(ctx context.Context, space string) error {
	gone, err := l.orphans(space, false)
	if err != nil || len(gone) == 0 {
		return err
	}
	return l.outdate(ctx, space, gone)
}

// CleanUp removes the bytes of forgotten documents from disk and completes failed
// Deletes. It reads and writes everything stored. It begins anew when other changes wait,
// except the last of several times.
func (l *Library) CleanUp(ctx context.Context, progress func(done, total int64)) error {
	const op = "ingest.CleanUp"
	return fault.Wrap(op, l.turns.yielding(ctx, func(ctx context.Context) error { return l.cleanUp(ctx, progress) }))
}

// cleanUp is CleanUp without other changes.
func (l *Library) cleanUp(ctx context.Context, progress func(done, total int64)) error {
	notes, err := l.notes()
	if err != nil {
		return err
	}
	half, err := l.onlyMetaDirty()
	if err != nil || len(notes) == 0 && !half {
		return err
	}
	if len(notes) > 0 {
		if err := l.cleanDerived(ctx, notes, progress); err != nil {
			return err
		}
		// The notes contain names of spaces and must be deleted before meta is copied.
		if err := l.deleteNotes(notes); err != nil {
			return err
		}
	}
	if err := l.Meta.Rewrite(ctx, progress); err != nil {
		return err
	}
	return l.deleteCleanMark()
}

// cleanDerived rewrites everything outside of meta.
func (l *Library) cleanDerived(ctx context.Context, notes []*pending, progress func(done, total int64)) error {
	rebuilt := map[string]bool{}
	for _, p := range notes {
		if err := l.finish(ctx, p); err != nil {
			return err
		}
		_, err := l.Knowledge.Space(p.Space)
		if fault.KindOf(err) == fault.NotFound || rebuilt[p.Space] {
			continue // completely deleted
		}
		if err == nil {
			err = l.rebuild(ctx, p.Space)
		}
		if err != nil {
			return err
		}
		rebuilt[p.Space] = true
	}
	return l.Tensors.Rewrite(ctx, progress)
}

// rebuild recreates a space's index. It then no longer needs the space's list of
// deletions, so not even the hashes must stay.
func (l *Library) rebuild(ctx context.Context, space string) error {
	if err := l.Index.Rebuild(ctx, space, nil); err != nil {
		return err
	}
	st, err := l.Index.Stats(space)
	if err != nil {
		return err
	}
	return l.Knowledge.TrimTombstones(ctx, space, st.Seq)
}
