package predictor

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// The record types, behind the 'P' of every key. See FORMAT.md.
const (
	ownByte        = 'P'
	partByte       = 'a'
	predictionByte = 'q'
	stateByte      = 'h'
	countsByte     = 'd'
)

const idAt = 2 + len(kv.SpaceID{})

func key(kind byte, space kv.SpaceID, id ...byte) []byte {
	k := make([]byte, 0, idAt+len(id))
	k = append(append(k, ownByte, kind), space[:]...)
	return append(k, id...)
}

func partKey(space kv.SpaceID, id percached.ChunkID) []byte { return key(partByte, space, id[:]...) }

// splitKey takes a key apart that ends in an ID of so many bytes.
func splitKey(k []byte, size int) (space kv.SpaceID, id []byte, ok bool) {
	if len(k) != idAt+size {
		return space, nil, false
	}
	return kv.SpaceID(k[2:idAt]), k[idAt:], true
}
