package knowledgebank

import (
	"encoding/binary"
	"io"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// owner is the first byte of every key of this package.
const owner = 'K'

// The types of records: the second byte of a key.
const (
	spaceType    = 'S'
	documentType = 'D'
	pageType     = 'P' // of a document's list of chunks
	chunkType    = 'C'
	liveType     = 'V' // live chunks by version
	goneType     = 'T' // tombstones by version
	markType     = 'M' // the journal is whole
	journalType  = 'J'
	secretType   = 'I' // of the space's public ids
)

// spaceID names a space in keys.
type spaceID kv.SpaceID

func newSpaceID(name string) spaceID { return spaceID(kv.NewSpaceID(name)) }

// key appends parts to the space's own range of a type.
func (s spaceID) key(typ byte, parts ...[]byte) []byte {
	k := make([]byte, 0, 2+16+24)
	k = append(k, owner, typ)
	k = append(k, s[:]...)
	for _, p := range parts {
		k = append(k, p...)
	}
	return k
}

func (s spaceID) document(id percached.DocumentID) []byte { return s.key(documentType, id[:]) }

func (s spaceID) chunk(id percached.ChunkID) []byte { return s.key(chunkType, id[:]) }

func (s spaceID) page(id percached.DocumentID, n int) []byte {
	return s.key(pageType, id[:], binary.BigEndian.AppendUint32(nil, uint32(n)))
}

func (s spaceID) journal(n int) []byte {
	return s.key(journalType, binary.BigEndian.AppendUint32(nil, uint32(n)))
}

// change is a key of liveType or goneType.
func (s spaceID) change(typ byte, seq uint64, id percached.ChunkID) []byte {
	return s.key(typ, binary.BigEndian.AppendUint64(nil, seq), id[:])
}

// changeLen is the length of such a key.
const changeLen = 2 + 16 + 8 + 16

// splitChange parses such a key.
func splitChange(key []byte) (seq uint64, id percached.ChunkID, ok bool) {
	if len(key) != changeLen {
		return 0, id, false
	}
	return binary.BigEndian.Uint64(key[18:]), percached.ChunkID(key[26:]), true
}

// seqPrefixes calls fn with prefixes that cover exactly the 8-byte big-endian numbers
// between from and last, both included. So a range is read without the keys before it.
func seqPrefixes(from, last uint64, fn func(prefix []byte) error) error {
	for from <= last {
		width := 0 // bytes that may have any value
		for width < 8 {
			ones := uint64(1)<<(8*(width+1)) - 1 // all ones at width 7
			if from&ones != 0 || last-from < ones {
				break
			}
			width++
		}
		if err := fn(binary.BigEndian.AppendUint64(nil, from)[:8-width]); err != nil {
			return err
		}
		if width == 8 {
			return nil
		}
		next := from + uint64(1)<<(8*width)
		if next < from {
			return nil // that was the largest number
		}
		from = next
	}
	return nil
}

// secretSize is the length of the secret of a space's public ids, in bytes.
const secretSize = 16

// newSecret makes a secret, so that a space's public ids differ from those of all
// others.
func (b *Bank) newSecret(id spaceID) (write, error) {
	secret := make([]byte, secretSize)
	if _, err := io.ReadFull(b.o.Random, secret); err != nil {
		return write{}, fault.New(fault.Unavailable, "knowledgebank.newSecret", "%w", err)
	}
	key := id.key(secretType)
	return write{key, seal(key, secret)}, nil
}

// readIDs reads the secret of a space's public ids; NotFound if there is none.
func readIDs(tx *kv.Tx, id spaceID) (percached.PublicIDs, error) {
	secret, err := read(tx, id.key(secretType))
	if err == nil && len(secret) != secretSize {
		err = ErrDamaged
	}
	if err != nil {
		return percached.PublicIDs{}, err
	}
	return percached.NewPublicIDs([secretSize]byte(secret)), nil
}

// mendSecret makes a repaired space record agree with the stored secret. If the secret
// is damaged, or lost although the record expects one, it makes a new one: the
// documents get other public ids.
func (b *Bank) mendSecret(tx *kv.Tx, id spaceID, r *spaceRecord) ([]write, error) {
	wanted := r.Secret
	if payload, err := read(tx, id.key(spaceType)); err == nil {
		if stored, err := decodeSpace(payload); err == nil {
			wanted = wanted || stored.Secret
		}
	}
	_, err := readIDs(tx, id)
	lost := fault.KindOf(err) == fault.NotFound
	switch {
	case err == nil:
		r.Secret = true
	case lost && !wanted: // of a space that was created before there were public ids
		r.Secret = false
	case lost, damaged(err):
		secret, err := b.newSecret(id)
		r.Secret = true
		return []write{secret}, err
	default:
		return nil, err
	}
	return nil, nil
}

// PublicIDs returns the ids by which a space's clients know its documents and chunks.
func (b *Bank) PublicIDs(space string) (percached.PublicIDs, error) {
	_, r, err := b.find("knowledgebank.PublicIDs", space)
	if err != nil {
		return percached.PublicIDs{}, err
	}
	return r.ids, nil
}
