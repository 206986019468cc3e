package knowledgebank

import (
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// errEnough ends a walk over keys.
var errEnough = errors.New("enough was read")

// Stats counts the content of a space.
type Stats struct {
	Documents int
	Chunks    int
	Words     int // of the documents; a CJK character is half a word
}

// Stats counts the content of a space.
func (b *Bank) Stats(space string) (Stats, error) {
	_, r, err := b.find("knowledgebank.Stats", space)
	if err != nil {
		return Stats{}, err
	}
	return Stats{Documents: int(r.Documents), Chunks: int(r.Chunks), Words: int(r.Words)}, nil
}

// Seq is the space's count of changes.
func (b *Bank) Seq(space string) (uint64, error) {
	_, r, err := b.find("knowledgebank.Seq", space)
	if err != nil {
		return 0, err
	}
	return r.Seq, nil
}

// Document returns one document.
func (b *Bank) Document(space string, id percached.DocumentID) (percached.Document, error) {
	const op = "knowledgebank.Document"
	sp, _, err := b.find(op, space)
	if err != nil {
		return percached.Document{}, err
	}
	var d percached.Document
	err = b.view(sp, func(tx *kv.Tx) (err error) {
		d, err = documentOf(tx, sp, id)
		return err
	})
	return d, fault.Wrap(op, err)
}

func documentOf(tx *kv.Tx, sp *space, id percached.DocumentID) (percached.Document, error) {
	r, err := readDocument(func(key []byte) ([]byte, error) { return read(tx, key) }, sp.id, id)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return percached.Document{}, fault.New(fault.NotFound, "knowledgebank.read", "there is no document %s", sp.publicDocument(id))
	case err != nil:
		return percached.Document{}, fault.New(fault.KindOf(err), "knowledgebank.read", "document %s: %w", sp.publicDocument(id), err)
	}
	return r.Document, nil
}

// Documents returns up to limit documents in the order of their ids, starting behind
// after; a zero after is before the first. It leaves out damaged ones, and returns an
// Internal error that names them beside the others.
func (b *Bank) Documents(space string, after percached.DocumentID, limit int) ([]percached.Document, error) {
	const op = "knowledgebank.Documents"
	sp, _, err := b.find(op, space)
	if err != nil {
		return nil, err
	}
	var documents []percached.Document
	var bad []error
	err = b.view(sp, func(tx *kv.Tx) error {
		// Byte by byte, so that a page does not read all that is before it.
		for first := int(after[0]); first < 256 && len(documents) < limit; first++ {
			err := tx.Keys(sp.id.key(documentType, []byte{byte(first)}), func(key []byte, _ int64) error {
				if len(documents) >= limit {
					return errEnough
				}
				if len(key) != 2+16+16 {
					return nil
				}
				id := percached.DocumentID(key[18:])
				if slices.Compare(id[:], after[:]) <= 0 && after != (percached.DocumentID{}) {
					return nil
				}
				d, err := documentOf(tx, sp, id)
				if damaged(err) {
					bad = append(bad, err)
					return nil
				}
				documents = append(documents, d)
				return err
			})
			if err != nil && !errors.Is(err, errEnough) {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = errors.Join(bad...)
	}
	return documents, fault.Wrap(op, err)
}

// Chunks returns chunks in the order of ids. It leaves out deleted ones. It also leaves
// out damaged ones, and returns an Internal error that names them beside the others.
func (b *Bank) Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error) {
	chunks := make([]percached.Chunk, 0, len(ids))
	err := b.chunks("knowledgebank.Chunks", space, ids, func(c *percached.Chunk) { chunks = append(chunks, *c) })
	return chunks, err
}

// Versions returns the versions of those chunks that exist. It treats damaged ones as
// Chunks does.
func (b *Bank) Versions(space string, ids []percached.ChunkID) (map[percached.ChunkID]uint64, error) {
	versions := make(map[percached.ChunkID]uint64, len(ids))
	err := b.chunks("knowledgebank.Versions", space, ids, func(c *percached.Chunk) { versions[c.ID] = c.Version })
	return versions, err
}

func (b *Bank) chunks(op, space string, ids []percached.ChunkID, fn func(*percached.Chunk)) error {
	sp, _, err := b.find(op, space)
	if err != nil {
		return err
	}
	var bad []error
	err = b.view(sp, func(tx *kv.Tx) error {
		for _, id := range ids {
			c, err := chunkOf(tx, sp, id)
			switch {
			case fault.KindOf(err) == fault.NotFound:
			case damaged(err):
				bad = append(bad, err)
			case err != nil:
				return err
			default:
				fn(c)
			}
		}
		return nil
	})
	if err == nil {
		err = errors.Join(bad...)
	}
	return fault.Wrap(op, err)
}

// chunkOf reads a chunk. If it is damaged, the error names the documents that hold it.
func chunkOf(tx *kv.Tx, sp *space, id percached.ChunkID) (*percached.Chunk, error) {
	payload, err := read(tx, sp.id.chunk(id))
	var c *percached.Chunk
	if err == nil {
		c, err = decodeChunk(id, payload)
	}
	if !damaged(err) {
		return c, err
	}
	holders, lookErr := newDraft(sp.id, tx, &spaceRecord{}).holders(id)
	if lookErr != nil {
		return nil, lookErr
	}
	for i, h := range holders {
		holders[i] = sp.publicDocument(h)
	}
	return nil, fault.New(fault.Internal, "knowledgebank.read", "chunk %s of documents %s: %w", sp.publicIDs().Chunk(id), holders, err)
}

// Changes lists what is new and what was deleted since a count of changes. It calls fn
// with every existing chunk newer than after, ordered by version, and returns the
// chunks deleted since that are not back. upto is the count at which all this is true,
// and the after of the next call. The list is a snapshot, whatever changes meanwhile;
// fn may use the bank.
//
// A Conflict means that the bank no longer knows what was deleted since after. The
// caller must then drop what it has of the space and start at 0.
//
// A chunk with a damaged record counts as deleted, and Changes calls Observer.Damaged.
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
			return fault.New(fault.Conflict, op, "the changes since %d are unknown; those from %d to %d are known", after, r.Trimmed, upto)
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

// tombstones returns the chunks that were deleted and did not come back, each once.
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

// eachChange calls fn with the keys of a type that are newer than after, oldest first.
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
