package knowledgebank

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// draftBytes is how much is committed at once, when it is of several documents.
const draftBytes = 1 << 20

// Add takes a document in, in place of what is there under its key. It is in
// whole or not at all, and durable when Add returns without an error. Adding the
// same again does nothing.
func (b *Bank) Add(ctx context.Context, space string, s *Source) (Change, error) {
	changes, err := b.add(ctx, "knowledgebank.Add", space, []*Source{s})
	if len(changes) == 0 {
		return Change{}, err
	}
	return changes[0], err
}

// AddAll does what Add does to each source in turn, but many in one
// transaction, which is much faster. With an error, the changes are those of
// the sources that came in before, and sources[len(changes)] is the one that it
// is about; those behind were not tried. A document whose commit failed is there
// whole or not at all: adding it again does no harm.
func (b *Bank) AddAll(ctx context.Context, space string, sources []*Source) ([]Change, error) {
	return b.add(ctx, "knowledgebank.AddAll", space, sources)
}

func (b *Bank) add(ctx context.Context, op, space string, sources []*Source) ([]Change, error) {
	if _, _, err := b.find(op, space); err != nil {
		return nil, err
	}
	var items []*item
	var bad error
	for _, s := range sources {
		if bad = ctx.Err(); bad != nil {
			break
		}
		var it *item
		if it, bad = b.prepare(ctx, s); bad != nil {
			break
		}
		items = append(items, it)
	}
	sp, _, err := b.lock(op, space)
	if err != nil {
		return nil, err
	}
	defer sp.writing.Unlock()
	var changes []Change
	for end := len(items); len(changes) < len(items); {
		some, err := b.addSome(ctx, sp, items[len(changes):end])
		changes = append(changes, some...)
		var stop *stopError
		switch {
		case errors.As(err, &stop) && stop.at > 0 && ctx.Err() == nil:
			end = len(changes) + stop.at // those before it first
		case err != nil:
			return changes, fault.Wrap(op, err)
		default:
			end = len(items)
		}
	}
	return changes, fault.Wrap(op, bad)
}

// stopError says which of the documents handed over cannot be worked in.
type stopError struct {
	at  int
	err error
}

func (e *stopError) Error() string { return e.err.Error() }

func (e *stopError) Unwrap() error { return e.err }

// addSome brings in the first of items, as many as make a good transaction.
// The caller writes to the space.
func (b *Bank) addSome(ctx context.Context, sp *space, items []*item) ([]Change, error) {
	var changes []Change
	var writes []write
	err := b.db.View(func(tx *kv.Tx) error {
		d := newDraft(sp.id, tx, sp.record.Load())
		for i, it := range items {
			if i > 0 && d.bytes+it.bytes > draftBytes {
				break
			}
			err := ctx.Err()
			if err == nil {
				var c Change
				c, err = d.put(ctx, it.document, it.chunks)
				changes = append(changes, c)
			}
			if err != nil {
				return &stopError{i, fault.New(fault.KindOf(err), "knowledgebank.put", "document %s: %w", sp.told(it.document.ID), err)}
			}
		}
		if len(d.writes) > 0 {
			writes = d.all()
		}
		return nil
	})
	if err == nil && len(writes) > 0 {
		err = b.commit(ctx, sp, writes)
	}
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// Delete removes a document and the chunks that no other holds. Of its text
// nothing stays under any key.
func (b *Bank) Delete(ctx context.Context, space string, id percached.DocumentID) (Change, error) {
	const op = "knowledgebank.Delete"
	sp, r, err := b.lock(op, space)
	if err != nil {
		return Change{}, err
	}
	defer sp.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return Change{}, fault.Wrap(op, err)
	}
	var c Change
	var writes []write
	err = b.db.View(func(tx *kv.Tx) (err error) {
		d := newDraft(sp.id, tx, r)
		c, err = d.drop(id)
		writes = d.all()
		return err
	})
	if err == nil {
		err = b.commit(context.WithoutCancel(ctx), sp, writes)
	}
	if err != nil {
		return Change{}, fault.New(fault.KindOf(err), op, "document %s: %w", sp.told(id), err)
	}
	return c, nil
}
