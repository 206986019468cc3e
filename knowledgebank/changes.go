package knowledgebank

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Changes tells who follows a space what is new and what is gone since a count
// of changes. It calls fn with every live chunk that is newer than after, by
// version, and gives the chunks that went since and are not back. upto is the
// count at which all this is true, and the after of the next call. All of it
// is of one moment, whatever changes meanwhile; fn may use the bank.
//
// A Conflict means that the bank does not know any more what went since after:
// the follower must drop what it has of the space, and begin at 0.
//
// A chunk whose record is damaged counts as gone, and the Observer is told.
func (b *Bank) Changes(space string, after uint64, fn func(c percached.Chunk) error) (gone []percached.ChunkID, upto uint64, err error) {
	const op = "knowledgebank.Changes"
	sp, _, err := b.find(op, space)
	if err != nil {
		return nil, 0, err
	}
	err = b.view(sp, func(tx *kv.Tx) error {
		r, err := readSpace(tx, sp.id)
		if err != nil {
			return err
		}
		if upto = r.Seq; after > upto || after > 0 && after < r.Trimmed {
			return fault.New(fault.Conflict, op, "what changed since %d is not known, only since %d and up to %d", after, r.Trimmed, upto)
		}
		if after == upto {
			return nil
		}
		if gone, err = b.tombstones(tx, sp.id, after, upto); err != nil {
			return err
		}
		return eachChange(tx, sp.id, liveType, after, upto, func(seq uint64, id percached.ChunkID) error {
			c, err := chunkOf(tx, sp, id)
			switch {
			case damaged(err), fault.KindOf(err) == fault.NotFound, err == nil && c.Version != seq:
				if err == nil || !damaged(err) {
					err = fault.New(fault.Internal, op, "chunk %s at %d: %w", sp.publicIDs().Chunk(id), seq, ErrDamaged)
				}
				gone = append(gone, id)
				if b.o.Observer.Damaged != nil {
					b.o.Observer.Damaged(err)
				}
				return nil
			case err != nil:
				return err
			}
			return fn(*c)
		})
	})
	if err != nil {
		return nil, 0, fault.Wrap(op, err)
	}
	return gone, upto, nil
}

// tombstones gives the chunks that went and did not come back, each once.
func (b *Bank) tombstones(tx *kv.Tx, space spaceID, after, upto uint64) (gone []percached.ChunkID, err error) {
	seen := map[percached.ChunkID]bool{}
	err = eachChange(tx, space, goneType, after, upto, func(_ uint64, id percached.ChunkID) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		back, err := tx.Has(space.chunk(id))
		if !back {
			gone = append(gone, id)
		}
		return err
	})
	return gone, err
}

// eachChange calls fn with the keys of a type that are newer than after, the
// oldest first.
func eachChange(tx *kv.Tx, space spaceID, typ byte, after, upto uint64, fn func(seq uint64, id percached.ChunkID) error) error {
	return seqPrefixes(after+1, upto, func(prefix []byte) error {
		return tx.Keys(space.key(typ, prefix), func(key []byte, _ int64) error {
			seq, id, ok := splitChange(key)
			if !ok {
				return nil
			}
			return fn(seq, id)
		})
	})
}
