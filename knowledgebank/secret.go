package knowledgebank

import (
	"io"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// secretSize is how many bytes the secret of a space's public ids has.
const secretSize = 16

// newSecret makes the public ids of a space others than those of all others.
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

// mendSecret makes a record of a space that is mended agree with the secret that is
// stored. One that is damaged, or that is lost although the space's record counts on
// it, is replaced: the documents get other public ids.
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

// PublicIDs gives the ids under which a space's clients know its documents and
// chunks.
func (b *Bank) PublicIDs(space string) (percached.PublicIDs, error) {
	_, r, err := b.find("knowledgebank.PublicIDs", space)
	if err != nil {
		return percached.PublicIDs{}, err
	}
	return r.ids, nil
}
