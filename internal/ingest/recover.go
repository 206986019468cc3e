package ingest

import (
	"context"
	"errors"

	"github.com/percached/percached/internal/base/fault"
)

// Recover brings the layers together: it finishes what was being forgotten and
// lets each index follow its space. After a crash (unclean) it also looks for
// tensors and answers whose chunks are gone. With an error something of that is left
// to be done, and nothing wrong is served. CleanUp does the rest.
func (l *Library) Recover(ctx context.Context, unclean bool) error {
	const op = "ingest.Recover"
	done, err := l.turns.changeAll(ctx)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	notes, err := l.noted()
	if err != nil {
		return fault.Wrap(op, err)
	}
	var errs []error // one space's trouble is no other's
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
	switch {
	case fault.KindOf(err) == fault.NotFound:
		_, err = l.forgetSpace(ctx, p.Space)
	case err == nil: // if the whole space went, it is a new one of that name
		_, err = l.forget(ctx, p)
	}
	return err
}

// sweep drops the tensors of chunks that are gone, and marks the answers made
// from them.
func (l *Library) sweep(ctx context.Context, space string) error {
	gone, err := l.orphans(space, false)
	if err != nil || len(gone) == 0 {
		return err
	}
	return l.outdate(ctx, space, gone)
}

// CleanUp takes the bytes of what was forgotten off the disk, and ends what a
// Delete that failed has left to do. It reads and writes all that is stored: idle
// work for a daemon.
func (l *Library) CleanUp(ctx context.Context, progress func(done, total int64)) error {
	const op = "ingest.CleanUp"
	done, err := l.turns.changeAll(ctx)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	return fault.Wrap(op, l.cleanUp(ctx, progress))
}

// cleanUp is CleanUp while nobody else changes anything.
func (l *Library) cleanUp(ctx context.Context, progress func(done, total int64)) error {
	notes, err := l.noted()
	if err != nil {
		return err
	}
	half, err := l.halfClean()
	if err != nil || len(notes) == 0 && !half {
		return err
	}
	if len(notes) > 0 {
		if err := l.cleanDerived(ctx, notes, progress); err != nil {
			return err
		}
		// The notes hold names of spaces, and must be gone when meta is copied.
		if err := l.strike(notes); err != nil {
			return err
		}
	}
	if err := l.Meta.Rewrite(ctx, progress); err != nil {
		return err
	}
	return l.clean()
}

// cleanDerived writes everything anew that lies outside of meta.
func (l *Library) cleanDerived(ctx context.Context, notes []*pending, progress func(done, total int64)) error {
	rebuilt := map[string]bool{}
	for _, p := range notes {
		if err := l.finish(ctx, p); err != nil {
			return err
		}
		_, err := l.Knowledge.Space(p.Space)
		if fault.KindOf(err) == fault.NotFound || rebuilt[p.Space] {
			continue // all of it went
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

// rebuild makes a space's index anew. Who follows the space is then past all that
// went, of which not even the hashes need to stay.
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
