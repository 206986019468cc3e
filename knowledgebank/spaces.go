package knowledgebank

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// kinds are the kinds of space.
var kinds = []string{"emails", "dialog", "meetings", "notes"}

// Kinds lists the kinds of space.
func Kinds() []string { return slices.Clone(kinds) }

// spaceOrNew returns a space, or registers one that was never stored.
func (b *Bank) spaceOrNew(id spaceID) *space {
	b.mu.Lock()
	defer b.mu.Unlock()
	sp := b.spaces[id]
	if sp == nil {
		sp = &space{id: id}
		sp.record.Store(&spaceRecord{})
		b.spaces[id] = sp
	}
	return sp
}

// CreateSpace creates a space. If it exists with the same kind, nothing happens. A
// space with a damaged record gets a new record.
func (b *Bank) CreateSpace(s percached.Space) error {
	const op = "knowledgebank.CreateSpace"
	if !spaceName.MatchString(s.Name) {
		return fault.New(fault.Invalid, op, "invalid space name: use 1 to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit")
	}
	if !slices.Contains(kinds, s.Kind) {
		return fault.New(fault.Invalid, op, "unknown kind of space: use emails, dialog, meetings or notes")
	}
	sp := b.spaceOrNew(newSpaceID(s.Name))
	sp.writing.Lock()
	defer sp.writing.Unlock()
	if err := b.finish(sp); err != nil {
		return fault.Wrap(op, err)
	}
	r := sp.record.Load()
	switch {
	case r == nil:
		return fault.Wrap(op, b.mendSpace(sp, s))
	case r.Live && r.Kind != s.Kind:
		return fault.New(fault.Conflict, op, "space %q exists with the kind %s", s.Name, r.Kind)
	case r.Live:
		return nil
	}
	if err := b.sweep(sp); err != nil { // the remains of an interrupted deletion
		return fault.Wrap(op, err)
	}
	secret, err := b.newSecret(sp.id)
	if err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, b.setSpace(sp, &spaceRecord{Live: true, Secret: true, Seq: r.Seq, Trimmed: r.Trimmed, Space: s}, secret))
}

// setSpace writes a space's record together with more. The caller holds the space for
// writing.
func (b *Bank) setSpace(sp *space, r *spaceRecord, more ...write) error {
	key := sp.id.key(spaceType)
	return b.commit(context.Background(), sp, append(more, write{key, seal(key, r.encode())}))
}

// mendSpace writes a record for a space whose own is damaged. The count of changes
// continues far above any value that it can have had, and everybody who follows the
// space must start again. The public ids stay unless their secret is damaged.
func (b *Bank) mendSpace(sp *space, s percached.Space) error {
	r := &spaceRecord{Live: true, Space: s}
	var writes []write
	err := b.db.View(func(tx *kv.Tx) error {
		if err := raiseCount(tx, sp.id, r); err != nil {
			return err
		}
		d := newDraft(sp.id, tx, r)
		err := d.recount()
		if err == nil {
			var secret []write
			secret, err = b.mendSecret(tx, sp.id, &d.space)
			writes = append(d.all(), secret...)
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.commit(context.Background(), sp, writes)
}

// raiseCount sets a count raiseCount all counts in the space's keys, and raiseCount those that the
// keys no longer show.
func raiseCount(tx *kv.Tx, id spaceID, r *spaceRecord) error {
	for _, typ := range []byte{liveType, goneType} {
		if err := tx.Keys(id.key(typ), func(key []byte, _ int64) error {
			if seq, _, ok := splitChange(key); ok {
				r.Seq = max(r.Seq, seq)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	r.Seq += 1 << 32
	r.Trimmed = r.Seq
	return nil
}

// Space returns a space.
func (b *Bank) Space(name string) (percached.Space, error) {
	_, r, err := b.find("knowledgebank.Space", name)
	if err != nil {
		return percached.Space{}, err
	}
	return r.Space, nil
}

// Spaces returns all spaces by name. It leaves out spaces with damaged records, whose
// names are unknown.
func (b *Bank) Spaces() ([]percached.Space, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var spaces []percached.Space
	for _, sp := range b.spaces {
		if r := sp.record.Load(); r != nil && r.Live {
			spaces = append(spaces, r.Space)
		}
	}
	slices.SortFunc(spaces, func(a, b percached.Space) int { return cmp.Compare(a.Name, b.Name) })
	return spaces, nil
}

// Configure replaces the settings of a space.
func (b *Bank) Configure(name string, s percached.Settings) error {
	const op = "knowledgebank.Configure"
	sp, r, err := b.lock(op, name)
	if err != nil {
		return err
	}
	defer sp.writing.Unlock()
	changed := *r
	changed.Settings = s
	return fault.Wrap(op, b.setSpace(sp, &changed))
}

// DeleteSpace removes a space with all its content and returns how much that was. The
// space disappears at once. If removing its records fails, the next Open or call
// removes them.
func (b *Bank) DeleteSpace(name string) (documents, chunks int, err error) {
	const op = "knowledgebank.DeleteSpace"
	b.mu.RLock()
	sp := b.spaces[newSpaceID(name)]
	b.mu.RUnlock()
	if sp == nil {
		return 0, 0, fault.New(fault.NotFound, op, "there is no space %q", name)
	}
	sp.writing.Lock()
	defer sp.writing.Unlock()
	r := sp.record.Load()
	if r != nil && !r.Live {
		if err := b.sweep(sp); err != nil {
			return 0, 0, fault.Wrap(op, err)
		}
		return 0, 0, fault.New(fault.NotFound, op, "there is no space %q", name)
	}
	gone := &spaceRecord{}
	if r != nil {
		documents, chunks = int(r.Documents), int(r.Chunks)
		gone.Seq, gone.Trimmed = r.Seq+1, r.Seq+1
	} else if err := b.db.View(func(tx *kv.Tx) error { return raiseCount(tx, sp.id, gone) }); err != nil {
		return 0, 0, fault.Wrap(op, err)
	}
	if err := b.setSpace(sp, gone); err != nil {
		return 0, 0, fault.Wrap(op, err)
	}
	return documents, chunks, fault.Wrap(op, b.sweep(sp))
}

// sweep removes what a deleted space left. The caller holds the space for writing.
func (b *Bank) sweep(sp *space) error {
	sp.begin.Lock()
	defer sp.begin.Unlock()
	for _, typ := range []byte{markType, journalType, documentType, pageType, chunkType, liveType, goneType, secretType} {
		if err := b.remove(sp.id.key(typ)); err != nil {
			return err
		}
	}
	sp.unfinished, sp.staleRows = false, false
	return nil
}

// TrimTombstones forgets deletions up to a count of changes, once all who follow the
// space are past it. Anybody who is not must start again.
func (b *Bank) TrimTombstones(ctx context.Context, space string, upto uint64) error {
	const op = "knowledgebank.TrimTombstones"
	sp, r, err := b.lock(op, space)
	if err != nil {
		return err
	}
	defer sp.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	upto = min(upto, r.Seq)
	if upto <= r.Trimmed {
		return nil
	}
	trimmed := *r
	trimmed.Trimmed = upto
	if err := b.setSpace(sp, &trimmed); err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, seqPrefixes(0, upto, func(p []byte) error { return b.remove(sp.id.key(goneType, p)) }))
}
